use pullback::ndarray::{Array2, ArrayView2};
use pullback::prelude::*;

#[custom_function(
    grad(input) = grad_output,
    grad(weight) = grad_output.t().dot(&input),
)]
pub fn linear(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> {
    input.dot(&weight.t())
}

fn main() {}
