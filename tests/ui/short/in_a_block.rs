use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Scale;

#[custom_function(
    grad(x) = &grad_output * *factor,
    higher_order,
    outputs(y),
)]
impl Scale {
    #[forward]
    pub fn forward(x: ArrayView1<f32>, factor: f32) -> Array1<f32> {
        &x * factor
    }

    #[backward(x)]
    fn backward(grad_output: Array1<f32>, factor: f32) -> Array1<f32> {
        grad_output * factor
    }
}

fn main() {}
