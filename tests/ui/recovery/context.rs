use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

pub struct Scaled;

// One mistake, which leaves open what is saved: the fields of the context are not reported too.
#[custom_function]
impl Scaled {
    #[forward(outputs(y), saves(factors))]
    pub fn forward(
        x: ArrayView1<f64>,
        w: Option<ArrayView1<f64>>,
        rate: f64,
    ) -> (Array1<f64>, Array1<f64>) {
        let factors = w.map_or_else(|| Array1::ones(x.len()), |w| w.mapv(f64::exp));
        (&x * &factors * rate, factors)
    }

    #[backward(x)]
    fn grad_x(grad_y: ArrayView1<f64>, context: &ScaledContext) -> Array1<f64> {
        &grad_y * &factors(context)
    }

    #[backward(w)]
    fn grad_w(
        grad_y: ArrayView1<f64>,
        w: ArrayView1<f64>,
        x: ArrayView1<f64>,
        factors: ArrayView2<f64>,
        rate: f64,
    ) -> Array1<f64> {
        &grad_y * &x * &factors * rate
    }
}

fn factors(context: &ScaledContext) -> Array1<f64> {
    assert!(context.x.is_some() && context.w.is_some());
    context.factors.as_ref().unwrap().to_array() * *context.rate.as_deref().unwrap()
}

fn main() {}
