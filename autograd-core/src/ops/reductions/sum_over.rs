//! Σx and Σ x · y over some axes, and repeating along them: each is used in a gradient of the others.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Axis, Dimension, IxDyn};

use super::methods;
use crate::kernels::Axes;
use crate::ops::add_tangents;
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// The sum over some axes, added pairwise.
#[derive(Debug)]
pub struct SumAxes<T, D, E>(PhantomData<(T, D, E)>);

#[custom_function(gradcheck(x = [2, 3, 2], axes = Axes::of(&[0, 2]), E = ndarray::Ix1))]
impl<T: Element, D: Dimension, E: Dimension> SumAxes<T, D, E> {
    /// Returns Σx over some axes.
    ///
    /// # Panics
    /// If one of the axes does not exist, or the rank of the result is not that of `E`.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, axes: Axes) -> Array<T, E> {
        kernels::sum_over(&x, axes)
    }

    #[adjoint(x)]
    fn adjoint(grad_output: &Tensor<T, E>, axes: Axes, shape_x: &[usize]) -> Tensor<T, D> {
        Expand::forward(grad_output, axes, shape_x)
    }
}

/// The result of a reduction, repeated to the shape of its input, without a copy.
#[derive(Debug)]
pub struct Expand<T, E, D>(PhantomData<(T, E, D)>);

#[custom_function(gradcheck(
    x = [3], axes = Axes::of(&[0, 2]), shape = &[2, 3, 2], D = ndarray::Ix3
))]
impl<T: Element, E: Dimension, D: Dimension> Expand<T, E, D> {
    /// Returns a view of `x` as `shape`.
    ///
    /// # Panics
    /// If `x` does not have the shape of a reduction of `shape`, or the rank of `D` is not that of `shape`.
    #[forward]
    #[track_caller]
    pub fn forward(x: &Tensor<T, E>, axes: Axes, shape: &[usize]) -> Tensor<T, D> {
        let reduced = axes.shape("expand", shape);
        assert!(
            x.shape() == &reduced[..],
            "expand of shape {:?}: a reduction of {shape:?} has shape {reduced}",
            x.shape()
        );
        let mut view = x.clone().into_dyn();
        if x.ndim() != shape.len() {
            for axis in (0..shape.len()).filter(|&axis| axes.contains(axis)) {
                view = view.part(|view| view.clone().insert_axis(Axis(axis)));
            }
        }
        // INVARIANT: the axes that are reduced have length 1, the others that of `shape`.
        view.part(|view| view.broadcast(IxDyn(shape)).expect("it fits"))
    }

    #[adjoint(x)]
    fn adjoint(grad_output: ArrayView<T, D>, axes: Axes) -> Array<T, E> {
        SumAxes::forward(grad_output, axes)
    }
}

/// Σ x · y over some axes, added pairwise, without the products in memory.
#[derive(Debug)]
pub struct DotAxes<T, D, E>(PhantomData<(T, D, E)>);

#[custom_function(gradcheck(
    x = [2, 3], y = [2, 3], axes = Axes::one(Axis(0)), E = ndarray::Ix1
))]
impl<T: Element, D: Dimension, E: Dimension> DotAxes<T, D, E> {
    /// Returns Σ x · y over some axes.
    ///
    /// # Panics
    /// If the shapes differ, one of the axes does not exist, or the rank of the result is not that of `E`.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, y: ArrayView<T, D>, axes: Axes) -> Array<T, E> {
        kernels::dot_axes(&x, &y, axes)
    }

    #[backward(x)]
    fn grad_x(grad_output: &Tensor<T, E>, y: &Tensor<T, D>, axes: Axes) -> Tensor<T, D> {
        grad_output.expand::<D>(axes, y.shape()) * y
    }

    #[backward(y)]
    fn grad_y(grad_output: &Tensor<T, E>, x: &Tensor<T, D>, axes: Axes) -> Tensor<T, D> {
        grad_output.expand::<D>(axes, x.shape()) * x
    }

    #[jvp]
    fn jvp(
        tangent_x: Option<&Tensor<T, D>>,
        tangent_y: Option<&Tensor<T, D>>,
        x: &Tensor<T, D>,
        y: &Tensor<T, D>,
        axes: Axes,
    ) -> Option<Tensor<T, E>> {
        let along_x = tangent_x.map(|tangent| Self::apply(tangent, y, axes));
        let along_y = tangent_y.map(|tangent| Self::apply(x, tangent, axes));
        add_tangents(along_x, along_y)
    }
}

methods!(
    SumAxes::apply, [sum_axis, sum_axes, sum_keepdim],
    "sum", of "[[1.0, 2.0], [3.0, 6.0]]": rows "[3.0, 9.0]"
);

impl<T: Element, E: Dimension> Tensor<T, E> {
    /// Returns the sum over `axes`.
    #[track_caller]
    pub(in crate::ops) fn sum_to_axes<D: Dimension>(&self, axes: Axes) -> Tensor<T, D> {
        SumAxes::apply(self, axes)
    }

    /// Returns the result of a reduction over `axes` of a tensor of `shape`, repeated to that shape, without a copy.
    #[track_caller]
    pub(in crate::ops) fn expand<D: Dimension>(&self, axes: Axes, shape: &[usize]) -> Tensor<T, D> {
        Expand::apply(self, axes, shape)
    }
}
