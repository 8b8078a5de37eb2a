use pullback::ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use pullback::prelude::*;

pub struct Linear;

#[custom_function]
impl Linear {
    #[forward]
    pub fn forward(
        input: ArrayView2<f32>,
        weight: ArrayView2<f32>,
        bias: Option<ArrayView1<f32>>,
        scale: f32,
    ) -> Array2<f32> {
        let output = input.dot(&weight.t()) * scale;
        match bias {
            Some(bias) => output + bias,
            None => output,
        }
    }

    #[backward(input)]
    fn grad_input(grad_output: ArrayView2<f32>, wieght: ArrayView2<f32>) -> Array2<f32> {
        grad_output.dot(&wieght)
    }

    #[backward(weight)]
    fn grad_weight(grad_output: ArrayView2<f32>, input: ArrayView1<f32>) -> Array1<f32> {
        grad_output.t().dot(&input)
    }

    #[backward(scale)]
    fn grad_scale(grad_output: ArrayView2<f32>) -> f32 {
        grad_output.sum()
    }
}

fn main() {}
