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
    grad(x) = grad_output.matmul(&w.t()) * T::from_f64(*scale),
    grad(w) = x.t().matmul(grad_output) * T::from_f64(*scale),
    gradcheck(n = 2, i = 3, o = 4, scale = 2.5),
)]
pub fn product<T: Element>(x: ArrayView2<T>, w: ArrayView2<T>, scale: f64) -> Array2<T> {
    x.dot(&w) * T::from_f64(scale)
}

pullback_python::module! { template: product, squash }
