//! One element of each lane, and its reverse.

use ndarray::{ArcArray, Axis, Dimension, IxDyn};

use crate::kernels::Over;
use crate::ops::{Gather, ScatterAdd, zeros};
use crate::{Element, Tensor};

/// The elements at `places` along the axis of `over`, one of each lane in row-major order, as a reduction
/// gives them.
#[track_caller]
pub(in crate::ops) fn pick<T: Element, D: Dimension, E: Dimension>(
    x: &Tensor<T, D>,
    places: &[usize],
    over: Over,
) -> Tensor<T, E> {
    let (axis, places) = indices(places, over, x.shape());
    // The sum of one element each: the axis goes, or stays.
    Gather::apply(x, axis, places).summed_over(over)
}

/// Zeros of `shape`, with the elements of `x`, which a reduction gave, at `places` along the axis of `over`.
#[track_caller]
pub(in crate::ops) fn put<T: Element, E: Dimension, D: Dimension>(
    x: &Tensor<T, E>,
    places: &[usize],
    over: Over,
    shape: &[usize],
) -> Tensor<T, D> {
    let (axis, places) = indices(places, over, shape);
    let x: Tensor<T, D> = x.repeat_over(over, places.shape());
    ScatterAdd::apply(zeros(shape), axis, places, &x)
}

/// The axis, and the places as indices along it.
#[track_caller]
fn indices(places: &[usize], over: Over, shape: &[usize]) -> (Axis, ArcArray<usize, IxDyn>) {
    // INVARIANT: functions that say places are along one axis, and say one for each lane.
    let axis = over.only().expect("one axis");
    let shape = over.keepdim().shape("indices", shape);
    let places = ArcArray::from_shape_vec(&shape[..], places.to_vec());
    (axis, places.expect("a place for each lane"))
}
