//! The transpose of a convolution of images.

use rand_core::Rng;

use autograd_core::ndarray::{Ix1, Ix4};
use autograd_core::ops::ConvOptions;
use autograd_core::{Element, Tensor4};

use crate::forward::Forward;
use crate::layers::conv::builder::ConvBuilder;
use crate::layers::conv::options;
use crate::layers::shapes::PerAxis;
use crate::layers::{evenly, shapes};
use crate::module::Module;
use crate::parameter::Parameter;

/// The transpose (the gradient) of a convolution of images of shape `[batch, channels, height, width]`: each pixel is
/// added to every pixel that the convolution would have read to compute it. A stride makes the images larger.
///
/// ```
/// use pullback::ndarray::Array4;
/// use pullback::nn::{ConvTranspose2d, Forward, Generator};
/// use pullback::prelude::*;
///
/// let conv = ConvTranspose2d::<f32>::builder(16, 3, 4).stride(2).padding(1).build(&mut Generator::seed(7));
/// assert_eq!(conv.forward(&Tensor::from(Array4::zeros((8, 16, 14, 14)))).shape(), [8, 3, 28, 28]);
/// ```
#[derive(Debug, Module)]
#[module(extra_repr = Self::options)]
pub struct ConvTranspose2d<T: Element = f32> {
    /// The kernels, of shape `[in_channels, out_channels / groups, rows, columns]`.
    pub weight: Parameter<T, Ix4>,
    /// The bias, of shape `[out_channels]`.
    pub bias: Option<Parameter<T, Ix1>>,
    /// Stride, padding, dilation and groups of the convolution that is transposed.
    #[module(skip)]
    pub options: ConvOptions<2>,
    /// The number of rows and columns by which the output exceeds the smallest image that the convolution maps to the
    /// input.
    #[module(skip)]
    pub output_padding: [usize; 2],
}

impl<T: Element> ConvTranspose2d<T> {
    /// Creates a layer with stride 1, no padding and a bias. Weights and bias are drawn uniformly from ±1 / √n, where
    /// n is the number of elements of one group to which an input is added.
    pub fn new(
        in_channels: usize,
        out_channels: usize,
        kernel: impl Into<PerAxis<2>>,
        generator: &mut impl Rng,
    ) -> Self {
        Self::builder(in_channels, out_channels, kernel).build(generator)
    }

    /// Returns a builder, for other options.
    pub fn builder(
        in_channels: usize,
        out_channels: usize,
        kernel: impl Into<PerAxis<2>>,
    ) -> ConvBuilder<Self, 2> {
        ConvBuilder::new([in_channels, out_channels], kernel)
    }

    fn options(&self) -> String {
        let shape = self.weight.shape();
        let channels = [shape[0], shape[1] * self.options.groups];
        let bias = self.bias.is_some();
        options(
            channels,
            &shape[2..],
            &self.options,
            self.output_padding,
            bias,
        )
    }
}

impl<T: Element> ConvBuilder<ConvTranspose2d<T>, 2> {
    /// Sets the number of rows and columns by which the output exceeds the smallest image that the convolution maps to
    /// the input; 0 by default.
    ///
    /// ```
    /// use pullback::ndarray::Array4;
    /// use pullback::nn::{ConvTranspose2d, Forward, Generator};
    ///
    /// // With a stride of 2, a convolution maps images of 9 and of 10 rows to 5 rows.
    /// let larger = || ConvTranspose2d::<f32>::builder(8, 1, 3).stride(2).padding(1);
    /// let rows = |conv: ConvTranspose2d<f32>| conv.forward(&Array4::zeros((1, 8, 5, 5)).into()).shape()[2];
    /// assert_eq!(rows(larger().build(&mut Generator::seed(7))), 9);
    /// assert_eq!(rows(larger().output_padding(1).build(&mut Generator::seed(7))), 10);
    /// ```
    pub fn output_padding(mut self, output_padding: impl Into<PerAxis<2>>) -> Self {
        self.output_padding = output_padding.into().0;
        self
    }

    /// Creates the layer, with values from the generator.
    ///
    /// # Panics
    /// If the groups do not divide the channels.
    #[track_caller]
    pub fn build(self, generator: &mut impl Rng) -> ConvTranspose2d<T> {
        let [_, outputs] = self.channels_of_a_group("ConvTranspose2d");
        let ([inputs, all_outputs], [rows, columns]) = (self.channels, self.kernel);
        let written = outputs * rows * columns;
        ConvTranspose2d {
            weight: evenly((inputs, outputs, rows, columns), written, generator),
            bias: self.bias.then(|| evenly(all_outputs, written, generator)),
            options: self.options,
            output_padding: self.output_padding,
        }
    }
}

impl<T: Element> Forward<&Tensor4<T>> for ConvTranspose2d<T> {
    type Output = Tensor4<T>;

    /// # Panics
    /// If the input does not have `in_channels` channels, or `output_padding` is neither 0 nor smaller than the stride.
    #[track_caller]
    fn forward(&self, input: &Tensor4<T>) -> Tensor4<T> {
        let fits = input.shape()[1] == self.weight.shape()[0];
        shapes::fits(
            self,
            input.shape(),
            fits,
            "its second length is not `in_channels`",
        );
        let bias = self.bias.as_deref();
        input.conv_transpose2d(&self.weight, bias, self.options, self.output_padding)
    }
}
