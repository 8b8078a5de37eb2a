use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Square;

#[custom_function]
impl Square {
    #[forward]
    pub fn forward(x: ArrayView1<f32>) -> Array1<f32> {
        &x * &x
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f32>, context: &SquareContext) -> Array1<f32> {
        context
            .x
            .as_ref()
            .map_or_else(|| grad_output.to_owned(), |x| &grad_output * &x.view() * 2.0)
    }
}

fn main() {}
