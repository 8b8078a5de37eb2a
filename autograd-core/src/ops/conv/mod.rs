//! Convolutions in one and two dimensions, and the other two products of their kind: a convolution, its
//! gradient for the images and its gradient for the weights are each other's gradients.

mod methods;

use std::marker::PhantomData;

use ndarray::{Array, Array4, ArrayView, ArrayView1, ArrayView4, Axis, Dimension};

use crate::kernels::{self, Subscripts};
use crate::ops::ConvOptions;
use crate::ops::{Contract, joined};
use crate::{Element, Tensor, Tensor1, custom_function};

/// Two operands of a convolution as images, and their rank. Those of one dimension are images of height 1.
#[track_caller]
fn images<'a, T: Element, D: Dimension>(
    x: ArrayView<'a, T, D>,
    y: ArrayView<'a, T, D>,
) -> ([ArrayView4<'a, T>; 2], usize) {
    let rank = x.ndim();
    assert!(
        (3..=4).contains(&rank) && y.ndim() == rank,
        "a convolution of tensors of shapes {:?} and {:?}, which have not both 3 axes, nor both 4",
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

/// An image as a tensor of the rank of those that it was made of.
fn flat<T: Element, D: Dimension>(image: Array4<T>, rank: usize) -> Array<T, D> {
    let mut array = image.into_dyn();
    if rank == 3 {
        array = array.remove_axis(Axis(2));
    }
    // INVARIANT: the rank is that of arrays of dimension `D`.
    array.into_dimensionality().expect("three or four axes")
}

fn size<T>(image: &ArrayView4<'_, T>) -> [usize; 2] {
    let (_, _, height, width) = image.dim();
    [height, width]
}

/// The convolution of `x` with `weight`, plus a number for each output. Of tensors of three axes with
/// options whose first axis is that of height 1, or of four.
///
/// ```
/// use autograd_core::{Tensor, ops::ConvOptions, ops::Conv};
/// use autograd_core::ndarray::array;
///
/// let x = Tensor::from(array![[[[1.0, 2.0, 3.0]]]]);
/// let weight = Tensor::from(array![[[[1.0, 10.0]]]]).set_requires_grad(true);
/// let y = Conv::apply(&x, &weight, None, ConvOptions::default());
/// assert_eq!(y.to_array(), array![[[[21.0, 32.0]]]]);
/// y.sum().backward()?;
/// assert_eq!(weight.grad(), Some(array![[[[3.0, 5.0]]]])); // what each weight has met
/// # Ok::<(), autograd_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Conv<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(
    x = [1, 2, 4, 3],
    weight = [2, 1, 2, 2],
    bias = [2],
    options = ConvOptions { stride: [2, 1], padding: [1, 0], dilation: [1, 2], groups: 2 }
))]
impl<T: Element, D: Dimension> Conv<T, D> {
    /// Σ x · weight over each window of `x`, plus the bias of the output: the convolution.
    #[doc = crate::math!(r"y_{n, o, u, v} = b_o + \sum_{c, i, j} w_{o, c, i, j} \; x_{n,\, c,\, s u + d i - p,\, s v + d j - p}")]
    /// Here s is the stride, d the dilation and p the padding, for each axis its own; zeros lie around the image.
    ///
    /// # Panics
    /// If shapes and options do not fit.
    #[forward(outputs(output), saves(sizes))]
    #[track_caller]
    pub fn forward(
        x: ArrayView<T, D>,
        weight: ArrayView<T, D>,
        bias: Option<ArrayView1<T>>,
        options: ConvOptions<2>,
    ) -> (Array<T, D>, [[usize; 2]; 2]) {
        let ([x, weight], rank) = images(x, weight);
        let output = kernels::conv2d(&x, &weight, bias.as_ref(), &options);
        (flat(output, rank), [size(&x), size(&weight)])
    }

    #[backward(x)]
    fn grad_x(
        grad_output: &Tensor<T, D>,
        weight: &Tensor<T, D>,
        options: ConvOptions<2>,
        sizes: [[usize; 2]; 2],
    ) -> Tensor<T, D> {
        ConvTranspose::apply(grad_output, weight, None, options, sizes[0])
    }

    #[backward(weight)]
    fn grad_weight(
        grad_output: &Tensor<T, D>,
        x: &Tensor<T, D>,
        options: ConvOptions<2>,
        sizes: [[usize; 2]; 2],
    ) -> Tensor<T, D> {
        ConvWeight::apply(x, grad_output, options, sizes[1])
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
        joined(joined(along_x, along_weight), along_bias)
    }
}

/// The reverse of a convolution: what each output adds to the images that it would look at, which are
/// `size` high and wide, plus a number for each channel.
///
/// ```
/// use autograd_core::{Tensor, ops::ConvOptions, ops::ConvTranspose};
/// use autograd_core::ndarray::array;
///
/// // Each element puts the weights, times itself, where a convolution would look.
/// let x = Tensor::from(array![[[[1.0, 2.0]]]]);
/// let weight = Tensor::from(array![[[[1.0, 10.0]]]]);
/// let y = ConvTranspose::apply(&x, &weight, None, ConvOptions::default(), [1, 3]);
/// assert_eq!(y.to_array(), array![[[[1.0, 12.0, 20.0]]]]);
/// ```
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
    /// Σ x · weight over all windows that look at a pixel, plus the bias of its channel: the reverse of a
    /// convolution.
    ///
    /// # Panics
    /// If shapes and options do not fit, or a convolution of images of `size` has another shape than `x`.
    #[forward(outputs(output), saves(kernel))]
    #[track_caller]
    pub fn forward(
        x: ArrayView<T, D>,
        weight: ArrayView<T, D>,
        bias: Option<ArrayView1<T>>,
        options: ConvOptions<2>,
        size: [usize; 2],
    ) -> (Array<T, D>, [usize; 2]) {
        let ([x, weight], rank) = images(x, weight);
        let output = kernels::conv_transpose2d(&x, &weight, bias.as_ref(), &options, size);
        (flat(output, rank), self::size(&weight))
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
        kernel: [usize; 2],
    ) -> Tensor<T, D> {
        ConvWeight::apply(grad_output, x, options, kernel)
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
        joined(joined(along_x, along_weight), along_bias)
    }
}

/// The gradient of a convolution of `x` for its weights, which are `size` high and wide.
#[derive(Debug)]
pub struct ConvWeight<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(
    x = [2, 2, 3, 3],
    grad = [2, 2, 2, 3],
    options = ConvOptions { stride: [1, 1], padding: [0, 1], dilation: [1, 2], groups: 2 },
    size = [2, 2]
))]
impl<T: Element, D: Dimension> ConvWeight<T, D> {
    /// Σ x · grad over all windows: the gradient of a convolution for its weights, where `grad` comes in for
    /// it.
    ///
    /// # Panics
    /// If shapes and options do not fit, or the convolution has another shape than `grad`.
    #[forward(outputs(output), saves(input))]
    #[track_caller]
    pub fn forward(
        x: ArrayView<T, D>,
        grad: ArrayView<T, D>,
        options: ConvOptions<2>,
        size: [usize; 2],
    ) -> (Array<T, D>, [usize; 2]) {
        let ([x, grad], rank) = images(x, grad);
        let output = kernels::conv2d_weight(&x, &grad, &options, size);
        (flat(output, rank), self::size(&x))
    }

    #[backward(x)]
    fn grad_x(
        grad_output: &Tensor<T, D>,
        grad: &Tensor<T, D>,
        options: ConvOptions<2>,
        input: [usize; 2],
    ) -> Tensor<T, D> {
        ConvTranspose::apply(grad, grad_output, None, options, input)
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
        joined(along_x, along_grad)
    }
}

/// The sums over everything but the channels.
#[track_caller]
fn sum_of_channels<T: Element, D: Dimension>(x: &Tensor<T, D>) -> Tensor1<T> {
    let names = &[0, 1, 2, 3][..x.ndim()];
    Contract::apply(x, &one(), &Subscripts::new(names, [], [1]), &[x.shape()[1]])
}

/// A number for each channel, repeated to `shape`.
#[track_caller]
fn for_channels<T: Element, D: Dimension>(x: &Tensor1<T>, shape: &[usize]) -> Tensor<T, D> {
    let names = &[0, 1, 2, 3][..shape.len()];
    Contract::apply(x, &one(), &Subscripts::new([1], [], names), shape)
}

fn one<T: Element>() -> crate::Tensor0<T> {
    Tensor::from(ndarray::arr0(T::one()))
}
