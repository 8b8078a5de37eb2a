use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

#[custom_function(
    grad(x) = &grad_output * 2.0,
    gradcheck(x = [3], second_order, thorough = true, forward_mode(), eps = 1e-6),
)]
pub fn double(x: ArrayView1<f64>) -> Array1<f64> {
    &x * 2.0
}

fn main() {}
