use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Square;

#[custom_function]
impl Square {
    #[forward]
    pub fn forward(&self, x: ArrayView1<f32>) -> Array1<f32> {
        &x * &x
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> {
        &grad_output * &x * 2.0
    }
}

fn main() {}
