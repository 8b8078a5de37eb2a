//! One element of each lane, and its reverse.

use ndarray::{ArcArray, Axis, Dimension, IxDyn};

use crate::kernels::Axes;
use crate::ops::{Gather, ScatterAdd, zeros};
use crate::{Element, Tensor};

/// The elements at `places` along the axis of `over`, one of each lane in row-major order, as a reduction
/// gives them.
#[track_caller]
pub(in crate::ops) fn pick<T: Element, D: Dimension, E: Dimension>(
    x: &Tensor<T, D>,
    places: &[usize],
    axes: Axes,
) -> Tensor<T, E> {
    let (axis, places) = indices(places, axes, x.shape());
    // The sum of one element each: the axis goes, or stays.
    Gather::apply(x, axis, places).sum_to_axes(axes)
}

/// Zeros of `shape`, with the elements of `x`, which a reduction gave, at `places` along the axis of `over`.
#[track_caller]
pub(in crate::ops) fn put<T: Element, E: Dimension, D: Dimension>(
    x: &Tensor<T, E>,
    places: &[usize],
    axes: Axes,
    shape: &[usize],
) -> Tensor<T, D> {
    let (axis, places) = indices(places, axes, shape);
    let x: Tensor<T, D> = x.expand(axes, places.shape());
    ScatterAdd::apply(zeros(shape), axis, places, &x)
}

/// The axis, and the places as indices along it.
#[track_caller]
fn indices(places: &[usize], axes: Axes, shape: &[usize]) -> (Axis, ArcArray<usize, IxDyn>) {
    // INVARIANT: functions that say places are along one axis, and say one for each lane.
    let axis = axes.single().expect("one axis");
    let shape = axes.keepdim().shape("indices", shape);
    let places = ArcArray::from_shape_vec(&shape[..], places.to_vec());
    (axis, places.expect("a place for each lane"))
}
