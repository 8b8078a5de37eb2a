//! Products, convolutions and pooling.

use pullback::ndarray::{ArrayD, Dimension, Ix2};
use pullback::prelude::*;

use super::rows::{Row, placed, row};

pub fn rows<T: Element>() -> Vec<Row<T>> {
    vec![row(
        "matmul",
        &[
            &[&[2, 3], &[3, 4]],
            &[&[0, 3], &[3, 4]],
            &[&[2, 0], &[0, 4]],
            &[&[1, 1], &[1, 0]],
        ],
        |x| {
            ranked::<T, Ix2>(&x[0])
                .matmul(&ranked::<T, Ix2>(&x[1]))
                .into_dyn()
        },
        |x| product(&x[0], &x[1]),
    )]
}

/// An input as a function of one rank takes it.
fn ranked<T: Element, D: Dimension>(x: &TensorD<T>) -> Tensor<T, D> {
    x.clone()
        .into_dimensionality()
        .expect("the function's rank")
}

fn product(x: &ArrayD<f64>, y: &ArrayD<f64>) -> ArrayD<f64> {
    let inner = x.shape()[1];
    placed(&[x.shape()[0], y.shape()[1]], |place| {
        let terms = (0..inner).map(|k| x[[place[0], k]] * y[[k, place[1]]]);
        terms.sum()
    })
}
