use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Relu;

#[custom_function]
impl Relu {
    #[forward(outputs(y, mask), non_differentiable(maks))]
    pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
        (x.to_owned(), x.to_owned())
    }

    #[backward(x)]
    fn backward(grad_y: ArrayView1<f64>, grad_mask: ArrayView1<f64>) -> Array1<f64> {
        &grad_y * &grad_mask
    }
}

fn main() {}
