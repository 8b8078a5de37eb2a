use pullback::ndarray::{Array, ArrayView, Dimension};
use pullback::prelude::*;

#[custom_function(
    higher_order,
    grad(x) = grad_output.clone(),
    grad(y) = grad_output.clone(),
    gradcheck(x = [3], y = [1, 3]),
)]
pub fn add<D: Dimension>(x: ArrayView<f64, D>, y: ArrayView<f64, D>) -> Array<f64, D> {
    &x + &y
}

fn main() {}
