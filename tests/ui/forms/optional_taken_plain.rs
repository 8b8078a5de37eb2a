use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Affine;

#[custom_function]
impl Affine {
    #[forward]
    pub fn forward(x: ArrayView1<f32>, bias: Option<ArrayView1<f32>>) -> Array1<f32> {
        bias.map_or_else(|| x.to_owned(), |bias| &x + &bias)
    }

    #[backward(x)]
    fn grad_x(grad_output: ArrayView1<f32>, bias: ArrayView1<f32>) -> Array1<f32> {
        &grad_output * &bias
    }

    #[backward(bias)]
    fn grad_bias(grad_output: ArrayView1<f32>) -> Array1<f32> {
        grad_output.to_owned()
    }
}

fn main() {}
