//! Pooling: the maximum of each window on an image, and the mean.
//!
//! Almost everywhere, small changes of the image do not change where the maximum is: the gradient is that of gathering
//! the elements at fixed indices.

use std::marker::PhantomData;

use ndarray::{Array4, ArrayView4};

use crate::kernels;
use crate::ops::Pool2dOptions;
use crate::ops::conv::size_of_images;
use crate::{Element, custom_function, tensor::Tensor4};

/// The maximum of each window.
#[derive(Debug)]
pub struct MaxPool2d<T>(PhantomData<T>);

#[custom_function(gradcheck(
    x = [2, 1, 4, 5],
    windows = Pool2dOptions { kernel: [3, 2], stride: [1, 2], padding: [1, 0] }
))]
impl<T: Element> MaxPool2d<T> {
    /// Returns the maximum of each window.
    #[doc = crate::math!(r"y_{u, v} = \max_{0 \le i < k,\, 0 \le j < l} \; x_{s u + i - p,\, s v + j - p}")]
    /// Here k and l are the height and the width of the window, s is the stride and p the padding, which is
    /// ignored.
    ///
    /// # Panics
    /// If the windows do not fit.
    #[forward(outputs(output), saves(indices))]
    #[track_caller]
    pub fn forward(x: ArrayView4<T>, windows: Pool2dOptions) -> (Array4<T>, Array4<usize>) {
        let indices = kernels::max_pool2d_indices(&x, &windows);
        (kernels::gather2d(&x, &indices), indices)
    }

    #[backward(x)]
    fn backward(
        grad_output: &Tensor4<T>,
        indices: &Array4<usize>,
        shape_x: &[usize],
    ) -> Tensor4<T> {
        MaxUnpool2d::apply(grad_output, indices, size_of_images(shape_x))
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor4<T>, x: &Tensor4<T>, windows: Pool2dOptions) -> Tensor4<T> {
        Gather2d::apply(tangent_x, &kernels::max_pool2d_indices(&x.view(), &windows))
    }
}

/// The elements at indices of each channel, which are in row-major order.
#[derive(Debug)]
pub struct Gather2d<T>(PhantomData<T>);

#[custom_function(gradcheck(x = [1, 2, 2, 3], indices = &ndarray::array![[[[5, 0, 5]], [[1, 2, 3]]]]))]
impl<T: Element> Gather2d<T> {
    /// Returns the elements of `x` at `indices` of each channel.
    ///
    /// # Panics
    /// If the batch or the channels of `indices` are different, or an index is out of range.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView4<T>, indices: &Array4<usize>) -> Array4<T> {
        kernels::gather2d(&x, indices)
    }

    #[backward(x)]
    fn backward(
        grad_output: &Tensor4<T>,
        indices: &Array4<usize>,
        shape_x: &[usize],
    ) -> Tensor4<T> {
        MaxUnpool2d::apply(grad_output, indices, size_of_images(shape_x))
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor4<T>, indices: &Array4<usize>) -> Tensor4<T> {
        Self::apply(tangent_x, indices)
    }
}

/// Images of zeros to which elements are added at indices of each channel: the reverse of [`Gather2d`].
#[derive(Debug)]
pub struct MaxUnpool2d<T>(PhantomData<T>);

#[custom_function(gradcheck(
    x = [1, 2, 1, 3],
    indices = &ndarray::array![[[[5, 0, 5]], [[1, 2, 3]]]],
    size = [2, 3]
))]
impl<T: Element> MaxUnpool2d<T> {
    /// Returns images of zeros to which the elements of `x` are added at `indices` of each channel.
    ///
    /// # Panics
    /// If the shapes differ, or an index is out of range.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView4<T>, indices: &Array4<usize>, size: [usize; 2]) -> Array4<T> {
        kernels::max_unpool2d(&x, indices, size)
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor4<T>, indices: &Array4<usize>) -> Tensor4<T> {
        Gather2d::apply(grad_output, indices)
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor4<T>, indices: &Array4<usize>, size: [usize; 2]) -> Tensor4<T> {
        Self::apply(tangent_x, indices, size)
    }
}

/// The mean of each window; the padding counts as zeros.
#[derive(Debug)]
pub struct AvgPool2d<T>(PhantomData<T>);

#[custom_function(gradcheck(
    x = [1, 2, 4, 3],
    windows = Pool2dOptions { kernel: [3, 2], stride: [2, 1], padding: [1, 1] }
))]
impl<T: Element> AvgPool2d<T> {
    /// Returns the mean of each window.
    #[doc = crate::math!(r"y_{u, v} = \frac{1}{k l} \sum_{i=0}^{k - 1} \sum_{j=0}^{l - 1} x_{s u + i - p,\, s v + j - p}")]
    /// Here k and l are the height and the width of the window, s is the stride and p the padding, which is
    /// zeros.
    ///
    /// # Panics
    /// If the windows do not fit.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView4<T>, windows: Pool2dOptions) -> Array4<T> {
        kernels::avg_pool2d(&x, &windows)
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor4<T>, windows: Pool2dOptions, shape_x: &[usize]) -> Tensor4<T> {
        AvgPool2dBackward::apply(grad_output, windows, size_of_images(shape_x))
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor4<T>, windows: Pool2dOptions) -> Tensor4<T> {
        Self::apply(tangent_x, windows)
    }
}

/// The gradient of [`AvgPool2d`]: each element, divided by the size of a window, is added to the pixels of its window.
#[derive(Debug)]
pub struct AvgPool2dBackward<T>(PhantomData<T>);

#[custom_function(gradcheck(
    x = [1, 2, 2, 4],
    windows = Pool2dOptions { kernel: [3, 2], stride: [2, 1], padding: [1, 1] },
    size = [4, 3]
))]
impl<T: Element> AvgPool2dBackward<T> {
    /// Returns images of zeros to which each element, divided by the size of a window, is added in its window.
    ///
    /// # Panics
    /// If the windows do not fit, or are not as many as the elements.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView4<T>, windows: Pool2dOptions, size: [usize; 2]) -> Array4<T> {
        kernels::avg_pool2d_backward(&x, &windows, size)
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor4<T>, windows: Pool2dOptions) -> Tensor4<T> {
        AvgPool2d::apply(grad_output, windows)
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor4<T>, windows: Pool2dOptions, size: [usize; 2]) -> Tensor4<T> {
        Self::apply(tangent_x, windows, size)
    }
}

impl<T: Element> Tensor4<T> {
    /// Returns the maximum of each window of `kernel` rows and columns on images of shape `[batch, channels,
    /// height, width]`. Windows are `stride` apart, and the first begins `padding` before the image. NaN is
    /// largest. If several elements are largest, the first has the gradient.
    ///
    /// [`MaxPool2d`](crate::ops::MaxPool2d) has the formula.
    ///
    /// # Panics
    /// If a kernel or stride is 0, a padding more than half of the kernel, or the padded images are smaller
    /// than a window.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let x = Tensor::from(array![[[[1.0, 5.0, 2.0], [4.0, 3.0, 0.0]]]]);
    /// assert_eq!(x.max_pool2d([2, 2], [1, 1], [0, 0]).to_array(), array![[[[5.0, 5.0]]]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn max_pool2d(&self, kernel: [usize; 2], stride: [usize; 2], padding: [usize; 2]) -> Self {
        let windows = Pool2dOptions {
            kernel,
            stride,
            padding,
        };
        MaxPool2d::apply(self, windows)
    }

    /// Returns the mean of each window of `kernel` rows and columns on images of shape `[batch, channels, height,
    /// width]`. Windows are `stride` apart, and the first begins `padding` before the image. The padding is zeros.
    ///
    /// # Panics
    /// If a kernel or stride is 0, a padding more than half of the kernel, or the padded images are smaller
    /// than a window.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let x = Tensor::from(array![[[[1.0, 5.0, 2.0], [4.0, 2.0, 0.0]]]]);
    /// assert_eq!(x.avg_pool2d([2, 2], [1, 1], [0, 0]).to_array(), array![[[[3.0, 2.25]]]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn avg_pool2d(&self, kernel: [usize; 2], stride: [usize; 2], padding: [usize; 2]) -> Self {
        let windows = Pool2dOptions {
            kernel,
            stride,
            padding,
        };
        AvgPool2d::apply(self, windows)
    }
}
