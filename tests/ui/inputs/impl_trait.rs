use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Map;

#[custom_function]
impl Map {
    #[forward]
    pub fn forward(x: ArrayView1<f64>, f: impl Fn(f64) -> f64) -> Array1<f64> {
        x.mapv(f)
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> {
        grad_output.to_owned()
    }
}

fn main() {}
