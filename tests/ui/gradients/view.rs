use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Id;

#[custom_function]
impl Id {
    #[forward]
    pub fn forward(x: ArrayView1<f32>) -> Array1<f32> {
        x.to_owned()
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f32>) -> ArrayView1<f32> {
        grad_output
    }
}

fn main() {}
