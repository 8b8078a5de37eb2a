use pullback::ndarray::Array1;
use pullback::prelude::*;

#[custom_function(grad(x) = &grad_output * 2.0)]
pub fn double(x: &Array1<f64>) -> Array1<f64> {
    x * 2.0
}

fn main() {}
