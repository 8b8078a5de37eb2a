use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Settings {
    factor: f64,
}

pub struct Scale;

#[custom_function]
impl Scale {
    #[forward]
    pub fn forward(x: ArrayView1<f64>, settings: Settings) -> Array1<f64> {
        &x * settings.factor
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>, settings: &Settings) -> Array1<f64> {
        &grad_output * settings.factor
    }
}

fn main() {}
