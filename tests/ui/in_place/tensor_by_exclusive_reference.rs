use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Double;

#[custom_function]
impl Double {
    #[forward]
    pub fn forward(y: ArrayView1<f64>, x: &mut Tensor1<f64>) -> Array1<f64> {
        *x = Tensor::from(y);
        y.to_owned()
    }

    #[backward(y)]
    fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> {
        &grad_output * 2.0
    }
}

fn main() {}
