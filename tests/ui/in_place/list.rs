use pullback::ndarray::{Array1, ArrayView1, ArrayViewMut1};
use pullback::prelude::*;

pub struct Double;

#[custom_function]
impl Double {
    #[forward]
    pub fn forward(y: ArrayView1<f64>, xs: &mut [ArrayViewMut1<f64>]) -> Array1<f64> {
        for x in xs {
            *x *= 2.0;
        }
        y.to_owned()
    }

    #[backward(y)]
    fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> {
        &grad_output * 2.0
    }
}

fn main() {}
