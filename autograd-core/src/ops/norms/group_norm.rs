//! Group normalization: of groups of channels, for each example.

use ndarray::Dimension;

use super::Normalize;
use crate::Element;
use crate::kernels::Channels;
use crate::kernels::counted;
use crate::tensor::{Tensor, Tensor1};

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Normalizes groups of channels, which are the second axis, for each example: (x − mean) / √(variance + `eps`),
    /// where the variance has the divisor n, times the `weight` of the channel, plus its `bias`.
    #[doc = crate::math!(r"y = \gamma_c \, \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta_c")]
    /// Here μ and σ² are the mean and the variance of the group, γ and β the weight and the bias of the channel c,
    /// and ε is `eps`.
    ///
    /// # Panics
    /// If there is no second axis, `groups` does not divide it, or `weight` or `bias` does not have its length.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let x = Tensor::from(array![[1.0, 3.0, 10.0, 30.0]]);
    /// let y = x.group_norm(2, None, None, 0.0);
    /// assert_eq!(y.to_array(), array![[-1.0, 1.0, -1.0, 1.0]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn group_norm(
        &self,
        groups: usize,
        weight: Option<&Tensor1<T>>,
        bias: Option<&Tensor1<T>>,
        eps: T,
    ) -> Self {
        let channels = second_axis("group_norm", self, weight, bias);
        assert!(
            groups > 0 && channels.count.is_multiple_of(groups),
            "group_norm of shape {:?} in {}: the channels cannot be divided into them",
            self.shape(),
            counted(groups, "group", "groups")
        );
        let examples_and_groups = Channels {
            outer: 1,
            // Without channels there are no elements, in any number of groups.
            count: channels.outer * groups.min(channels.count),
            inner: channels.count / groups * channels.inner,
        };
        let (normalized, ..) = Normalize::apply(self, examples_and_groups, eps);
        normalized.scale_shift(weight, bias, channels)
    }
}

/// Returns the second axis as channels, and checks that weight and bias have its length.
#[track_caller]
pub(super) fn second_axis<T: Element, D: Dimension>(
    name: &str,
    x: &Tensor<T, D>,
    weight: Option<&Tensor1<T>>,
    bias: Option<&Tensor1<T>>,
) -> Channels {
    let shape = x.shape();
    assert!(
        shape.len() >= 2,
        "{name} of shape {shape:?}: there is no second axis for channels"
    );
    for given in [weight, bias].into_iter().flatten() {
        assert!(
            given.len() == shape[1],
            "{name} of shape {shape:?} with a weight or bias of shape {:?}",
            given.shape()
        );
    }
    Channels::along(shape, 1)
}
