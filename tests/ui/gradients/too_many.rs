use pullback::ndarray::{Array1, Array2, ArrayView2};
use pullback::prelude::*;

pub struct Linear;

#[custom_function]
impl Linear {
    #[forward]
    pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> {
        input.dot(&weight.t())
    }

    #[backward]
    fn backward(grad_output: ArrayView2<f32>) -> (Array2<f32>, Array2<f32>, Array1<f32>) {
        todo!("{grad_output}")
    }
}

fn main() {}
