//! The mean over some axes.

use ndarray::Dimension;

use super::{SumAxes, methods};
use crate::Element;
use crate::kernels::Axes;
use crate::tensor::Tensor;

#[track_caller]
fn mean_over<T: Element, D: Dimension, E: Dimension>(x: &Tensor<T, D>, axes: Axes) -> Tensor<T, E> {
    let sum: Tensor<T, E> = SumAxes::apply(x, axes);
    let count = axes.count(x.shape()) as f64;
    sum / T::from_f64(count)
}

methods!(
    mean_over, [mean_axis, mean_axes, mean_keepdim],
    "mean", of "[[1.0, 2.0], [3.0, 6.0]]": rows "[1.5, 4.5]"
);
