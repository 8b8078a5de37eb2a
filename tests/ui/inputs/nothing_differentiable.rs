use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Ones;

#[custom_function]
impl Ones {
    #[forward]
    pub fn forward(length: usize) -> Array1<f64> {
        Array1::ones(length)
    }

    #[backward]
    fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> {
        grad_output.to_owned()
    }
}

fn main() {}
