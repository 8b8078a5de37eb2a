use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Product;

#[custom_function]
impl Product {
    #[forward(outputs(y, place))]
    pub fn forward(x: ArrayView1<f32>) -> (Array1<f32>, usize) {
        (x.to_owned(), x.len())
    }

    #[backward(x)]
    fn backward(grad_y: ArrayView1<f32>) -> Array1<f32> {
        grad_y.to_owned()
    }

    #[jvp]
    fn jvp(tangent_x: ArrayView1<f32>, place: usize) -> (Array1<f32>, usize) {
        (tangent_x.to_owned(), place)
    }
}

fn main() {}
