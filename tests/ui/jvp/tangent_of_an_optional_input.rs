use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Product;

#[custom_function]
impl Product {
    #[forward]
    pub fn forward(x: ArrayView1<f32>, bias: Option<ArrayView1<f32>>) -> Array1<f32> {
        bias.map_or_else(|| x.to_owned(), |bias| &x + &bias)
    }

    #[backward]
    fn backward(grad_output: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) {
        (grad_output.to_owned(), grad_output.to_owned())
    }

    #[jvp]
    fn jvp(tangent_x: ArrayView1<f32>, tangent_bias: ArrayView1<f32>) -> Array1<f32> {
        &tangent_x + &tangent_bias
    }
}

fn main() {}
