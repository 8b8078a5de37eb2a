//! The share of predictions that are right.

use ndarray::{ArrayRef, Ix2};

use super::Metric;
use crate::Element;
use crate::ndarray;
use crate::words::counted;

/// The share of predicted classes that are the labels, between 0 and 1.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::train::{Accuracy, Metric};
///
/// let mut accuracy = Accuracy::new();
/// accuracy.add(&[0, 2, 1], &[0, 2, 2]);
/// assert!((accuracy.value() - 2.0 / 3.0).abs() < 1e-15);
///
/// // From logits or probabilities, a row for each label.
/// accuracy.reset();
/// accuracy.add_scores(&array![[0.1, 2.0], [0.3, 0.2]], &[1, 1]);
/// assert_eq!(accuracy.value(), 0.5);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Accuracy {
    top: usize,
    right: usize,
    count: usize,
}

impl Accuracy {
    /// Only the best class counts.
    ///
    /// ```
    /// use pullback::train::{Accuracy, Metric};
    ///
    /// assert!(Accuracy::new().value().is_nan()); // of nothing
    /// ```
    pub fn new() -> Self {
        Self::top(1)
    }

    /// A prediction by scores is right if the label is among the `k` best classes: top-k accuracy. Of classes
    /// with one score, the first is the best.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::train::{Accuracy, Metric};
    ///
    /// let mut top2 = Accuracy::top(2);
    /// top2.add_scores(&array![[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]], &[1, 0]);
    /// assert_eq!(top2.value(), 0.5);
    /// ```
    ///
    /// # Panics
    /// If `k` is 0.
    #[track_caller]
    pub fn top(k: usize) -> Self {
        assert!(
            k > 0,
            "Accuracy::top(0): nothing would be right, k must be at least 1"
        );
        Self {
            top: k,
            right: 0,
            count: 0,
        }
    }

    /// Adds predicted classes, a vector's or an array's, and their labels.
    ///
    /// # Panics
    /// If there are more of one than of the other.
    ///
    /// ```
    /// use pullback::train::{Accuracy, Metric};
    ///
    /// let mut accuracy = Accuracy::new();
    /// accuracy.add(&[0, 2, 1, 1], &[0, 2, 1, 0]);
    /// accuracy.add(&[3, 3, 3, 3], &[0, 1, 2, 3]);
    /// assert_eq!(accuracy.value(), 0.5);
    /// ```
    #[track_caller]
    pub fn add<'a>(&mut self, predictions: impl IntoIterator<Item = &'a usize>, labels: &[usize]) {
        let mut count = 0;
        for prediction in predictions {
            self.right += usize::from(labels.get(count) == Some(prediction));
            count += 1;
        }
        assert!(
            count == labels.len(),
            "Accuracy of {} and {}: there must be one for each",
            counted(count, "prediction", "predictions"),
            counted(labels.len(), "label", "labels")
        );
        self.count += count;
    }

    /// Adds scores of shape `[n, classes]`, the higher the likelier, and `n` labels. A row that has
    /// something that is not a number is wrong.
    ///
    /// # Panics
    /// If there is not a label for each row, or one is no class.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::train::{Accuracy, Metric};
    ///
    /// let mut accuracy = Accuracy::new();
    /// accuracy.add_scores(&array![[0.1, 2.0], [0.3, 0.2], [f64::NAN, 0.0], [0.0, 0.0]], &[1, 0, 1, 0]);
    /// assert_eq!(accuracy.value(), 0.75);
    /// ```
    #[track_caller]
    pub fn add_scores<T: Element>(&mut self, scores: &ArrayRef<T, Ix2>, labels: &[usize]) {
        let (rows, classes) = scores.dim();
        assert!(
            rows == labels.len(),
            "Accuracy of scores of shape [{rows}, {classes}] and {}: a label is needed for each row",
            counted(labels.len(), "label", "labels")
        );
        for (row, &label) in scores.rows().into_iter().zip(labels) {
            assert!(
                label < classes,
                "Accuracy of scores of {} and the label {label}: there is no such class",
                counted(classes, "class", "classes")
            );
            let score = row[label];
            let is_better =
                |class: usize, other: T| other > score || (other == score && class < label);
            let better = (0..)
                .zip(&row)
                .filter(|&(class, &other)| is_better(class, other));
            let is_number = row.iter().all(|score| !score.is_nan());
            self.right += usize::from(is_number && better.count() < self.top);
        }
        self.count += rows;
    }

    /// How many predictions were added.
    ///
    /// ```
    /// use pullback::train::Accuracy;
    ///
    /// let mut accuracy = Accuracy::new();
    /// accuracy.add(&[0, 2, 1], &[0, 2, 2]);
    /// assert_eq!(accuracy.count(), 3);
    /// ```
    pub fn count(&self) -> usize {
        self.count
    }
}

impl Default for Accuracy {
    fn default() -> Self {
        Self::new()
    }
}

impl Metric for Accuracy {
    fn value(&self) -> f64 {
        self.right as f64 / self.count as f64
    }

    fn reset(&mut self) {
        *self = Self::top(self.top);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};

    fn of_scores(top: usize, scores: &Array2<f32>, labels: &[usize]) -> f64 {
        let mut accuracy = Accuracy::top(top);
        accuracy.add_scores(scores, labels);
        accuracy.value()
    }

    #[test]
    fn the_first_of_equal_scores_is_the_best_as_argmax_says() {
        let scores = array![[1.0, 1.0, 0.0]];
        assert_eq!(of_scores(1, &scores, &[0]), 1.0);
        assert_eq!(of_scores(1, &scores, &[1]), 0.0);
        assert_eq!(of_scores(2, &scores, &[1]), 1.0);
        assert_eq!(of_scores(9, &scores, &[2]), 1.0);
    }

    #[test]
    fn what_is_no_number_is_wrong_and_what_is_infinite_is_not() {
        let scores = array![[f32::NAN, 1.0], [0.0, f32::NAN], [f32::INFINITY, 0.0]];
        assert_eq!(of_scores(2, &scores, &[1, 0, 0]), 1.0 / 3.0);
    }

    #[test]
    fn parts_add_up() {
        let mut accuracy = Accuracy::new();
        assert!(accuracy.value().is_nan());
        accuracy.add(&array![1, 1], &[1, 0]);
        accuracy.add_scores(&array![[0.0, 1.0], [1.0, 0.0]], &[1, 0]);
        accuracy.add(&[], &[]);
        assert_eq!((accuracy.take(), accuracy.count()), (0.75, 0));
    }

    #[test]
    #[should_panic(expected = "Accuracy of 3 predictions and 2 labels")]
    fn every_prediction_has_a_label() {
        Accuracy::new().add(&[1, 2, 3], &[1, 2]);
    }

    #[test]
    #[should_panic(expected = "scores of shape [1, 2] and 0 labels")]
    fn every_row_has_a_label() {
        of_scores(1, &array![[0.0, 1.0]], &[]);
    }

    #[test]
    #[should_panic(expected = "scores of 2 classes and the label 2")]
    fn a_label_is_a_class() {
        of_scores(1, &array![[0.0, 1.0]], &[2]);
    }
}
