use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

#[custom_function]
pub trait Square {
    #[forward]
    fn forward(x: ArrayView1<f32>) -> Array1<f32>;
}

fn main() {}
