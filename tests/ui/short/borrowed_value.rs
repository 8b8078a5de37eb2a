use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

#[custom_function(grad(x) = &grad_output * factors[0][0])]
pub fn scale(x: ArrayView1<f32>, factors: &[&[f32]]) -> Array1<f32> {
    &x * factors[0][0]
}

fn main() {}
