//! Numbers that are gathered over the batches of an epoch.

mod accuracy;
mod confusion;
mod regression;

pub use accuracy::Accuracy;
pub use confusion::ConfusionMatrix;
pub use regression::{Mae, R2, Rmse};

/// Something that batches are added to and that is a number in the end.
///
/// What is added differs: each metric has an `add` of its own.
///
/// ```
/// use pullback::train::{Mean, Metric};
///
/// let mut loss = Mean::new();
/// for epoch in 0..2 {
///     loss.add(1.0);
///     loss.add(2.0);
///     assert_eq!(loss.take(), 1.5);
/// }
/// ```
pub trait Metric {
    /// The value over all that was added since the start or the last [`reset`](Self::reset). If nothing was
    /// added, it is not a number.
    ///
    /// ```
    /// use pullback::train::{Mean, Metric, Rmse};
    ///
    /// let metrics: [&dyn Metric; 2] = [&Mean::new(), &Rmse::new()];
    /// assert!(metrics.iter().all(|metric| metric.value().is_nan()));
    /// ```
    fn value(&self) -> f64;

    /// Forgets what was added.
    ///
    /// ```
    /// use pullback::train::{Mean, Metric};
    ///
    /// let mut loss = Mean::new();
    /// loss.add(100.0);
    /// loss.reset();
    /// loss.add(1.0);
    /// assert_eq!(loss.value(), 1.0);
    /// ```
    fn reset(&mut self);

    /// The value, and a new start: what the end of an epoch needs.
    ///
    /// ```
    /// use pullback::train::{Mean, Metric};
    ///
    /// let mut loss = Mean::new();
    /// loss.add(3.0);
    /// assert_eq!(loss.take(), 3.0);
    /// assert_eq!(loss.count(), 0);
    /// ```
    fn take(&mut self) -> f64 {
        let value = self.value();
        self.reset();
        value
    }
}

/// The mean of numbers, each with a weight.
///
/// The mean loss of an epoch is not the mean of its batches' losses: the last batch may be smaller.
///
/// ```
/// use pullback::train::{Mean, Metric};
///
/// let mut loss = Mean::new();
/// loss.add_batch(1.0, 32); // 32 samples with a mean loss of 1
/// loss.add_batch(2.0, 16);
/// assert!((loss.value() - 4.0 / 3.0).abs() < 1e-15);
/// assert_eq!(loss.count(), 48);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mean {
    /// Of what has been added; 0 before.
    mean: f64,
    count: usize,
}

impl Mean {
    /// The mean of nothing yet.
    ///
    /// ```
    /// use pullback::train::{Mean, Metric};
    ///
    /// assert!(Mean::new().value().is_nan());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one number.
    ///
    /// ```
    /// use pullback::train::{Mean, Metric};
    ///
    /// let mut mean = Mean::new();
    /// [1.0, 2.0, 6.0].into_iter().for_each(|x| mean.add(x));
    /// assert_eq!(mean.value(), 3.0);
    /// ```
    pub fn add(&mut self, value: f64) {
        self.add_batch(value, 1);
    }

    /// Adds `count` numbers, of which the mean is known. An empty batch, whose mean is not a number, adds
    /// nothing.
    ///
    /// ```
    /// use pullback::train::{Mean, Metric};
    ///
    /// let mut loss = Mean::new();
    /// loss.add_batch(1.0, 3);
    /// loss.add_batch(5.0, 1);
    /// loss.add_batch(f64::NAN, 0);
    /// assert_eq!(loss.value(), 2.0);
    /// ```
    pub fn add_batch(&mut self, mean: f64, count: usize) {
        if count == 0 {
            return;
        }
        self.count += count;
        if count == self.count {
            self.mean = mean;
        } else if mean.is_infinite() || self.mean.is_infinite() {
            // Their difference would be no number.
            self.mean += mean;
        } else if mean != self.mean {
            // A sum would lose small numbers added to many large ones (Welford, 1962).
            self.mean += (mean - self.mean) * (count as f64 / self.count as f64);
        }
    }

    /// How many numbers were added.
    ///
    /// ```
    /// use pullback::train::Mean;
    ///
    /// let mut loss = Mean::new();
    /// loss.add(0.5);
    /// loss.add_batch(0.25, 31);
    /// assert_eq!(loss.count(), 32);
    /// ```
    pub fn count(&self) -> usize {
        self.count
    }
}

impl Metric for Mean {
    fn value(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.mean }
    }

    fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(values: &[f64]) -> f64 {
        let mut mean = Mean::new();
        for &value in values {
            mean.add(value);
        }
        assert_eq!(mean.count(), values.len());
        mean.value()
    }

    #[test]
    fn the_mean_of_nothing_is_no_number() {
        assert!(mean(&[]).is_nan());
        let mut empty = Mean::new();
        empty.add_batch(f64::NAN, 0);
        assert!(empty.value().is_nan());
        empty.add_batch(3.0, 2);
        assert_eq!((empty.take(), empty.count()), (3.0, 0));
        assert!(empty.value().is_nan());
    }

    #[test]
    fn what_is_infinite_or_no_number_stays() {
        assert_eq!(mean(&[1.0, f64::INFINITY]), f64::INFINITY);
        assert_eq!(mean(&[f64::INFINITY, 1.0]), f64::INFINITY);
        assert_eq!(mean(&[f64::INFINITY; 3]), f64::INFINITY);
        assert!(mean(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
        assert!(mean(&[1.0, f64::NAN, 1.0]).is_nan());
    }

    #[test]
    fn many_equal_numbers_have_exactly_that_mean() {
        assert_eq!(mean(&vec![0.1; 100_003]), 0.1);
        let mut batches = Mean::new();
        (1..1000).for_each(|count| batches.add_batch(0.7, count));
        assert_eq!(batches.value(), 0.7);
    }
}
