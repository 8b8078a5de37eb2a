use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Argmax;

#[custom_function]
impl Argmax {
    #[forward]
    pub fn forward(x: ArrayView1<f64>) -> usize {
        x.len()
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> {
        grad_output.to_owned()
    }
}

fn main() {}
