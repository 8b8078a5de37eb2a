use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Product;

#[custom_function]
impl Product {
    #[forward]
    pub fn forward(x: ArrayView1<f32>, weight: ArrayView1<f32>) -> Array1<f32> {
        &x * &weight
    }

    #[backward]
    fn backward(
        grad_output: ArrayView1<f32>,
        x: ArrayView1<f32>,
        weight: ArrayView1<f32>,
    ) -> (Array1<f32>, Array1<f32>) {
        (&grad_output * &weight, &grad_output * &x)
    }

    #[jvp]
    fn jvp(tangent_x: ArrayView1<f32>, tangent_weight: ArrayView1<f32>) -> f32 {
        tangent_x.sum() + tangent_weight.sum()
    }
}

fn main() {}
