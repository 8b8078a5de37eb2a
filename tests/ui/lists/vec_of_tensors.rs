use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Add;

#[custom_function]
impl Add {
    #[forward]
    pub fn forward(x: ArrayView1<f64>, others: Vec<Tensor1<f64>>) -> Array1<f64> {
        others
            .iter()
            .fold(x.to_owned(), |sum, other| sum + other.view())
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> {
        grad_output.to_owned()
    }
}

fn main() {}
