use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Double;

#[custom_function]
impl Double {
    #[forward]
    pub fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        x[0] = 2.0;
        x.to_owned()
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> {
        &grad_output * 2.0
    }
}

fn main() {}
