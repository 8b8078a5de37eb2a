use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

#[custom_function(grad(x) = grad_output.mapv(|grad| grad * 2.0))]
pub fn map(x: ArrayView1<f32>, f: impl Fn(f32) -> f32) -> Array1<f32> {
    x.mapv(f)
}

fn main() {}
