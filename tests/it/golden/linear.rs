//! Products, convolutions and pooling.

use pullback::ndarray::{Dimension, Ix2};
use pullback::prelude::*;

use super::{Attributes, Function};

pub const MISSING: &[&str] = &[
    "avg_pool2d",
    "conv1d",
    "conv2d",
    "conv2d_groups",
    "linear",
    "matmul_batched",
    "matmul_vec",
    "max_pool2d",
];

pub fn function<T: Element>(op: &str, _: &Attributes) -> Option<Function<T>> {
    Some(match op {
        "matmul" => Box::new(|x| ranked::<T, Ix2>(&x[0]).matmul(&ranked(&x[1])).into_dyn()),
        _ => return None,
    })
}

/// An input as a function of one rank takes it.
fn ranked<T: Element, D: Dimension>(x: &TensorD<T>) -> Tensor<T, D> {
    x.clone()
        .into_dimensionality()
        .expect("the function's rank")
}
