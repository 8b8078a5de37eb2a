use pullback::ndarray::{Array2, ArrayView2};
use pullback::prelude::*;

type Matrix<'a> = ArrayView2<'a, f64>;

pub struct Double;

#[custom_function]
impl Double {
    #[forward]
    pub fn forward(x: Matrix<'_>) -> Array2<f64> {
        &x * 2.0
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView2<f64>) -> Array2<f64> {
        &grad_output * 2.0
    }
}

fn main() {}
