use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Square;

#[custom_function]
impl Square {
    #[forward]
    pub fn forward(output: ArrayView1<f32>) -> Array1<f32> {
        &output * &output
    }

    #[backward(output)]
    fn backward(grad_output: ArrayView1<f32>, output: ArrayView1<f32>) -> Array1<f32> {
        &grad_output * &output * 2.0
    }
}

fn main() {}
