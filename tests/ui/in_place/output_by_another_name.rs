use pullback::ndarray::{Array1, ArrayView1, ArrayViewMut1};
use pullback::prelude::*;

pub struct Double;

#[custom_function]
impl Double {
    #[forward]
    pub fn forward(mut x: ArrayViewMut1<f64>) -> Array1<f64> {
        let before = x.to_owned();
        x *= 2.0;
        before
    }

    #[backward(x)]
    fn backward(
        grad_output: ArrayView1<f64>,
        grad_x: ArrayView1<f64>,
        x_output: ArrayView1<f64>,
    ) -> Array1<f64> {
        let _ = x_output;
        &grad_output + &grad_x * 2.0
    }
}

fn main() {}
