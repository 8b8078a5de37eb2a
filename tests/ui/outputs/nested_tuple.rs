use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Split;

#[custom_function]
impl Split {
    #[forward(outputs(y, rest))]
    pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, (Array1<f64>, usize)) {
        (x.to_owned(), (x.to_owned(), 1))
    }

    #[backward(x)]
    fn backward(grad_y: ArrayView1<f64>) -> Array1<f64> {
        grad_y.to_owned()
    }
}

fn main() {}
