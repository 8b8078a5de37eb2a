use pullback::ndarray::{Array1, ArrayViewMut1};
use pullback::prelude::*;

pub struct Double;

#[custom_function]
impl Double {
    #[forward]
    pub fn forward(mut x: ArrayViewMut1<f64>) {
        x *= 2.0;
    }

    #[backward(x)]
    fn backward(mut grad_output: ArrayViewMut1<f64>) -> Array1<f64> {
        grad_output *= 2.0;
        grad_output.to_owned()
    }
}

fn main() {}
