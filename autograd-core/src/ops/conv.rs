//! Convolutions in one and two dimensions. A convolution, its gradient for the images and its gradient for the
//! weights are each other's gradients.

use std::marker::PhantomData;

use ndarray::{Array, Array4, ArrayView, ArrayView1, ArrayView4, Axis, Dimension, Ix3, Ix4};

use crate::kernels::{self, Subscripts};
use crate::ops::ConvOptions;
use crate::ops::{Contract, add_tangents};
use crate::tensor::{Tensor, Tensor1, Tensor3, Tensor4};
use crate::{Element, custom_function};

/// Returns two operands of a convolution as images, and their rank. Signals become images of height 1.
#[track_caller]
fn images<'a, T: Element, D: Dimension>(
    x: ArrayView<'a, T, D>,
    y: ArrayView<'a, T, D>,
) -> ([ArrayView4<'a, T>; 2], usize) {
    let rank = x.ndim();
    assert!(
        (3..=4).contains(&rank) && y.ndim() == rank,
        "a convolution of tensors of shapes {:?} and {:?}: both must have 3 axes, or both 4",
        x.shape(),
        y.shape()
    );
    let image = |view: ArrayView<'a, T, D>| {
        let mut view = view.into_dyn();
        if rank == 3 {
            view = view.insert_axis(Axis(2));
        }
        // INVARIANT: three axes and one more, or four.
        view.into_dimensionality().expect("four axes")
    };
    ([x, y].map(image), rank)
}

/// Returns an image with the rank of the operands.
fn flat<T: Element, D: Dimension>(image: Array4<T>, rank: usize) -> Array<T, D> {
    let mut array = image.into_dyn();
    if rank == 3 {
        array = array.remove_axis(Axis(2));
    }
    // INVARIANT: the rank is that of arrays of dimension `D`.
    array.into_dimensionality().expect("three or four axes")
}

/// Returns the height and width of images of this shape; a signal has height 1.
pub(super) fn size_of_images(shape: &[usize]) -> [usize; 2] {
    match *shape {
        [.., height, width] if shape.len() == 4 => [height, width],
        _ => [1, shape[shape.len() - 1]],
    }
}

/// The convolution of `x` with `weight`, plus a bias for each output, of tensors with four axes or with three. With
/// three, the first axis of the options is that of an image of height 1.
#[derive(Debug)]
pub struct Conv<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(
    x = [1, 2, 4, 3],
    weight = [2, 1, 2, 2],
    bias = [2],
    options = ConvOptions { stride: [2, 1], padding: [1, 0], dilation: [1, 2], groups: 2 }
))]
impl<T: Element, D: Dimension> Conv<T, D> {
    /// Returns the convolution: Σ x · weight over each window of `x`, plus the bias of the output.
    #[doc = crate::math!(r"y_{n, o, u, v} = b_o + \sum_{c, i, j} w_{o, c, i, j} \; x_{n,\, c,\, s u + d i - p,\, s v + d j - p}")]
    /// Here s is the stride, d the dilation and p the padding of each axis; the padding is zeros.
    ///
    /// # Panics
    /// If shapes and options do not fit.
    #[forward]
    #[track_caller]
    pub fn forward(
        x: ArrayView<T, D>,
        weight: ArrayView<T, D>,
        bias: Option<ArrayView1<T>>,
        options: ConvOptions<2>,
    ) -> Array<T, D> {
        let ([x, weight], rank) = images(x, weight);
        let output = kernels::conv2d(&x, &weight, bias.as_ref(), &options);
        flat(output, rank)
    }

    #[backward(x)]
    fn grad_x(
        grad_output: &Tensor<T, D>,
        weight: &Tensor<T, D>,
        options: ConvOptions<2>,
        shape_x: &[usize],
    ) -> Tensor<T, D> {
        ConvTranspose::apply(grad_output, weight, None, options, size_of_images(shape_x))
    }

    #[backward(weight)]
    fn grad_weight(
        grad_output: &Tensor<T, D>,
        x: &Tensor<T, D>,
        options: ConvOptions<2>,
        shape_weight: &[usize],
    ) -> Tensor<T, D> {
        ConvWeight::apply(x, grad_output, options, size_of_images(shape_weight))
    }

    #[backward(bias)]
    fn grad_bias(grad_output: &Tensor<T, D>) -> Tensor1<T> {
        sum_of_channels(grad_output)
    }

    #[jvp]
    fn jvp(
        tangent_x: Option<&Tensor<T, D>>,
        tangent_weight: Option<&Tensor<T, D>>,
        tangent_bias: Option<&Tensor1<T>>,
        x: &Tensor<T, D>,
        weight: &Tensor<T, D>,
        output: &Tensor<T, D>,
        options: ConvOptions<2>,
    ) -> Option<Tensor<T, D>> {
        let along_x = tangent_x.map(|tangent| Self::apply(tangent, weight, None, options));
        let along_weight = tangent_weight.map(|tangent| Self::apply(x, tangent, None, options));
        let along_bias = tangent_bias.map(|tangent| for_channels(tangent, output.shape()));
        add_tangents(add_tangents(along_x, along_weight), along_bias)
    }
}

/// The transpose of a convolution: each element of `x`, times the weights, is added to its window in images of height
/// and width `size`, plus a bias for each channel.
#[derive(Debug)]
pub struct ConvTranspose<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(
    x = [1, 2, 2, 3],
    weight = [2, 2, 2, 1],
    bias = [4],
    options = ConvOptions { stride: [1, 2], padding: [0, 1], dilation: [1, 1], groups: 2 },
    size = [3, 4]
))]
impl<T: Element, D: Dimension> ConvTranspose<T, D> {
    /// Returns Σ x · weight over all windows that contain a pixel, plus the bias of its channel.
    ///
    /// # Panics
    /// If shapes and options do not fit, or a convolution of images of `size` does not have the shape of `x`.
    #[forward]
    #[track_caller]
    pub fn forward(
        x: ArrayView<T, D>,
        weight: ArrayView<T, D>,
        bias: Option<ArrayView1<T>>,
        options: ConvOptions<2>,
        size: [usize; 2],
    ) -> Array<T, D> {
        let ([x, weight], rank) = images(x, weight);
        let output = kernels::conv_transpose2d(&x, &weight, bias.as_ref(), &options, size);
        flat(output, rank)
    }

    #[backward(x)]
    fn grad_x(
        grad_output: &Tensor<T, D>,
        weight: &Tensor<T, D>,
        options: ConvOptions<2>,
    ) -> Tensor<T, D> {
        Conv::apply(grad_output, weight, None, options)
    }

    #[backward(weight)]
    fn grad_weight(
        grad_output: &Tensor<T, D>,
        x: &Tensor<T, D>,
        options: ConvOptions<2>,
        shape_weight: &[usize],
    ) -> Tensor<T, D> {
        ConvWeight::apply(grad_output, x, options, size_of_images(shape_weight))
    }

    #[backward(bias)]
    fn grad_bias(grad_output: &Tensor<T, D>) -> Tensor1<T> {
        sum_of_channels(grad_output)
    }

    #[jvp]
    fn jvp(
        tangent_x: Option<&Tensor<T, D>>,
        tangent_weight: Option<&Tensor<T, D>>,
        tangent_bias: Option<&Tensor1<T>>,
        x: &Tensor<T, D>,
        weight: &Tensor<T, D>,
        output: &Tensor<T, D>,
        options: ConvOptions<2>,
        size: [usize; 2],
    ) -> Option<Tensor<T, D>> {
        let along_x = tangent_x.map(|tangent| Self::apply(tangent, weight, None, options, size));
        let along_weight =
            tangent_weight.map(|tangent| Self::apply(x, tangent, None, options, size));
        let along_bias = tangent_bias.map(|tangent| for_channels(tangent, output.shape()));
        add_tangents(add_tangents(along_x, along_weight), along_bias)
    }
}

/// The gradient of a convolution of `x` for its weights, of height and width `size`.
#[derive(Debug)]
pub struct ConvWeight<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(
    x = [2, 2, 3, 3],
    grad = [2, 2, 2, 3],
    options = ConvOptions { stride: [1, 1], padding: [0, 1], dilation: [1, 2], groups: 2 },
    size = [2, 2]
))]
impl<T: Element, D: Dimension> ConvWeight<T, D> {
    /// Returns Σ x · grad over all windows: the gradient of the weights, where `grad` is the gradient of the
    /// convolution.
    ///
    /// # Panics
    /// If shapes and options do not fit, or the convolution does not have the shape of `grad`.
    #[forward]
    #[track_caller]
    pub fn forward(
        x: ArrayView<T, D>,
        grad: ArrayView<T, D>,
        options: ConvOptions<2>,
        size: [usize; 2],
    ) -> Array<T, D> {
        let ([x, grad], rank) = images(x, grad);
        let output = kernels::conv2d_weight(&x, &grad, &options, size);
        flat(output, rank)
    }

    #[backward(x)]
    fn grad_x(
        grad_output: &Tensor<T, D>,
        grad: &Tensor<T, D>,
        options: ConvOptions<2>,
        shape_x: &[usize],
    ) -> Tensor<T, D> {
        ConvTranspose::apply(grad, grad_output, None, options, size_of_images(shape_x))
    }

    #[backward(grad)]
    fn grad_grad(
        grad_output: &Tensor<T, D>,
        x: &Tensor<T, D>,
        options: ConvOptions<2>,
    ) -> Tensor<T, D> {
        Conv::apply(x, grad_output, None, options)
    }

    #[jvp]
    fn jvp(
        tangent_x: Option<&Tensor<T, D>>,
        tangent_grad: Option<&Tensor<T, D>>,
        x: &Tensor<T, D>,
        grad: &Tensor<T, D>,
        options: ConvOptions<2>,
        size: [usize; 2],
    ) -> Option<Tensor<T, D>> {
        let along_x = tangent_x.map(|tangent| Self::apply(tangent, grad, options, size));
        let along_grad = tangent_grad.map(|tangent| Self::apply(x, tangent, options, size));
        add_tangents(along_x, along_grad)
    }
}

/// Returns the sum of each channel.
#[track_caller]
fn sum_of_channels<T: Element, D: Dimension>(x: &Tensor<T, D>) -> Tensor1<T> {
    let names = &[0, 1, 2, 3][..x.ndim()];
    Contract::apply(x, &one(), &Subscripts::new(names, [], [1]), &[x.shape()[1]])
}

/// Returns a number for each channel, repeated to `shape`.
#[track_caller]
fn for_channels<T: Element, D: Dimension>(x: &Tensor1<T>, shape: &[usize]) -> Tensor<T, D> {
    let names = &[0, 1, 2, 3][..shape.len()];
    Contract::apply(x, &one(), &Subscripts::new([1], [], names), shape)
}

fn one<T: Element>() -> crate::tensor::Tensor0<T> {
    Tensor::from(ndarray::arr0(T::one()))
}

impl<T: Element> Tensor3<T> {
    /// Returns the convolution of signals of shape `[batch, channels, length]` with weights of shape `[outputs,
    /// channels / groups, length]`, plus a bias for each output.
    ///
    /// # Panics
    /// If shapes and options do not fit: `groups` does not divide channels and outputs, the weights have a different
    /// number of channels or are longer than the padded signals, or a stride or dilation is 0.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::ConvOptions};
    ///
    /// let x = Tensor::from(array![[[1.0, 2.0, 4.0, 8.0]]]);
    /// let differences = Tensor::from(array![[[-1.0, 1.0]]]);
    /// let y = x.conv1d(&differences, None, ConvOptions::default());
    /// assert_eq!(y.to_array(), array![[[1.0, 2.0, 4.0]]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn conv1d(
        &self,
        weight: &Self,
        bias: Option<&Tensor1<T>>,
        options: ConvOptions<1>,
    ) -> Self {
        let [stride] = options.stride;
        let [padding] = options.padding;
        let [dilation] = options.dilation;
        let image = ConvOptions {
            stride: [1, stride],
            padding: [0, padding],
            dilation: [1, dilation],
            groups: options.groups,
        };
        // The convolution of images would name an axis more.
        let of_image = |signals: &[usize]| [signals[0], signals[1], 1, signals[2]];
        assert!(
            image.fit(&of_image(self.shape()), &of_image(weight.shape())),
            "conv1d of a tensor of shape {:?} with weights of shape {:?}, {}: they do not fit",
            self.shape(),
            weight.shape(),
            options.describe()
        );
        if let Some(bias) = bias {
            assert!(
                bias.len() == weight.shape()[0],
                "conv1d with weights of shape {:?} and a bias of shape {:?}: the outputs differ",
                weight.shape(),
                bias.shape()
            );
        }
        Conv::<T, Ix3>::apply(self, weight, bias, image)
    }
}

impl<T: Element> Tensor4<T> {
    /// Returns the convolution of images of shape `[batch, channels, height, width]` with weights of shape
    /// `[outputs, channels / groups, height, width]`, plus a bias for each output.
    ///
    /// # Panics
    /// If shapes and options do not fit: `groups` does not divide channels and outputs, the weights have a different
    /// number of channels or are larger than the padded images, or a stride or dilation is 0.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::Array4, ops::ConvOptions};
    ///
    /// let x = Tensor::from(Array4::<f32>::ones((1, 3, 8, 8)));
    /// let weight = Tensor::from(Array4::ones((5, 3, 3, 3)));
    /// let options = ConvOptions { padding: [1, 1], ..ConvOptions::default() };
    /// let y = x.conv2d(&weight, None, options);
    /// assert_eq!(y.shape(), [1, 5, 8, 8]);
    /// assert_eq!(y.view()[[0, 0, 4, 4]], 27.0);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn conv2d(
        &self,
        weight: &Self,
        bias: Option<&Tensor1<T>>,
        options: ConvOptions<2>,
    ) -> Self {
        Conv::<T, Ix4>::apply(self, weight, bias, options)
    }

    /// Returns the transpose of a convolution, of images of shape `[batch, channels, height, width]` with weights of
    /// shape `[channels, outputs / groups, height, width]`, plus a bias for each output: each pixel, times the weights,
    /// is added to the window that [`conv2d`](Self::conv2d) would sum.
    ///
    /// With a stride, `conv2d` of images of several sizes has one size: `output_padding` is the number of rows and
    /// columns to add to the smallest of these sizes.
    ///
    /// # Panics
    /// If shapes and options do not fit, as those of `conv2d`, or `output_padding` is neither 0 nor smaller
    /// than the stride.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::{Array4, array}, ops::ConvOptions};
    ///
    /// let x = Tensor::from(array![[[[1.0, 2.0]]]]);
    /// let weight = Tensor::from(Array4::ones((1, 1, 1, 2)));
    /// let options = ConvOptions { stride: [1, 2], ..ConvOptions::default() };
    /// let y = x.conv_transpose2d(&weight, None, options, [0, 0]);
    /// assert_eq!(y.to_array(), array![[[[1.0, 1.0, 2.0, 2.0]]]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn conv_transpose2d(
        &self,
        weight: &Self,
        bias: Option<&Tensor1<T>>,
        options: ConvOptions<2>,
        output_padding: [usize; 2],
    ) -> Self {
        let mut size = [0; 2];
        for (axis, size) in size.iter_mut().enumerate() {
            let lengths = [self.shape()[axis + 2], weight.shape()[axis + 2]];
            let Some(length) = transposed_length(lengths, &options, output_padding, axis) else {
                panic!(
                    "conv_transpose2d of a tensor of shape {:?} with weights of shape {:?}, {}, \
                     and an output padding of {output_padding:?}: they do not fit",
                    self.shape(),
                    weight.shape(),
                    options.describe()
                )
            };
            *size = length;
        }
        ConvTranspose::<T, Ix4>::apply(self, weight, bias, options, size)
    }
}

/// Returns the length of images whose convolution has length `output`; `None` if there are none.
fn transposed_length(
    [output, kernel]: [usize; 2],
    options: &ConvOptions<2>,
    output_padding: [usize; 2],
    axis: usize,
) -> Option<usize> {
    let (stride, dilation) = (options.stride[axis], options.dilation[axis]);
    let added = output_padding[axis];
    if added > 0 && added >= stride {
        return None;
    }
    let first = output.checked_sub(1)?.checked_mul(stride)?;
    let seen = kernel.checked_sub(1)?.checked_mul(dilation)?;
    let padded = first
        .checked_add(seen)?
        .checked_add(1)?
        .checked_add(added)?;
    padded.checked_sub(options.padding[axis].checked_mul(2)?)
}
