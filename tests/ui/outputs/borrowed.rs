use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Id;

#[custom_function]
impl Id {
    #[forward]
    pub fn forward(x: ArrayView1<'static, f64>) -> ArrayView1<'static, f64> {
        x
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> {
        grad_output.to_owned()
    }
}

fn main() {}
