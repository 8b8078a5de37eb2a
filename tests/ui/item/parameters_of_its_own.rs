use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Sum;

#[custom_function]
impl Sum {
    #[forward]
    pub fn forward<const N: usize>(x: ArrayView1<f64>, weights: [f64; N]) -> Array1<f64> {
        &x * weights.iter().sum::<f64>()
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> {
        grad_output.to_owned()
    }
}

fn main() {}
