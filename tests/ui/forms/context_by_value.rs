use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Product;

#[custom_function]
impl Product {
    #[forward]
    pub fn forward(x: ArrayView1<f32>, w: ArrayView1<f32>) -> Array1<f32> {
        &x * &w
    }

    #[backward(x)]
    fn grad_x(grad_output: ArrayView1<f32>, context: ProductContext) -> Array1<f32> {
        &grad_output * &context.w.unwrap().view()
    }

    #[backward(w)]
    fn grad_w(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> {
        &grad_output * &x
    }
}

fn main() {}
