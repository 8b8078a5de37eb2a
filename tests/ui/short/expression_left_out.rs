use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

#[custom_function(grad(x) = )]
pub fn scale(x: ArrayView1<f32>, factor: f32) -> Array1<f32> {
    &x * factor
}

fn main() {}
