//! Σx over some axes, repeating along them, and Σ x · y: each is the others' backward.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Axis, Dimension, IxDyn};

use super::methods;
use crate::kernels::Over;
use crate::ops::joined;
use crate::{Element, Shape, Tensor, custom_function, kernels};

/// The sum over some axes, added pairwise.
///
/// ```
/// use autograd_core::{Tensor, Tensor1, kernels::Over, ndarray::Axis, ops::SumOver};
/// use autograd_core::ndarray::array;
///
/// let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]).set_requires_grad(true);
/// let rows: Tensor1<f64> = SumOver::apply(&x, Over::axis(Axis(1)));
/// assert_eq!(rows.to_array(), array![3.0, 7.0]);
/// rows.backward_with(array![1.0, 10.0])?;
/// assert_eq!(x.grad(), Some(array![[1.0, 1.0], [10.0, 10.0]]));
/// # Ok::<(), autograd_core::Error>(())
/// ```
#[derive(Debug)]
pub struct SumOver<T, D, E>(PhantomData<(T, D, E)>);

#[custom_function(gradcheck(x = [2, 3, 2], over = Over::axes(&[0, 2]), E = ndarray::Ix1))]
impl<T: Element, D: Dimension, E: Dimension> SumOver<T, D, E> {
    /// Σx over some axes.
    ///
    /// # Panics
    /// If there are not all of the axes, or the result has another rank than `E`.
    #[forward(outputs(output), saves(shape))]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, over: Over) -> (Array<T, E>, Shape) {
        (kernels::sum_over(&x, over), Shape::from(x.shape()))
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor<T, E>, over: Over, shape: &Shape) -> Tensor<T, D> {
        grad_output.repeat_over(over, shape)
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, over: Over) -> Tensor<T, E> {
        Self::apply(tangent_x, over)
    }
}

/// What a reduction gave, repeated to the shape that it was of, without a copy.
///
/// ```
/// use autograd_core::{Tensor, Tensor2, kernels::Over, ndarray::Axis, ops::RepeatOver};
/// use autograd_core::ndarray::array;
///
/// let sums = Tensor::from(array![3.0, 7.0]);
/// let repeated: Tensor2<f64> = RepeatOver::apply(&sums, Over::axis(Axis(1)), &[2, 3]);
/// assert_eq!(repeated.to_array(), array![[3.0, 3.0, 3.0], [7.0, 7.0, 7.0]]);
/// ```
#[derive(Debug)]
pub struct RepeatOver<T, E, D>(PhantomData<(T, E, D)>);

#[custom_function(gradcheck(
    x = [3], over = Over::axes(&[0, 2]), shape = &[2, 3, 2], D = ndarray::Ix3
))]
impl<T: Element, E: Dimension, D: Dimension> RepeatOver<T, E, D> {
    /// The same memory, seen as `shape`.
    ///
    /// # Panics
    /// If `x` has not the shape of what a reduction of `shape` gives, or `D` another rank than `shape`.
    #[forward]
    #[track_caller]
    pub fn forward(x: &Tensor<T, E>, over: Over, shape: &[usize]) -> Tensor<T, D> {
        let reduced = over.shape("repeat_over", shape);
        assert!(
            x.shape() == &reduced[..],
            "repeat_over of shape {:?}: a reduction of {shape:?} gives {reduced}",
            x.shape()
        );
        let mut kept = x.clone().into_dyn();
        if x.ndim() != shape.len() {
            for axis in (0..shape.len()).filter(|&axis| over.contains(axis)) {
                kept = kept.part(|view| view.clone().insert_axis(Axis(axis)));
            }
        }
        // INVARIANT: the axes that are reduced have length 1, the others that of `shape`.
        kept.part(|view| view.broadcast(IxDyn(shape)).expect("it fits"))
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor<T, D>, over: Over) -> Tensor<T, E> {
        SumOver::apply(grad_output, over)
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, E>, over: Over, shape: &[usize]) -> Tensor<T, D> {
        Self::apply(tangent_x, over, shape)
    }
}

/// Σ x · y over some axes, added pairwise, with no product kept.
///
/// ```
/// use autograd_core::{Tensor, Tensor1, kernels::Over, ndarray::Axis, ops::DotOver};
/// use autograd_core::ndarray::array;
///
/// let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]).set_requires_grad(true);
/// let y = Tensor::from(array![[1.0, 10.0], [1.0, 10.0]]);
/// let rows: Tensor1<f64> = DotOver::apply(&x, &y, Over::axis(Axis(1)));
/// assert_eq!(rows.to_array(), array![21.0, 43.0]);
/// rows.sum().backward()?;
/// assert_eq!(x.grad(), Some(y.to_array()));
/// # Ok::<(), autograd_core::Error>(())
/// ```
#[derive(Debug)]
pub struct DotOver<T, D, E>(PhantomData<(T, D, E)>);

#[custom_function(gradcheck(
    x = [2, 3], y = [2, 3], over = Over::axis(Axis(0)), E = ndarray::Ix1
))]
impl<T: Element, D: Dimension, E: Dimension> DotOver<T, D, E> {
    /// Σ x · y over some axes.
    ///
    /// # Panics
    /// If the shapes differ, if there are not all of the axes, or the result has another rank than `E`.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, y: ArrayView<T, D>, over: Over) -> Array<T, E> {
        kernels::dot_over(&x, &y, over)
    }

    #[backward(x)]
    fn grad_x(grad_output: &Tensor<T, E>, y: &Tensor<T, D>, over: Over) -> Tensor<T, D> {
        grad_output.repeat_over::<D>(over, y.shape()) * y
    }

    #[backward(y)]
    fn grad_y(grad_output: &Tensor<T, E>, x: &Tensor<T, D>, over: Over) -> Tensor<T, D> {
        grad_output.repeat_over::<D>(over, x.shape()) * x
    }

    #[jvp]
    fn jvp(
        tangent_x: Option<&Tensor<T, D>>,
        tangent_y: Option<&Tensor<T, D>>,
        x: &Tensor<T, D>,
        y: &Tensor<T, D>,
        over: Over,
    ) -> Option<Tensor<T, E>> {
        let along_x = tangent_x.map(|tangent| Self::apply(tangent, y, over));
        let along_y = tangent_y.map(|tangent| Self::apply(x, tangent, over));
        joined(along_x, along_y)
    }
}

methods!(
    SumOver::apply, SumOver::apply, [sum_axis, sum_keepdim, sum_axes, sum_axes_keepdim],
    "sum", of "[[1.0, 2.0], [3.0, 6.0]]": rows "[3.0, 9.0]", whole "12.0"
);

impl<T: Element, E: Dimension> Tensor<T, E> {
    /// The sum over `over`.
    #[track_caller]
    pub(in crate::ops) fn summed_over<D: Dimension>(&self, over: Over) -> Tensor<T, D> {
        SumOver::apply(self, over)
    }

    /// What a reduction over `over` of a tensor of `shape` gave, repeated to that shape, without a copy.
    #[track_caller]
    pub(in crate::ops) fn repeat_over<D: Dimension>(
        &self,
        over: Over,
        shape: &[usize],
    ) -> Tensor<T, D> {
        RepeatOver::apply(self, over, shape)
    }
}
