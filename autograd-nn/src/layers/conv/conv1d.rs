//! Convolutions of signals.

use rand_core::Rng;

use autograd_core::ndarray::{Ix1, Ix3};
use autograd_core::ops::ConvOptions;
use autograd_core::{Element, Tensor3};

use crate::forward::Forward;
use crate::layers::conv::builder::ConvBuilder;
use crate::layers::conv::options;
use crate::layers::shapes::PerAxis;
use crate::layers::{evenly, shapes};
use crate::module::Module;
use crate::parameter::Parameter;

/// The convolution of signals of shape `[batch, channels, length]`.
///
/// ```
/// use pullback::ndarray::Array3;
/// use pullback::nn::{Conv1d, Forward, Generator};
/// use pullback::prelude::*;
///
/// let conv = Conv1d::<f32>::builder(3, 16, 5).padding(2).build(&mut Generator::seed(7));
/// assert_eq!(conv.forward(&Tensor::from(Array3::zeros((8, 3, 100)))).shape(), [8, 16, 100]);
/// ```
#[derive(Debug, Module)]
#[module(extra_repr = Self::options)]
pub struct Conv1d<T: Element = f32> {
    /// Of shape `[out_channels, in_channels / groups, kernel]`.
    pub weight: Parameter<T, Ix3>,
    /// Of shape `[out_channels]`, if there is one.
    pub bias: Option<Parameter<T, Ix1>>,
    /// Stride, padding, dilation and groups.
    #[module(skip)]
    pub options: ConvOptions<1>,
}

impl<T: Element> Conv1d<T> {
    /// Creates a convolution with stride 1, no padding and a bias, whose weights and bias are within 1 / √(inputs of
    /// an output) of 0.
    pub fn new(
        in_channels: usize,
        out_channels: usize,
        kernel: impl Into<PerAxis<1>>,
        generator: &mut impl Rng,
    ) -> Self {
        Self::builder(in_channels, out_channels, kernel).build(generator)
    }

    /// Returns a builder, for other options.
    pub fn builder(
        in_channels: usize,
        out_channels: usize,
        kernel: impl Into<PerAxis<1>>,
    ) -> ConvBuilder<Self, 1> {
        ConvBuilder::new([in_channels, out_channels], kernel)
    }

    fn in_channels(&self) -> usize {
        self.weight.shape()[1] * self.options.groups
    }

    fn options(&self) -> String {
        let shape = self.weight.shape();
        let channels = [self.in_channels(), shape[0]];
        options(
            channels,
            &shape[2..],
            &self.options,
            [0],
            self.bias.is_some(),
        )
    }
}

impl<T: Element> ConvBuilder<Conv1d<T>, 1> {
    /// Creates the layer, with values from the generator.
    ///
    /// # Panics
    /// If the groups do not divide the channels.
    #[track_caller]
    pub fn build(self, generator: &mut impl Rng) -> Conv1d<T> {
        let [inputs, _] = self.channels_of_a_group("Conv1d");
        let ([_, outputs], [kernel]) = (self.channels, self.kernel);
        let seen = inputs * kernel;
        Conv1d {
            weight: evenly((outputs, inputs, kernel), seen, generator),
            bias: self.bias.then(|| evenly(outputs, seen, generator)),
            options: self.options,
        }
    }
}

impl<T: Element> Forward<&Tensor3<T>> for Conv1d<T> {
    type Output = Tensor3<T>;

    /// # Panics
    /// If there are other channels, or the padded signals are shorter than the kernel.
    #[track_caller]
    fn forward(&self, input: &Tensor3<T>) -> Tensor3<T> {
        let fits = input.shape()[1] == self.in_channels();
        shapes::fits(
            self,
            input.shape(),
            fits,
            "its second length is not `in_channels`",
        );
        input.conv1d(&self.weight, self.bias.as_deref(), self.options)
    }
}
