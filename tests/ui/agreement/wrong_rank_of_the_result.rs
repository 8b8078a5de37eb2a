use pullback::ndarray::{Array1, Array2, ArrayView1};
use pullback::prelude::*;

pub struct Square;

#[custom_function]
impl Square {
    #[forward]
    pub fn forward(x: ArrayView1<f32>) -> Array1<f32> {
        &x * &x
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array2<f32> {
        let _ = x;
        Array2::zeros((grad_output.len(), 1))
    }
}

fn main() {}
