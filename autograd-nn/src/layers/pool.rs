//! Pooling of images.

use autograd_core::{Element, Tensor4};

use crate::forward::Forward;
use crate::layers::print;
use crate::layers::shapes::PerAxis;
use crate::module::Module;

macro_rules! pool {
    ($(#[$attribute:meta])* $Name:ident => $method:ident) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Module)]
        #[module(extra_repr = Self::options)]
        pub struct $Name {
            #[module(skip)]
            kernel: [usize; 2],
            #[module(skip)]
            stride: [usize; 2],
            #[module(skip)]
            padding: [usize; 2],
        }

        impl $Name {
            /// Creates the layer with windows of this size, side by side.
            pub fn new(kernel: impl Into<PerAxis<2>>) -> Self {
                let PerAxis(kernel) = kernel.into();
                Self {
                    kernel,
                    stride: kernel,
                    padding: [0, 0],
                }
            }

            /// Sets the distance between neighboring windows.
            #[must_use]
            pub fn stride(mut self, stride: impl Into<PerAxis<2>>) -> Self {
                self.stride = stride.into().0;
                self
            }

            /// Sets the number of pixels that are added on either side, at most half a window; 0 by default.
            #[must_use]
            pub fn padding(mut self, padding: impl Into<PerAxis<2>>) -> Self {
                self.padding = padding.into().0;
                self
            }

            fn options(&self) -> String {
                let [kernel, stride, padding] =
                    [self.kernel, self.stride, self.padding].map(|pair| print::tuple(&pair));
                format!("kernel_size={kernel}, stride={stride}, padding={padding}")
            }
        }

        impl<T: Element> Forward<&Tensor4<T>> for $Name {
            type Output = Tensor4<T>;

            /// # Panics
            /// If a kernel or stride is 0, a padding is more than half of the kernel, or the padded images are
            /// smaller than a window.
            #[track_caller]
            fn forward(&self, input: &Tensor4<T>) -> Tensor4<T> {
                input.$method(self.kernel, self.stride, self.padding)
            }
        }
    };
}

pool! {
    /// The largest element of each window on images of shape `[batch, channels, height, width]`; see
    /// [`Tensor::max_pool2d`](autograd_core::Tensor::max_pool2d).
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::MaxPool2d;
    /// use pullback::prelude::*;
    ///
    /// let x = Tensor::from(array![[[[1.0, 5.0, 2.0], [4.0, 3.0, 0.0]]]]);
    /// assert_eq!(MaxPool2d::new(2).stride(1).forward(&x).to_array(), array![[[[5.0, 5.0]]]]);
    /// let shown = "MaxPool2d(kernel_size=(3, 3), stride=(3, 3), padding=(1, 1))";
    /// assert_eq!(MaxPool2d::new(3).padding(1).to_string(), shown);
    /// ```
    MaxPool2d => max_pool2d
}

pool! {
    /// The mean of each window on images of shape `[batch, channels, height, width]`, padded with zeros; see
    /// [`Tensor::avg_pool2d`](autograd_core::Tensor::avg_pool2d).
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::AvgPool2d;
    /// use pullback::prelude::*;
    ///
    /// let x = Tensor::from(array![[[[1.0, 5.0, 2.0], [4.0, 2.0, 0.0]]]]);
    /// assert_eq!(AvgPool2d::new(2).stride(1).forward(&x).to_array(), array![[[[3.0, 2.25]]]]);
    /// ```
    AvgPool2d => avg_pool2d
}
