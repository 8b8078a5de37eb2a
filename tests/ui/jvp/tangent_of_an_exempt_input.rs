use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Product;

#[custom_function]
impl Product {
    #[forward]
    pub fn forward(x: ArrayView1<f32>, #[non_differentiable] mask: ArrayView1<f32>) -> Array1<f32> {
        &x * &mask
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f32>, mask: ArrayView1<f32>) -> Array1<f32> {
        &grad_output * &mask
    }

    #[jvp]
    fn jvp(tangent_x: ArrayView1<f32>, tangent_mask: ArrayView1<f32>) -> Array1<f32> {
        &tangent_x * &tangent_mask
    }
}

fn main() {}
