//! The linear layer.

use std::marker::PhantomData;

use rand_core::Rng;

use autograd_core::ndarray::{Dimension, Ix1, Ix2};
use autograd_core::{Element, Tensor};

use crate::forward::Forward;
use crate::layers::{evenly, print, shapes};
use crate::module::Module;
use crate::parameter::Parameter;

/// The linear layer, x Wᵀ + b along the last axis, for tensors of any rank.
#[doc = autograd_core::math!(r"y = x W^\top + b")]
/// ```
/// use pullback::ndarray::{Array2, Array3};
/// use pullback::nn::{Forward, Generator, Linear};
/// use pullback::prelude::*;
///
/// let linear = Linear::<f32>::new(3, 2, &mut Generator::seed(7));
/// assert_eq!(linear.forward(&Tensor::from(Array2::zeros((5, 3)))).shape(), [5, 2]);
/// assert_eq!(linear.forward(&Tensor::from(Array3::zeros((4, 5, 3)))).shape(), [4, 5, 2]);
/// let shown = "Linear(in_features=3, out_features=2, bias=True, weight: [2, 3], bias: [2]) # 8 parameters";
/// assert_eq!(linear.to_string(), shown);
/// ```
#[derive(Debug, Module)]
#[module(extra_repr = Self::options)]
pub struct Linear<T: Element = f32> {
    /// The matrix, of shape `[out_features, in_features]`.
    pub weight: Parameter<T, Ix2>,
    /// The bias, of shape `[out_features]`.
    pub bias: Option<Parameter<T, Ix1>>,
}

impl<T: Element> Linear<T> {
    /// Creates a layer with a bias. Weights and bias are drawn uniformly from ±1 / √`in_features`.
    pub fn new(in_features: usize, out_features: usize, generator: &mut impl Rng) -> Self {
        Self::builder(in_features, out_features).build(generator)
    }

    /// Returns a builder, for other options.
    pub fn builder(in_features: usize, out_features: usize) -> LinearBuilder<T> {
        LinearBuilder {
            in_features,
            out_features,
            bias: true,
            element: PhantomData,
        }
    }

    /// Returns the last length of the input.
    pub fn in_features(&self) -> usize {
        self.weight.shape()[1]
    }

    /// Returns the last length of the output.
    pub fn out_features(&self) -> usize {
        self.weight.shape()[0]
    }

    fn options(&self) -> String {
        let (inputs, outputs) = (self.in_features(), self.out_features());
        let bias = print::truth(self.bias.is_some());
        format!("in_features={inputs}, out_features={outputs}, bias={bias}")
    }
}

impl<T: Element, D: Dimension> Forward<&Tensor<T, D>> for Linear<T> {
    type Output = Tensor<T, D>;

    /// # Panics
    /// If the last length of the input is not `in_features`.
    #[track_caller]
    fn forward(&self, input: &Tensor<T, D>) -> Tensor<T, D> {
        let fits = input.shape().last() == Some(&self.in_features());
        shapes::fits(
            self,
            input.shape(),
            fits,
            "its last length is not `in_features`",
        );
        input.linear(&self.weight, self.bias.as_deref())
    }
}

/// The options of a [`Linear`].
///
/// ```
/// use pullback::nn::{Generator, Linear, LinearBuilder};
///
/// let builder: LinearBuilder<f32> = Linear::builder(4, 4).bias(false);
/// let mut generator = Generator::seed(7);
/// let layers: Vec<Linear> = (0..3).map(|_| builder.clone().build(&mut generator)).collect();
/// assert_ne!(layers[0].weight.to_array(), layers[1].weight.to_array());
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder creates nothing before `build`"]
pub struct LinearBuilder<T> {
    in_features: usize,
    out_features: usize,
    bias: bool,
    element: PhantomData<T>,
}

impl<T: Element> LinearBuilder<T> {
    /// Sets whether the layer has a bias; `true` by default.
    pub fn bias(self, bias: bool) -> Self {
        Self { bias, ..self }
    }

    /// Creates the layer, with values from the generator.
    pub fn build(self, generator: &mut impl Rng) -> Linear<T> {
        let (inputs, outputs) = (self.in_features, self.out_features);
        Linear {
            weight: evenly((outputs, inputs), inputs, generator),
            bias: self.bias.then(|| evenly(outputs, inputs, generator)),
        }
    }
}
