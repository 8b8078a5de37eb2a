use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Relu;

#[custom_function]
impl Relu {
    #[forward(outputs(y, index))]
    pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, usize) {
        (x.to_owned(), 0)
    }

    #[backward(x)]
    fn backward(grad_y: ArrayView1<f64>, grad_index: usize) -> Array1<f64> {
        let _ = grad_index;
        grad_y.to_owned()
    }
}

fn main() {}
