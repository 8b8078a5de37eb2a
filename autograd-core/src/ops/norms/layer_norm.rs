//! Layer normalization: of each row.

use ndarray::Dimension;

use super::Normalize;
use crate::Element;
use crate::kernels::Channels;
use crate::tensor::Tensor;

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Normalizes over the last axes, of the lengths `normalized`: (x − mean) / √(variance + `eps`), where the variance
    /// has the divisor n, times `weight`, plus `bias`.
    #[doc = crate::math!(r"y = \gamma \odot \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta")]
    /// Here μ and σ² are the mean and the variance, γ the weight, β the bias, and ε is `eps`.
    ///
    /// # Panics
    /// If `normalized` is empty, the shape does not end with it, or `weight` or `bias` does not have that shape.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let x = Tensor::from(array![[1.0, 3.0], [10.0, 30.0]]);
    /// let (weight, bias) = (Tensor::from(array![1.0, 2.0]), Tensor::from(array![0.0, 0.5]));
    /// let y = x.layer_norm(&[2], Some(&weight), Some(&bias), 0.0);
    /// assert_eq!(y.to_array(), array![[-1.0, 2.5], [-1.0, 2.5]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn layer_norm<E: Dimension>(
        &self,
        normalized: &[usize],
        weight: Option<&Tensor<T, E>>,
        bias: Option<&Tensor<T, E>>,
        eps: T,
    ) -> Self {
        let shape = self.shape();
        assert!(
            !normalized.is_empty() && shape.ends_with(normalized),
            "layer_norm of shape {shape:?} over {normalized:?}: the shape does not end with it"
        );
        for given in [weight, bias].into_iter().flatten() {
            assert!(
                given.shape() == normalized,
                "layer_norm over {normalized:?} with a weight or bias of shape {:?}",
                given.shape()
            );
        }
        let first = shape.len() - normalized.len();
        let (rows, ..) = Normalize::apply(self, Channels::rows(shape, first), eps);
        // For the weight, each position in a row is a channel.
        let positions = Channels {
            outer: shape[..first].iter().product(),
            count: normalized.iter().product(),
            inner: 1,
        };
        rows.scale_shift(weight, bias, positions)
    }
}
