//! How far predicted numbers are from what they should be.

use ndarray::{ArrayRef, Dimension};

use super::{Mean, Metric};
use crate::Element;
use crate::ndarray;

/// The mean absolute error, mean |prediction − target| over all elements.
#[doc = crate::math!(r"\frac{1}{n} \sum_{i=1}^n \left|\hat{y}_i - y_i\right|")]
/// Here ŷ are the predictions, and y the targets.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::train::{Mae, Metric};
///
/// let mut mae = Mae::new();
/// mae.add(&array![1.0, 2.0], &array![1.5, 2.5]);
/// mae.add(&array![0.0], &array![2.0]);
/// assert_eq!(mae.value(), 1.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mae(Mean);

/// The root of the mean squared error, √ mean (prediction − target)² over all elements: in the unit of
/// the targets.
#[doc = crate::math!(r"\sqrt{\frac{1}{n} \sum_{i=1}^n \left(\hat{y}_i - y_i\right)^2}")]
/// Here ŷ are the predictions, and y the targets.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::train::{Metric, Rmse};
///
/// let mut rmse = Rmse::new();
/// rmse.add(&array![[3.0_f32, 0.0]], &array![[0.0, 4.0]]);
/// assert!((rmse.value() - 12.5_f64.sqrt()).abs() < 1e-15);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rmse(Mean);

/// The coefficient of determination, 1 − Σ (prediction − target)² / Σ (target − mean target)²: 1 for perfect
/// predictions, 0 for the mean of the targets, below for worse. All elements count as one series. Not a
/// number if the targets are all the same, for then there is nothing to explain.
#[doc = crate::math!(r"R^2 = 1 - \frac{\sum_i \left(\hat{y}_i - y_i\right)^2}{\sum_i \left(y_i - \bar{y}\right)^2}")]
/// Here ŷ are the predictions, and y the targets.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::train::{Metric, R2};
///
/// let mut r2 = R2::new();
/// r2.add(&array![1.0, 2.0], &array![1.0, 2.0]);
/// assert_eq!(r2.value(), 1.0);
/// r2.add(&array![4.0], &array![3.0]);
/// assert_eq!(r2.value(), 0.5);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct R2 {
    residuals: f64,
    targets: Mean,
    /// Σ (target − mean target)², kept up to date with the mean (Welford, 1962): the difference of two large
    /// sums would be lost in rounding.
    total: f64,
}

impl Mae {
    /// Of nothing yet.
    ///
    /// ```
    /// use pullback::train::{Mae, Metric};
    ///
    /// assert!(Mae::new().value().is_nan());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds predictions and targets of one shape.
    ///
    /// # Panics
    /// If their shapes differ.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::train::{Mae, Metric};
    ///
    /// let mut mae = Mae::new();
    /// mae.add(&array![[1.0], [2.0]], &array![[2.0], [5.0]]);
    /// assert_eq!(mae.value(), 2.0);
    /// ```
    #[track_caller]
    pub fn add<T: Element, D: Dimension>(
        &mut self,
        predictions: &ArrayRef<T, D>,
        targets: &ArrayRef<T, D>,
    ) {
        for (prediction, target) in pairs("Mae", predictions, targets) {
            self.0.add((prediction - target).abs());
        }
    }
}

impl Rmse {
    /// Of nothing yet.
    ///
    /// ```
    /// use pullback::train::{Metric, Rmse};
    ///
    /// assert!(Rmse::new().value().is_nan());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds predictions and targets of one shape.
    ///
    /// # Panics
    /// If their shapes differ.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::train::{Metric, Rmse};
    ///
    /// let mut rmse = Rmse::new();
    /// rmse.add(&array![1.0, 8.0], &array![2.0, 1.0]);
    /// assert_eq!(rmse.value(), 5.0);
    /// ```
    #[track_caller]
    pub fn add<T: Element, D: Dimension>(
        &mut self,
        predictions: &ArrayRef<T, D>,
        targets: &ArrayRef<T, D>,
    ) {
        for (prediction, target) in pairs("Rmse", predictions, targets) {
            self.0.add((prediction - target).powi(2));
        }
    }
}

impl R2 {
    /// Of nothing yet.
    ///
    /// ```
    /// use pullback::train::{Metric, R2};
    ///
    /// assert!(R2::new().value().is_nan());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds predictions and targets of one shape.
    ///
    /// # Panics
    /// If their shapes differ.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::train::{Metric, R2};
    ///
    /// let mut r2 = R2::new();
    /// r2.add(&array![2.0, 2.0], &array![1.0, 3.0]);
    /// assert_eq!(r2.value(), 0.0); // no better than the mean of the targets
    /// ```
    #[track_caller]
    pub fn add<T: Element, D: Dimension>(
        &mut self,
        predictions: &ArrayRef<T, D>,
        targets: &ArrayRef<T, D>,
    ) {
        for (prediction, target) in pairs("R2", predictions, targets) {
            self.residuals += (prediction - target).powi(2);
            let before = if self.targets.count() == 0 {
                target
            } else {
                self.targets.value()
            };
            self.targets.add(target);
            self.total += (target - before) * (target - self.targets.value());
        }
    }
}

macro_rules! metric {
    ($($name:ident, $self:ident => $value:expr);* $(;)?) => {$(
        impl Metric for $name {
            fn value(&$self) -> f64 {
                $value
            }

            fn reset(&mut self) {
                *self = Self::default();
            }
        }
    )*};
}

metric! {
    Mae, self => self.0.value();
    Rmse, self => self.0.value().sqrt();
    R2, self => if self.total == 0.0 { f64::NAN } else { 1.0 - self.residuals / self.total };
}

/// Elements of one place each, as `f64`.
#[track_caller]
fn pairs<'a, T: Element, D: Dimension>(
    name: &str,
    predictions: &'a ArrayRef<T, D>,
    targets: &'a ArrayRef<T, D>,
) -> impl Iterator<Item = (f64, f64)> + 'a {
    assert!(
        predictions.shape() == targets.shape(),
        "{name} of predictions of shape {:?} and targets of shape {:?}: they must have one shape",
        predictions.shape(),
        targets.shape()
    );
    let pairs = predictions.iter().zip(targets);
    pairs.map(|(prediction, target)| (prediction.as_f64(), target.as_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array1, array};

    #[test]
    fn batches_add_up_to_the_formulas() {
        let predictions = Array1::from_shape_fn(101, |i| (i as f64 * 0.7).sin() + 1e6);
        let targets = Array1::from_shape_fn(101, |i| (i as f64 * 0.7).sin() + 1e6 + (i % 3) as f64);
        let (mut mae, mut rmse, mut r2) = (Mae::new(), Rmse::new(), R2::new());
        for (start, end) in [(0, 40), (40, 40), (40, 101)] {
            let cut = ndarray::s![start..end];
            mae.add(&predictions.slice(cut), &targets.slice(cut));
            rmse.add(&predictions.slice(cut), &targets.slice(cut));
            r2.add(&predictions.slice(cut), &targets.slice(cut));
        }
        let errors = &predictions - &targets;
        let squares = errors.mapv(|error| error * error);
        let deviations = &targets - targets.mean().unwrap();
        let total = deviations.mapv(|deviation| deviation * deviation).sum();
        let expected = [
            errors.mapv(f64::abs).mean().unwrap(),
            squares.mean().unwrap().sqrt(),
            1.0 - squares.sum() / total,
        ];
        for (value, expected) in [mae.take(), rmse.take(), r2.take()]
            .into_iter()
            .zip(expected)
        {
            assert!((value - expected).abs() < 1e-9, "{value} {expected}");
        }
        assert!(mae.value().is_nan() && rmse.value().is_nan() && r2.value().is_nan());
    }

    #[test]
    fn targets_that_are_all_the_same_explain_nothing() {
        let mut r2 = R2::new();
        r2.add(&array![1.0_f32, 2.0], &array![0.1, 0.1]);
        assert!(r2.value().is_nan());
        r2.add(&array![1.0_f32], &array![0.2]);
        assert!(r2.value() < 0.0);
    }

    #[test]
    #[should_panic(expected = "Mae of predictions of shape [2] and targets of shape [3]")]
    fn shapes_agree() {
        Mae::new().add(&array![1.0, 2.0], &array![1.0, 2.0, 3.0]);
    }
}
