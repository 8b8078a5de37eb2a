use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Take;

#[custom_function]
impl Take {
    #[forward]
    pub fn forward(x: ArrayView1<f64>, indices: Array1<usize>) -> Array1<f64> {
        indices.mapv(|index| x[index])
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>, indices: ArrayView1<usize>) -> Array1<f64> {
        let _ = indices;
        grad_output.to_owned()
    }
}

fn main() {}
