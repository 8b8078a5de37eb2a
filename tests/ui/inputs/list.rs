use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Sum;

#[custom_function]
impl Sum {
    #[forward]
    pub fn forward(xs: &[ArrayView1<f64>], scale: ArrayView1<f64>) -> Array1<f64> {
        xs.iter().fold(scale.to_owned(), |sum, x| sum + x)
    }

    #[backward(scale)]
    fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> {
        grad_output.to_owned()
    }
}

fn main() {}
