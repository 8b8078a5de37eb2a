use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Product;

#[custom_function]
impl Product {
    #[forward(outputs(sin, cos))]
    pub fn forward(x: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) {
        (x.mapv(f32::sin), x.mapv(f32::cos))
    }

    #[backward(x)]
    fn backward(
        grad_sin: ArrayView1<f32>,
        grad_cos: ArrayView1<f32>,
        sin: ArrayView1<f32>,
        cos: ArrayView1<f32>,
    ) -> Array1<f32> {
        &grad_sin * &cos - &grad_cos * &sin
    }

    #[jvp]
    fn jvp(tangent_x: ArrayView1<f32>, cos: ArrayView1<f32>) -> Array1<f32> {
        &tangent_x * &cos
    }
}

fn main() {}
