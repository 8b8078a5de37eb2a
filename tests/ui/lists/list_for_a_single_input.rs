use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Join;

#[custom_function]
impl Join {
    #[forward]
    pub fn forward(x: ArrayView1<f64>, y: ArrayView1<f64>) -> Array1<f64> {
        &x + &y
    }

    #[backward]
    fn backward(grad_output: ArrayView1<f64>) -> Vec<Array1<f64>> {
        vec![grad_output.to_owned(), grad_output.to_owned()]
    }
}

fn main() {}
