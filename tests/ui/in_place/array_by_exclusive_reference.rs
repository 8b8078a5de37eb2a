use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Scale;

#[custom_function]
impl Scale {
    #[forward]
    pub fn forward(x: &mut Array1<f64>, factor: ArrayView1<f64>) -> Array1<f64> {
        *x *= &factor;
        x.clone()
    }

    #[backward(factor)]
    fn backward(grad_output: Array1<f64>) -> Array1<f64> {
        grad_output
    }
}

fn main() {}
