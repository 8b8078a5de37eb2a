//! Which class is taken for which.

use std::fmt;

use ndarray::{Array2, ArrayView2};

use super::Metric;
use crate::ndarray;
use crate::words::counted;

/// How often each class was taken for which. Its value is the accuracy; printed, it is a table.
///
/// ```
/// use pullback::train::{ConfusionMatrix, Metric};
///
/// let mut confusion = ConfusionMatrix::new(3);
/// confusion.add(&[0, 0, 1, 2], &[0, 1, 1, 2]);
/// assert_eq!(confusion.counts()[[1, 0]], 1); // a 1 was taken for a 0
/// assert_eq!(confusion.value(), 0.75);
/// assert_eq!((confusion.precision(0), confusion.recall(0)), (0.5, 1.0));
/// assert_eq!(
///     confusion.to_string(),
///     "label   0  1  2\n\
///      \x20   0   1  .  .\n\
///      \x20   1   1  1  .\n\
///      \x20   2   .  .  1\n"
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ConfusionMatrix {
    /// A row for each label, a column for each prediction.
    counts: Array2<usize>,
}

impl ConfusionMatrix {
    /// Of so many classes.
    ///
    /// ```
    /// use pullback::train::ConfusionMatrix;
    ///
    /// assert_eq!(ConfusionMatrix::new(3).counts().shape(), [3, 3]);
    /// ```
    pub fn new(classes: usize) -> Self {
        Self {
            counts: Array2::zeros((classes, classes)),
        }
    }

    /// Adds predicted classes, a vector's or an array's, and their labels.
    ///
    /// # Panics
    /// If there are more of one than of the other, or one is no class.
    ///
    /// ```
    /// use pullback::train::ConfusionMatrix;
    ///
    /// let mut confusion = ConfusionMatrix::new(2);
    /// confusion.add(&[0, 1, 1], &[0, 1, 0]);
    /// confusion.add(&[1], &[0]);
    /// assert_eq!(confusion.counts()[[0, 1]], 2); // two zeros were taken for a one
    /// ```
    #[track_caller]
    pub fn add<'a>(&mut self, predictions: impl IntoIterator<Item = &'a usize>, labels: &[usize]) {
        let classes = self.counts.nrows();
        let mut count = 0;
        for &prediction in predictions {
            let label = labels.get(count).copied();
            for class in label.into_iter().chain([prediction]) {
                assert!(
                    class < classes,
                    "ConfusionMatrix of {} and the class {class}: there is no such class",
                    counted(classes, "class", "classes")
                );
            }
            if let Some(label) = label {
                self.counts[[label, prediction]] += 1;
            }
            count += 1;
        }
        assert!(
            count == labels.len(),
            "ConfusionMatrix of {} and {}: there must be one for each",
            counted(count, "prediction", "predictions"),
            counted(labels.len(), "label", "labels")
        );
    }

    /// The counts: a row for each label, a column for each prediction.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::train::ConfusionMatrix;
    ///
    /// let mut confusion = ConfusionMatrix::new(2);
    /// confusion.add(&[0, 1, 1], &[0, 1, 0]);
    /// assert_eq!(confusion.counts(), array![[1, 1], [0, 1]]);
    /// ```
    pub fn counts(&self) -> ArrayView2<'_, usize> {
        self.counts.view()
    }

    /// The share of predictions of `class` that are right: TP / (TP + FP). Not a number if it was never
    /// predicted.
    ///
    /// # Panics
    /// If there is no such class.
    ///
    /// ```
    /// use pullback::train::ConfusionMatrix;
    ///
    /// let mut confusion = ConfusionMatrix::new(3);
    /// confusion.add(&[1, 0, 1, 1, 1], &[1, 1, 0, 1, 1]);
    /// assert_eq!(confusion.precision(1), 0.75);
    /// assert!(confusion.precision(2).is_nan());
    /// ```
    #[track_caller]
    pub fn precision(&self, class: usize) -> f64 {
        let (right, predicted, _) = self.of(class);
        right / predicted
    }

    /// The share of items of `class` that were found: TP / (TP + FN). Not a number if there is none.
    ///
    /// ```
    /// use pullback::train::ConfusionMatrix;
    ///
    /// let mut confusion = ConfusionMatrix::new(2);
    /// confusion.add(&[1, 0, 1, 1], &[1, 1, 0, 1]);
    /// assert!((confusion.recall(1) - 2.0 / 3.0).abs() < 1e-15);
    /// assert_eq!(confusion.recall(0), 0.0);
    /// ```
    ///
    /// # Panics
    /// If there is no such class.
    #[track_caller]
    pub fn recall(&self, class: usize) -> f64 {
        let (right, _, labelled) = self.of(class);
        right / labelled
    }

    /// The harmonic mean of precision and recall: 2 TP / (2 TP + FP + FN). Not a number for a class that
    /// neither exists nor was predicted.
    ///
    /// ```
    /// use pullback::train::ConfusionMatrix;
    ///
    /// let mut confusion = ConfusionMatrix::new(2);
    /// confusion.add(&[1, 0, 1, 1], &[1, 1, 0, 1]);
    /// assert!((confusion.f1(1) - 2.0 / 3.0).abs() < 1e-15);
    /// ```
    ///
    /// # Panics
    /// If there is no such class.
    #[track_caller]
    pub fn f1(&self, class: usize) -> f64 {
        let (right, predicted, labelled) = self.of(class);
        2.0 * right / (predicted + labelled)
    }

    /// The mean of [`f1`](Self::f1) over the classes that have one. Small classes count as much as large
    /// ones.
    ///
    /// ```
    /// use pullback::train::ConfusionMatrix;
    ///
    /// let mut confusion = ConfusionMatrix::new(3);
    /// confusion.add(&[1, 1, 1, 1], &[1, 1, 1, 0]);
    /// assert_eq!(confusion.macro_f1(), (0.0 + 6.0 / 7.0) / 2.0);
    /// ```
    pub fn macro_f1(&self) -> f64 {
        let mut mean = super::Mean::new();
        let all = (0..self.counts.nrows()).map(|class| self.f1(class));
        all.filter(|f1| !f1.is_nan()).for_each(|f1| mean.add(f1));
        mean.value()
    }

    /// How often a class was right, was predicted and was the label.
    #[track_caller]
    fn of(&self, class: usize) -> (f64, f64, f64) {
        let classes = self.counts.nrows();
        assert!(
            class < classes,
            "ConfusionMatrix of {} and the class {class}: there is no such class",
            counted(classes, "class", "classes")
        );
        let right = self.counts[[class, class]];
        let predicted = self.counts.column(class).sum();
        let labelled = self.counts.row(class).sum();
        (right as f64, predicted as f64, labelled as f64)
    }
}

impl Metric for ConfusionMatrix {
    /// The accuracy.
    fn value(&self) -> f64 {
        self.counts.diag().sum() as f64 / self.counts.sum() as f64
    }

    fn reset(&mut self) {
        self.counts.fill(0);
    }
}

impl fmt::Display for ConfusionMatrix {
    /// A table with a line for each label. A dot stands for zero.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let classes = self.counts.nrows();
        let largest = self.counts.iter().copied().max().unwrap_or(0);
        let width = largest.max(classes.saturating_sub(1)).to_string().len() + 2;
        write!(f, "label ")?;
        (0..classes).try_for_each(|class| write!(f, "{class:>width$}"))?;
        writeln!(f)?;
        for (label, row) in self.counts.rows().into_iter().enumerate() {
            write!(f, "{label:>5} ")?;
            for &count in row {
                match count {
                    0 => write!(f, "{:>width$}", '.')?,
                    _ => write!(f, "{count:>width$}")?,
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn classes_that_never_come_have_no_numbers() {
        let mut confusion = ConfusionMatrix::new(3);
        assert!(confusion.value().is_nan() && confusion.macro_f1().is_nan());
        confusion.add(&array![0, 0, 1], &[0, 0, 0]);
        assert!(confusion.precision(2).is_nan() && confusion.recall(2).is_nan());
        assert!(confusion.f1(2).is_nan() && confusion.recall(1).is_nan());
        assert_eq!((confusion.precision(1), confusion.f1(1)), (0.0, 0.0));
        assert_eq!(
            (confusion.precision(0), confusion.recall(0)),
            (1.0, 2.0 / 3.0)
        );
        confusion.reset();
        assert_eq!(confusion, ConfusionMatrix::new(3));
    }

    #[test]
    #[should_panic(expected = "ConfusionMatrix of 2 classes and the class 2")]
    fn a_prediction_is_a_class() {
        ConfusionMatrix::new(2).add(&[2], &[0]);
    }

    #[test]
    #[should_panic(expected = "1 prediction and 2 labels")]
    fn every_label_has_a_prediction() {
        ConfusionMatrix::new(2).add(&[1], &[0, 1]);
    }
}
