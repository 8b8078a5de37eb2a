use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Scale;

#[custom_function]
impl Scale {
    #[forward]
    pub fn forward(x: ArrayView1<f64>, weight: Option<&Array1<f64>>) -> Array1<f64> {
        weight.map_or_else(|| x.to_owned(), |weight| &x * weight)
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>, weight: Option<&Array1<f64>>) -> Array1<f64> {
        weight.map_or_else(|| grad_output.to_owned(), |weight| &grad_output * weight)
    }

    #[jvp]
    fn jvp(tangent_x: ArrayView1<f64>, tangent_weight: Option<ArrayView1<f64>>) -> Array1<f64> {
        let _ = tangent_weight;
        tangent_x.to_owned()
    }
}

fn main() {}
