use pullback::ndarray::{Array2, ArrayView2};
use pullback::prelude::*;

pub struct Linear;

#[custom_function]
impl Linear {
    #[forward]
    pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> {
        input.dot(&weight.t())
    }

    #[backward(input)]
    fn grad_input(grad_output: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> {
        grad_output.dot(&weight)
    }

    #[backward]
    fn all(grad_output: ArrayView2<f32>) -> (Array2<f32>, Array2<f32>) {
        (grad_output.to_owned(), grad_output.to_owned())
    }
}

fn main() {}
