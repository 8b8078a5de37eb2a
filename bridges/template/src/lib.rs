//! The functions of the module: its list is at the end.

use pullback::ndarray::{Array2, ArrayView2};
use pullback::prelude::*;

/// y = x / √(1 + (x/limit)²)
#[custom_function(elementwise, gradcheck(x = [2, 3], limit = [2, 1] in 0.5..2.0))]
pub fn squash<T: Real>(x: T, limit: T) -> T {
    x / (1.0 + (x / limit).powi(2)).sqrt()
}

/// y = c·x w. In the gradients, values are references, and with `higher_order` arrays are tensors.
#[custom_function(
    higher_order,
    shapes(x = [n, i], w = [i, o], output = [n, o]),
    grad(x) = grad_output.matmul(&w.t()) * *scale,
    grad(w) = x.t().matmul(grad_output) * *scale,
    gradcheck(n = 2, i = 3, o = 4, scale = 2.5),
)]
pub fn product(x: ArrayView2<f64>, w: ArrayView2<f64>, scale: f64) -> Array2<f64> {
    x.dot(&w) * scale
}

pullback_python::module! { template: product, squash }
