use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct StudentT;

#[custom_function]
impl StudentT {
    #[forward]
    pub fn forward(x: ArrayView1<f64>, nu: f64) -> (Array1<f64>, Array1<f64>) {
        let q = x.mapv(|x| 1.0 + x * x / nu);
        (q.mapv(|q| -(nu + 1.0) / 2.0 * q.ln()), q)
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>, q: ArrayView1<f64>, nu: f64) -> Array1<f64> {
        &grad_output / &q * -(nu + 1.0) / nu
    }
}

fn main() {}
