//! Group normalization, of each example by itself.

use autograd_core::ndarray::{Array1, Dimension, Ix1};
use autograd_core::{Element, Tensor};
use autograd_kernels::counted;

use crate::forward::Forward;
use crate::layers::{print, shapes};
use crate::module::Module;
use crate::parameter::Parameter;

/// Group normalization (Wu and He, 2018) of tensors whose second axis is the channels: from the channels of each
/// example and group, their mean is subtracted, and the rest is divided by √(variance + `eps`), multiplied by a
/// weight for each channel and added to a bias.
#[doc = autograd_core::math!(r"y = \gamma_c \, \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta_c")]
/// Here μ and σ² are the mean and the variance of the group, γ and β the weight and the bias of the channel c,
/// and ε is `eps`.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::GroupNorm;
/// use pullback::prelude::*;
///
/// let norm = GroupNorm::new(2, 4).eps(0.0);
/// let x = Tensor::from(array![[1.0, 3.0, 10.0, 30.0]]);
/// assert_eq!(norm.forward(&x).to_array(), array![[-1.0, 1.0, -1.0, 1.0]]);
/// ```
#[derive(Debug, Module)]
#[module(extra_repr = Self::options)]
pub struct GroupNorm<T: Element = f32> {
    /// The scale of each channel, of shape `[num_channels]`.
    pub weight: Option<Parameter<T, Ix1>>,
    /// The shift of each channel, of shape `[num_channels]`.
    pub bias: Option<Parameter<T, Ix1>>,
    #[module(skip)]
    num_groups: usize,
    #[module(skip)]
    num_channels: usize,
    #[module(skip)]
    eps: f64,
}

impl<T: Element> GroupNorm<T> {
    /// Creates a layer with weights of 1, biases of 0 and an `eps` of 1e-5.
    ///
    /// # Panics
    /// If the groups do not divide the channels.
    #[track_caller]
    pub fn new(num_groups: usize, num_channels: usize) -> Self {
        assert!(
            num_groups > 0 && num_channels.is_multiple_of(num_groups),
            "GroupNorm of {} in {}: the groups must divide the channels",
            counted(num_channels, "channel", "channels"),
            counted(num_groups, "group", "groups")
        );
        Self {
            weight: Some(Parameter::new(Array1::ones(num_channels))),
            bias: Some(Parameter::new(Array1::zeros(num_channels))),
            num_groups,
            num_channels,
            eps: 1e-5,
        }
    }

    /// Sets the number that is added to variances before the square root.
    ///
    /// # Panics
    /// If `eps` is negative or not finite.
    #[must_use]
    #[track_caller]
    pub fn eps(self, eps: f64) -> Self {
        shapes::is_eps("GroupNorm", eps);
        Self { eps, ..self }
    }

    /// Sets whether the layer has a weight and a bias; `true` by default.
    #[must_use]
    pub fn affine(mut self, affine: bool) -> Self {
        let filled =
            |value| affine.then(|| Parameter::new(Array1::from_elem(self.num_channels, value)));
        (self.weight, self.bias) = (filled(T::one()), filled(T::zero()));
        self
    }

    fn options(&self) -> String {
        let affine = print::truth(self.weight.is_some());
        let (groups, channels) = (self.num_groups, self.num_channels);
        format!("{groups}, {channels}, eps={:?}, affine={affine}", self.eps)
    }
}

impl<T: Element, D: Dimension> Forward<&Tensor<T, D>> for GroupNorm<T> {
    type Output = Tensor<T, D>;

    /// # Panics
    /// If the input does not have `num_channels` channels.
    #[track_caller]
    fn forward(&self, input: &Tensor<T, D>) -> Tensor<T, D> {
        let fits = input.shape().get(1) == Some(&self.num_channels);
        shapes::fits(
            self,
            input.shape(),
            fits,
            "its second length is not `num_channels`",
        );
        let (weight, bias) = (self.weight.as_deref(), self.bias.as_deref());
        input.group_norm(self.num_groups, weight, bias, T::from_f64(self.eps))
    }
}
