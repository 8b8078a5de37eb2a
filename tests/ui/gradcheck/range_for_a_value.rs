use pullback::ndarray::{Array2, ArrayView2};
use pullback::prelude::*;

pub struct Linear;

#[custom_function(gradcheck(input = [3, 4] in -1.0..1.0, weight = [5, 4], scale = 2.0 in 1.0..2.0))]
impl Linear {
    #[forward]
    pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>, scale: f32) -> Array2<f32> {
        input.dot(&weight.t()) * scale
    }

    #[backward(input)]
    fn grad_input(grad_output: ArrayView2<f32>, weight: ArrayView2<f32>, scale: f32) -> Array2<f32> {
        grad_output.dot(&weight) * scale
    }

    #[backward(weight)]
    fn grad_weight(grad_output: ArrayView2<f32>, input: ArrayView2<f32>, scale: f32) -> Array2<f32> {
        grad_output.t().dot(&input) * scale
    }
}

fn main() {}
