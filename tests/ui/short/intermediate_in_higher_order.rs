use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

#[custom_function(
    higher_order,
    outputs(y),
    saves(root),
    grad(x) = grad_y / root * 0.5,
)]
pub fn sqrt(x: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) {
    let y = x.mapv(f32::sqrt);
    (y.clone(), y)
}

fn main() {}
