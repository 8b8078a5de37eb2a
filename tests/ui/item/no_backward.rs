use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Square;

#[custom_function]
impl Square {
    #[forward]
    pub fn forward(x: ArrayView1<f32>) -> Array1<f32> {
        &x * &x
    }
}

fn main() {}
