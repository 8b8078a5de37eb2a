use std::marker::PhantomData;

use pullback::ndarray::{Array1, ArrayView1, Dimension};
use pullback::prelude::*;

pub struct Scale<D>(PhantomData<D>);

#[custom_function(gradcheck(x = [3], rank = PhantomData, D = { pullback::ndarray::Ix1 }))]
impl<D: Dimension + Send + Sync + 'static> Scale<D> {
    #[forward]
    pub fn forward(x: ArrayView1<f64>, rank: PhantomData<D>) -> Array1<f64> {
        let _ = rank;
        x.to_owned()
    }

    #[backward(x)]
    fn backward(grad_output: Array1<f64>) -> Array1<f64> {
        grad_output
    }
}

fn main() {}
