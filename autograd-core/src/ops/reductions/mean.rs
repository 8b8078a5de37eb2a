//! The mean over some axes: the sum, divided.

use ndarray::Dimension;

use super::{SumOver, methods};
use crate::kernels::Over;
use crate::{Element, Tensor};

#[track_caller]
fn mean_over<T: Element, D: Dimension, E: Dimension>(x: &Tensor<T, D>, over: Over) -> Tensor<T, E> {
    let sum: Tensor<T, E> = SumOver::apply(x, over);
    let count = over.count(x.shape()) as f64;
    sum / T::from_f64(count)
}

methods!(
    mean_over, mean_over, [mean_axis, mean_keepdim, mean_axes, mean_axes_keepdim],
    "mean", of "[[1.0, 2.0], [3.0, 6.0]]": rows "[1.5, 4.5]", whole "3.0"
);
