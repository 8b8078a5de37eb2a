//! Layer normalization, over the last axes.

use autograd_core::ndarray::{Array, Dimension, IntoDimension, Ix1};
use autograd_core::{Element, Tensor};

use crate::forward::Forward;
use crate::layers::{print, shapes};
use crate::module::Module;
use crate::parameter::Parameter;

/// Layer normalization (Ba, Kiros and Hinton, 2016) over the last axes: from them their mean is subtracted, and the
/// rest is divided by √(variance + `eps`), multiplied by a weight and added to a bias. `E` is the number of these
/// axes as a [`Dimension`].
#[doc = autograd_core::math!(r"y = \gamma \odot \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta")]
/// Here μ and σ² are the mean and the variance, γ the weight, β the bias, and ε is `eps`.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::LayerNorm;
/// use pullback::prelude::*;
///
/// let norm = LayerNorm::new(2).eps(0.0);
/// let x = Tensor::from(array![[1.0, 3.0], [10.0, 30.0]]);
/// assert_eq!(norm.forward(&x).to_array(), array![[-1.0, 1.0], [-1.0, 1.0]]);
/// let images = LayerNorm::<f32, _>::new((3, 28, 28));
/// assert_eq!(images.parameter_count(), 2 * 3 * 28 * 28);
/// ```
#[derive(Debug, Module)]
#[module(extra_repr = Self::options)]
pub struct LayerNorm<T: Element = f32, E: Dimension + 'static = Ix1> {
    /// The scale of each element, of the normalized shape.
    pub weight: Option<Parameter<T, E>>,
    /// The shift of each element, of the normalized shape.
    pub bias: Option<Parameter<T, E>>,
    #[module(skip)]
    shape: E,
    #[module(skip)]
    eps: f64,
}

impl<T: Element, E: Dimension + 'static> LayerNorm<T, E> {
    /// Creates a layer for tensors whose last axes have this shape, with weights of 1, biases of 0 and an `eps` of
    /// 1e-5.
    ///
    /// # Panics
    /// If the shape has no axes.
    #[track_caller]
    pub fn new(normalized_shape: impl IntoDimension<Dim = E>) -> Self {
        let shape = normalized_shape.into_dimension();
        assert!(shape.ndim() > 0, "LayerNorm over no axes");
        Self {
            weight: Some(Parameter::new(Array::ones(shape.clone()))),
            bias: Some(Parameter::new(Array::zeros(shape.clone()))),
            shape,
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
        shapes::is_eps("LayerNorm", eps);
        Self { eps, ..self }
    }

    /// Sets whether the layer has a bias, if it has a weight; `true` by default.
    #[must_use]
    pub fn bias(mut self, bias: bool) -> Self {
        let zeros = || Parameter::new(Array::zeros(self.shape.clone()));
        self.bias = (bias && self.weight.is_some()).then(zeros);
        self
    }

    /// Sets whether the layer has a weight and a bias; `true` by default.
    #[must_use]
    pub fn elementwise_affine(mut self, affine: bool) -> Self {
        let filled =
            |value| affine.then(|| Parameter::new(Array::from_elem(self.shape.clone(), value)));
        (self.weight, self.bias) = (filled(T::one()), filled(T::zero()));
        self
    }

    fn options(&self) -> String {
        let shape = print::tuple(self.shape.slice());
        let affine = print::truth(self.weight.is_some());
        format!("{shape}, eps={:?}, elementwise_affine={affine}", self.eps)
    }
}

impl<T: Element, D: Dimension, E: Dimension + 'static> Forward<&Tensor<T, D>> for LayerNorm<T, E> {
    type Output = Tensor<T, D>;

    /// # Panics
    /// If the shape of the input does not end with the normalized shape.
    #[track_caller]
    fn forward(&self, input: &Tensor<T, D>) -> Tensor<T, D> {
        let fits = input.shape().ends_with(self.shape.slice());
        shapes::fits(
            self,
            input.shape(),
            fits,
            "its shape does not end with `normalized_shape`",
        );
        let (weight, bias) = (self.weight.as_deref(), self.bias.as_deref());
        input.layer_norm(self.shape.slice(), weight, bias, T::from_f64(self.eps))
    }
}
