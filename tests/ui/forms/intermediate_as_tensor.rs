use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Norm;

#[custom_function]
impl Norm {
    #[forward(outputs(y), saves(scaled))]
    pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
        (x.to_owned(), &x * 2.0)
    }

    #[backward(x)]
    fn backward(grad_y: &Tensor1<f64>, scaled: &Tensor1<f64>) -> Tensor1<f64> {
        grad_y * scaled
    }
}

fn main() {}
