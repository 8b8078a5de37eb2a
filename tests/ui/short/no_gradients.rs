use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

#[custom_function]
pub fn square(x: ArrayView1<f32>) -> Array1<f32> {
    &x * &x
}

fn main() {}
