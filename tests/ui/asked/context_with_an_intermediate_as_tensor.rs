use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Scaled;

#[custom_function]
impl Scaled {
    #[forward(outputs(y), saves(factors))]
    pub fn forward(x: ArrayView1<f64>, w: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
        let factors = w.mapv(f64::exp);
        (&x * &factors, factors)
    }

    #[backward(x)]
    fn grad_x(grad_y: &Tensor1<f64>, context: &ScaledContext) -> Tensor1<f64> {
        grad_y * context.factors.as_ref().unwrap()
    }

    #[backward(w)]
    fn grad_w(
        grad_y: ArrayView1<f64>,
        x: ArrayView1<f64>,
        factors: ArrayView1<f64>,
    ) -> Array1<f64> {
        &grad_y * &x * &factors
    }
}

fn main() {}
