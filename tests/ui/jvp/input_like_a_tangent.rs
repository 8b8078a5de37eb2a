use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Product;

#[custom_function]
impl Product {
    #[forward]
    pub fn forward(x: ArrayView1<f32>, tangent_x: f32) -> Array1<f32> {
        &x * tangent_x
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f32>, tangent_x: f32) -> Array1<f32> {
        &grad_output * tangent_x
    }

    #[jvp]
    fn jvp(x: ArrayView1<f32>, tangent_x: ArrayView1<f32>) -> Array1<f32> {
        &x * &tangent_x
    }
}

fn main() {}
