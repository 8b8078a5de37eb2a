use pullback::ndarray::{Array1, ArrayView1, ArrayViewMut1};
use pullback::prelude::*;

pub struct Double;

#[custom_function]
impl Double {
    #[forward]
    pub fn forward(x: Option<ArrayViewMut1<f64>>, y: ArrayView1<f64>) -> Array1<f64> {
        if let Some(mut x) = x {
            x *= 2.0;
        }
        y.to_owned()
    }

    #[backward]
    fn backward(grad_output: ArrayView1<f64>) -> (Option<Array1<f64>>, Array1<f64>) {
        (None, grad_output.to_owned())
    }
}

fn main() {}
