use pullback::ndarray::{Array2, ArrayView2};
use pullback::prelude::*;

pub struct Scale;

#[custom_function]
impl Scale {
    #[forward]
    pub fn forward(x: &Array2<f64>, weight: ArrayView2<f64>) -> Array2<f64> {
        x * &weight
    }

    #[backward(x)]
    fn grad_x(grad_output: ArrayView2<f64>, weight: ArrayView2<f64>) -> Array2<f64> {
        &grad_output * &weight
    }

    #[backward(weight)]
    fn grad_weight(grad_output: ArrayView2<f64>, x: ArrayView2<f64>) -> Array2<f64> {
        &grad_output * &x
    }
}

fn main() {}
