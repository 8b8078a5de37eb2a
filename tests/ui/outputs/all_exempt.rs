use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Sign;

#[custom_function]
impl Sign {
    #[forward(non_differentiable(output))]
    pub fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        x.mapv(f64::signum)
    }

    #[backward(x, ignores_grad)]
    fn backward(x: ArrayView1<f64>) -> Array1<f64> {
        Array1::zeros(x.len())
    }
}

fn main() {}
