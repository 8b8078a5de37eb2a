use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Mask;

#[custom_function]
impl Mask {
    #[forward]
    pub fn forward(x: ArrayView1<f64>, #[non_differentiable] mask: ArrayView1<f64>) -> Array1<f64> {
        &x * &mask
    }

    #[backward(x, mask)]
    fn backward(grad_output: ArrayView1<f64>, mask: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
        (&grad_output * &mask, grad_output.to_owned())
    }
}

fn main() {}
