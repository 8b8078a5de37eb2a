use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

#[custom_function(
    grad(parts) = parts.iter().map(|_| grad_output.to_owned()).collect(),
    gradcheck(parts = [3]),
)]
pub fn sum(parts: &[ArrayView1<f64>]) -> Array1<f64> {
    parts.iter().fold(Array1::zeros(3), |sum, part| sum + part)
}

fn main() {}
