//! The functions that travel: as a user writes them, and without a word of where they will be used.

use std::marker::PhantomData;

use pullback::ndarray::{
    Array, Array1, Array2, ArrayView, ArrayView1, ArrayView2, Axis, Dimension,
};
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

/// y = eˣ, of any rank and element type, differentiable any number of times.
#[derive(Debug)]
pub struct Exp<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Exp<T, D> {
    /// Returns eˣ of each element.
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        x.mapv(T::exp)
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
        grad_output * output
    }
}

/// The elements at `places`, of which each may be there several times.
#[custom_function(
    grad(x) = {
        let mut grad = Array1::zeros(x.len());
        for (&place, grad_output) in places.iter().zip(&grad_output) {
            grad[place] += grad_output;
        }
        grad
    },
    gradcheck(x = [4], places = &Array1::from(vec![1, 3, 1])),
)]
pub fn pick(x: ArrayView1<f64>, places: &Array1<usize>) -> Array1<f64> {
    places.mapv(|place| x[place])
}

/// The logarithms of positive numbers, in the base that is named: `e`, `2` or `10`.
///
/// # Errors
/// If it is another base.
#[custom_function(grad(x) = &grad_output / &x / ln_of_base(base).unwrap_or(1.0), gradcheck(x = [3] in 0.5..2.0, base = "2"))]
pub fn logarithm(x: ArrayView1<f64>, base: &str) -> Result<Array1<f64>, String> {
    let of_base = ln_of_base(base).ok_or_else(|| format!("there is no base {base}"))?;
    Ok(x.mapv(f64::ln) / of_base)
}

fn ln_of_base(base: &str) -> Option<f64> {
    match base {
        "e" => Some(1.0),
        "2" => Some(std::f64::consts::LN_2),
        "10" => Some(std::f64::consts::LN_10),
        _ => None,
    }
}
