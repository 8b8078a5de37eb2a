//! The mean over some axes.

use ndarray::Dimension;

use super::{SumAxes, methods};
use crate::Element;
use crate::basic::mean_of;
use crate::kernels::Axes;
use crate::tensor::Tensor;

#[track_caller]
pub(super) fn mean_over<T: Element, D: Dimension, E: Dimension>(
    x: &Tensor<T, D>,
    axes: Axes,
) -> Tensor<T, E> {
    // A mistake would be one of the sum.
    axes.check("mean", x.shape());
    let sums = SumAxes::apply(x, axes);
    mean_of(x, sums, axes.count(x.shape()), |x| SumAxes::apply(x, axes))
}

methods!(
    mean_over, [mean_axis, mean_axes, mean_keepdim],
    "mean", of "[[1.0, 2.0], [3.0, 6.0]]": rows "[1.5, 4.5]"
);
