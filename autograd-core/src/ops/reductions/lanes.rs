//! Gathering one element of each lane, and its reverse.

use ndarray::{ArcArray, Axis, Dimension, IxDyn};

use crate::Element;
use crate::kernels::Axes;
use crate::ops::{Gather, ScatterAdd, zeros};
use crate::tensor::Tensor;

/// Returns the elements at `indices` along the one axis of `axes`, one of each lane in row-major order, in the shape of
/// a reduction.
#[track_caller]
pub(in crate::ops) fn gather<T: Element, D: Dimension, E: Dimension>(
    x: &Tensor<T, D>,
    indices: &[usize],
    axes: Axes,
) -> Tensor<T, E> {
    let (axis, indices) = shaped(indices, axes, x.shape());
    // The sum of one element each, to remove the axis.
    Gather::apply(x, axis, indices).sum_to_axes(axes)
}

/// Returns zeros of `shape`, with the elements of `x`, which has the shape of a reduction, at `indices` along the one
/// axis of `axes`.
#[track_caller]
pub(in crate::ops) fn scatter<T: Element, E: Dimension, D: Dimension>(
    x: &Tensor<T, E>,
    indices: &[usize],
    axes: Axes,
    shape: &[usize],
) -> Tensor<T, D> {
    let (axis, indices) = shaped(indices, axes, shape);
    let x: Tensor<T, D> = x.expand(axes, indices.shape());
    ScatterAdd::apply(zeros(shape), axis, indices, &x)
}

/// Returns the axis, and the indices with length 1 along it.
#[track_caller]
fn shaped(indices: &[usize], axes: Axes, shape: &[usize]) -> (Axis, ArcArray<usize, IxDyn>) {
    // INVARIANT: functions that save indices reduce one axis, and save one index for each lane.
    let axis = axes.single().expect("one axis");
    let shape = axes.keepdim().shape("indices", shape);
    let indices = ArcArray::from_shape_vec(&shape[..], indices.to_vec());
    (axis, indices.expect("an index for each lane"))
}
