use pullback::ndarray::{Array1, ArrayView1, ArrayViewMut1, array};
use pullback::prelude::*;

pub struct Double;

#[custom_function]
impl Double {
    #[forward]
    pub fn forward(mut x: ArrayViewMut1<f64>) {
        x *= 2.0;
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> {
        &grad_output * 2.0
    }
}

fn main() {
    let x = Tensor::from(array![1.0]);
    Double::apply(&mut x);
}
