use pullback::ndarray::{Array, ArrayView, ArrayView1, Dimension};
use pullback::prelude::*;

pub struct Exp<D>(std::marker::PhantomData<D>);

#[custom_function]
impl<D: Dimension> Exp<D> {
    #[forward]
    pub fn forward(x: ArrayView<f64, D>) -> Array<f64, D> {
        x.mapv(f64::exp)
    }

    #[backward(x)]
    fn backward(grad_output: Array<f64, D>, output: ArrayView1<f64>) -> Array<f64, D> {
        let _ = output;
        grad_output
    }
}

fn main() {}
