use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Scale;

#[custom_function]
impl Scale {
    #[forward]
    fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> {
        &x * factor
    }

    #[backward]
    fn backward(grad_output: ArrayView1<f64>, factor: f64) -> (Array1<f64>, Option<Array1<f64>>) {
        (&grad_output * factor, None)
    }
}

fn main() {}
