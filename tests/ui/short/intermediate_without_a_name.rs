use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

#[custom_function(grad(x) = &grad_output / &q * -(nu + 1.0) / *nu)]
pub fn student_t(x: ArrayView1<f64>, nu: f64) -> (Array1<f64>, Array1<f64>) {
    let q = x.mapv(|x| 1.0 + x * x / nu);
    (q.mapv(|q| -(nu + 1.0) / 2.0 * q.ln()), q)
}

fn main() {}
