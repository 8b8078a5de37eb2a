//! The functions that travel: as a user writes them, and without a word of where they will be used.

use pullback::ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use pullback::prelude::*;

/// y = x / √(1 + (x/limit)²)
///
/// Leaves small numbers as they are and lets none exceed `limit`.
#[custom_function(elementwise, gradcheck(x = [2, 3], limit = [2, 1] in 0.5..2.0))]
pub fn squash<T: Real>(x: T, limit: T) -> T {
    x / (1.0 + (x / limit).powi(2)).sqrt()
}

/// The distance from the origin and the angle of points of the plane.
#[custom_function(elementwise, outputs(radius, angle), gradcheck(x = [4], y = [4]))]
pub fn polar<T: Real>(x: T, y: T) -> (T, T) {
    ((x * x + y * y).sqrt(), y.atan2(x))
}

/// y = x Wᵀ + b
#[custom_function(
    grad(input) = grad_output.dot(&weight),
    grad(weight) = grad_output.t().dot(&input),
    grad(bias) = grad_output.sum_axis(Axis(0)),
)]
pub fn linear(
    input: ArrayView2<f32>,
    weight: ArrayView2<f32>,
    bias: Option<ArrayView1<f32>>,
) -> Array2<f32> {
    let output = input.dot(&weight.t());
    match bias {
        Some(bias) => output + bias,
        None => output,
    }
}

/// y = c·x, with a constant that is not a tensor.
#[derive(Debug)]
pub struct MulConstant;

#[custom_function(gradcheck(tensor = [2, 3], constant = 2.5))]
impl MulConstant {
    /// Multiplies each element.
    #[forward]
    pub fn forward(tensor: ArrayView2<f64>, constant: f64) -> Array2<f64> {
        &tensor * constant
    }

    #[backward(tensor)]
    fn backward(grad_output: Array2<f64>, constant: f64) -> Array2<f64> {
        grad_output * constant
    }
}

/// The distances of the values to the smallest, and where that is: an output without a gradient.
#[custom_function(
    outputs(distances, place),
    grad(x) = {
        let mut grad = grad_distances.to_owned();
        grad[*place] -= grad_distances.sum();
        grad
    },
    gradcheck(x = [5]),
)]
pub fn above_smallest(x: ArrayView1<f64>) -> (Array1<f64>, usize) {
    let smaller = |best: usize, place: usize| if x[place] < x[best] { place } else { best };
    let place = (0..x.len()).fold(0, smaller);
    (&x - x[place], place)
}
