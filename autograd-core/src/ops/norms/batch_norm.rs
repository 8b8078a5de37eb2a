//! Batch normalization: of each channel over the whole batch.

use ndarray::{Array1, Dimension};

use super::Normalize;
use super::group_norm::second_axis;
use crate::Element;
use crate::tensor::{Tensor, Tensor1};

/// The mean and variance of each channel of a batch, for running averages.
///
/// ```
/// use pullback::{Tensor, ndarray::array};
///
/// let batch = Tensor::from(array![[1.0], [3.0]]);
/// let (_, statistics) = batch.batch_norm(None, None, 1e-5);
/// // A running mean with the momentum 0.1.
/// let running = array![0.0] * 0.9 + &statistics.mean * 0.1;
/// assert_eq!((running, statistics.variance), (array![0.2], array![2.0]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics<T> {
    /// The mean of each channel.
    pub mean: Array1<T>,
    /// The variance of each channel, with the divisor n − 1: an unbiased estimate.
    pub variance: Array1<T>,
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Normalizes each channel, an index of the second axis, over the batch: (x − mean) / √(variance + `eps`), where
    /// the variance has the divisor n, times the `weight` of the channel, plus its `bias`. Also returns the statistics
    /// of the batch, as plain numbers.
    #[doc = crate::math!(r"y = \gamma_c \, \frac{x - \mu_c}{\sqrt{\sigma_c^2 + \varepsilon}} + \beta_c")]
    /// Here μ and σ² are the mean and the variance of the channel c, γ and β its weight and its bias, and ε is `eps`.
    ///
    /// # Panics
    /// If there is no second axis, if `weight` or `bias` does not have its length, or if a channel has fewer
    /// than two elements.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let x = Tensor::from(array![[1.0, 10.0], [3.0, 30.0]]);
    /// let (y, statistics) = x.batch_norm(None, None, 0.0);
    /// assert_eq!(y.to_array(), array![[-1.0, -1.0], [1.0, 1.0]]);
    /// assert_eq!(statistics.mean, array![2.0, 20.0]);
    /// assert_eq!(statistics.variance, array![2.0, 200.0]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn batch_norm(
        &self,
        weight: Option<&Tensor1<T>>,
        bias: Option<&Tensor1<T>>,
        eps: T,
    ) -> (Self, Statistics<T>) {
        let channels = second_axis("batch_norm", self, weight, bias);
        assert!(
            channels.count == 0 || channels.size() > 1,
            "batch_norm of shape {:?}: channels of fewer than two elements have no variance",
            self.shape()
        );
        let (normalized, _, moments) = Normalize::apply(self, channels, eps);
        let size = channels.size() as f64;
        let estimate = T::from_f64(size / (size - 1.0));
        let statistics = Statistics {
            mean: moments.iter().map(|&[mean, _]| mean).collect(),
            variance: moments
                .iter()
                .map(|&[_, variance]| variance * estimate)
                .collect(),
        };
        (normalized.scale_shift(weight, bias, channels), statistics)
    }

    /// Normalizes each channel, an index of the second axis, with a given `mean` and `variance`, as after training:
    /// (x − mean) / √(variance + `eps`), times the `weight` of the channel, plus its `bias`. All inputs have gradients,
    /// and those of constants cost nothing.
    ///
    /// # Panics
    /// If there is no second axis, or `mean`, `variance`, `weight` or `bias` does not have its length.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let x = Tensor::from(array![[1.0, 10.0], [3.0, 30.0]]);
    /// let (mean, variance) = (Tensor::from(array![1.0, 20.0]), Tensor::from(array![4.0, 100.0]));
    /// let y = x.batch_norm_with(&mean, &variance, None, None, 0.0);
    /// assert_eq!(y.to_array(), array![[0.0, -1.0], [1.0, 1.0]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn batch_norm_with(
        &self,
        mean: &Tensor1<T>,
        variance: &Tensor1<T>,
        weight: Option<&Tensor1<T>>,
        bias: Option<&Tensor1<T>>,
        eps: T,
    ) -> Self {
        let channels = second_axis("batch_norm_with", self, weight, bias);
        second_axis("batch_norm_with", self, Some(mean), Some(variance));
        let rstd = (variance + eps).rsqrt();
        let scale = match weight {
            Some(weight) => rstd * weight,
            None => rstd,
        };
        // The mean is subtracted first: one shift for both would be inexact for a large mean.
        let centered = self.clone().scale_shift(None, Some(&-mean), channels);
        centered.scale_shift(Some(&scale), bias, channels)
    }
}
