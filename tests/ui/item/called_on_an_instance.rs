use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Square;

#[custom_function]
impl Square {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        &x * &x
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
        &grad_output * &x * 2.0
    }
}

fn main() {
    let x = Tensor::from(Array1::ones(3));
    Square.apply(&x);
}
