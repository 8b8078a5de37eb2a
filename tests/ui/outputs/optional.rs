use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Id;

#[custom_function]
impl Id {
    #[forward]
    pub fn forward(x: ArrayView1<f64>) -> Option<Array1<f64>> {
        Some(x.to_owned())
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> {
        grad_output.to_owned()
    }
}

fn main() {}
