//! Convolutions of signals and of images.

use rand_core::Rng;

use autograd_core::ndarray::{Ix1, Ix3, Ix4};
use autograd_core::ops::ConvOptions;
use autograd_core::{Element, Tensor3, Tensor4};

use crate::forward::Forward;
use crate::layers::conv::builder::ConvBuilder;
use crate::layers::conv::options;
use crate::layers::shapes::PerAxis;
use crate::layers::{evenly, shapes};
use crate::module::Module;
use crate::parameter::Parameter;

/// A layer whose kernel has `N` axes, `kernel`. `conv` is the method of [`Tensor`](autograd_core::Tensor) that it
/// calls.
macro_rules! convolution {
    (
        $(#[$attribute:meta])*
        $Name:ident, $N:literal, [$($kernel:ident),+], $weight:literal, $Weight:ident, $Input:ident, $conv:ident
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Module)]
        #[module(extra_repr = Self::options)]
        pub struct $Name<T: Element = f32> {
            #[doc = concat!("The kernels, of shape `[out_channels, in_channels / groups, ", $weight, "]`.")]
            pub weight: Parameter<T, $Weight>,
            /// The bias, of shape `[out_channels]`.
            pub bias: Option<Parameter<T, Ix1>>,
            /// Stride, padding, dilation and groups.
            #[module(skip)]
            pub options: ConvOptions<$N>,
        }

        impl<T: Element> $Name<T> {
            /// Creates a convolution with stride 1, no padding and a bias. Weights and bias are drawn uniformly from
            /// ±1 / √n, where n is the number of elements that an output reads.
            pub fn new(
                in_channels: usize,
                out_channels: usize,
                kernel: impl Into<PerAxis<$N>>,
                generator: &mut impl Rng,
            ) -> Self {
                Self::builder(in_channels, out_channels, kernel).build(generator)
            }

            /// Returns a builder, for other options.
            pub fn builder(
                in_channels: usize,
                out_channels: usize,
                kernel: impl Into<PerAxis<$N>>,
            ) -> ConvBuilder<Self, $N> {
                ConvBuilder::new([in_channels, out_channels], kernel)
            }

            fn in_channels(&self) -> usize {
                self.weight.shape()[1] * self.options.groups
            }

            fn options(&self) -> String {
                let shape = self.weight.shape();
                let channels = [self.in_channels(), shape[0]];
                options(channels, &shape[2..], &self.options, [0; $N], self.bias.is_some())
            }
        }

        impl<T: Element> ConvBuilder<$Name<T>, $N> {
            /// Creates the layer, with values from the generator.
            ///
            /// # Panics
            /// If the groups do not divide the channels.
            #[track_caller]
            pub fn build(self, generator: &mut impl Rng) -> $Name<T> {
                let [inputs, _] = self.channels_of_a_group(stringify!($Name));
                let ([_, outputs], [$($kernel),+]) = (self.channels, self.kernel);
                let read = inputs $(* $kernel)+;
                $Name {
                    weight: evenly((outputs, inputs, $($kernel),+), read, generator),
                    bias: self.bias.then(|| evenly(outputs, read, generator)),
                    options: self.options,
                }
            }
        }

        impl<T: Element> Forward<&$Input<T>> for $Name<T> {
            type Output = $Input<T>;

            /// # Panics
            /// If the input does not have `in_channels` channels, or is, with its padding, smaller than the kernel.
            #[track_caller]
            fn forward(&self, input: &$Input<T>) -> $Input<T> {
                let fits = input.shape()[1] == self.in_channels();
                shapes::fits(self, input.shape(), fits, "its second length is not `in_channels`");
                input.$conv(&self.weight, self.bias.as_deref(), self.options)
            }
        }
    };
}

convolution! {
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
    Conv1d, 1, [kernel], "kernel", Ix3, Tensor3, conv1d
}

convolution! {
    /// The convolution of images of shape `[batch, channels, height, width]`.
    ///
    /// ```
    /// use pullback::ndarray::Array4;
    /// use pullback::nn::{Conv2d, Forward, Generator};
    /// use pullback::prelude::*;
    ///
    /// let conv = Conv2d::<f32>::builder(3, 16, 5).padding(2).build(&mut Generator::seed(7));
    /// assert_eq!(conv.forward(&Tensor::from(Array4::zeros((8, 3, 28, 28)))).shape(), [8, 16, 28, 28]);
    /// ```
    Conv2d, 2, [rows, columns], "rows, columns", Ix4, Tensor4, conv2d
}
