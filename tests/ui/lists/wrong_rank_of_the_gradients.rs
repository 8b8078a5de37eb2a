use pullback::ndarray::{Array1, Array2, ArrayView1};
use pullback::prelude::*;

pub struct Join;

#[custom_function]
impl Join {
    #[forward]
    pub fn forward(parts: &[ArrayView1<f64>]) -> Array1<f64> {
        parts.iter().fold(Array1::zeros(1), |sum, part| sum + part)
    }

    #[backward(parts)]
    fn backward(grad_output: ArrayView1<f64>) -> Vec<Array2<f64>> {
        todo!("{grad_output}")
    }
}

fn main() {}
