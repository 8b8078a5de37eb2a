//! Initial values of parameters.

mod draw;
pub(crate) mod orthogonal;
pub(crate) mod scaled;

use rand_core::Rng;

use autograd_core::Element;
use autograd_core::ndarray::{Array, Dimension, IntoDimension};

/// Draws numbers uniformly from `low` to `high`. Rounded to `f32`, a number may be `high`.
///
/// # Panics
/// If `low` or `high` is not finite, or `low` is larger than `high`.
#[track_caller]
pub fn uniform<T: Element, S: IntoDimension>(
    shape: S,
    low: f64,
    high: f64,
    generator: &mut impl Rng,
) -> Array<T, S::Dim> {
    assert!(
        low.is_finite() && high.is_finite() && low <= high,
        "uniform from {low} to {high}: the bounds must be finite and in order"
    );
    filled(shape, || {
        let share = draw::unit(generator);
        // A difference of the bounds could overflow.
        low * (1.0 - share) + high * share
    })
}

/// Draws numbers from the normal distribution with this mean and standard deviation.
///
/// # Panics
/// If `mean` or `std` is not finite, or `std` is negative.
#[track_caller]
pub fn normal<T: Element, S: IntoDimension>(
    shape: S,
    mean: f64,
    std: f64,
    generator: &mut impl Rng,
) -> Array<T, S::Dim> {
    is_normal("normal", mean, std);
    filled(shape, || draw::standard_normal(generator) * std + mean)
}

/// Draws numbers from the normal distribution with this mean and standard deviation, truncated to `low` … `high`.
/// PyTorch's `trunc_normal_`.
///
/// The bounds may be infinite, or far from the mean. Each number takes one draw, whatever the bounds.
///
/// # Panics
/// If `mean` or `std` is not finite, `std` is negative, or `low` is not below `high`.
///
/// ```
/// use pullback::nn::{Generator, init};
///
/// let mut generator = Generator::seed(7);
/// let drawn = init::truncated_normal::<f32, _>(1000, 0.0, 0.02, -0.04, 0.04, &mut generator);
/// assert!(drawn.iter().all(|x| x.abs() <= 0.04));
/// ```
#[track_caller]
pub fn truncated_normal<T: Element, S: IntoDimension>(
    shape: S,
    mean: f64,
    std: f64,
    low: f64,
    high: f64,
    generator: &mut impl Rng,
) -> Array<T, S::Dim> {
    is_normal("truncated_normal", mean, std);
    assert!(
        low < high,
        "truncated_normal between {low} and {high}: `low` must be below `high`"
    );
    let [mut from, mut to] = [low, high].map(|bound| (bound - mean) / std);
    // Shares close to 1 have few digits left, so numbers above the mean are drawn as mirror images.
    let mirrored = from > 0.0;
    if mirrored {
        (from, to) = (-to, -from);
    }
    let first = share_below(from);
    let width = share_below(to) - first;
    filled(shape, || {
        let number = draw::quantile(first + width * draw::inner_unit(generator));
        let number = if mirrored { -number } else { number };
        (number * std + mean).clamp(low, high)
    })
}

/// Returns the share of the standard normal distribution below `x`.
fn share_below(x: f64) -> f64 {
    if x <= 0.0 {
        draw::share_below(x)
    } else {
        1.0 - draw::share_below(-x)
    }
}

#[track_caller]
fn is_normal(function: &str, mean: f64, std: f64) {
    assert!(
        mean.is_finite() && std.is_finite() && std >= 0.0,
        "{function} with the mean {mean} and the standard deviation {std}: both must be finite, and the deviation at least 0"
    );
}

/// Creates an array of drawn numbers, in row-major order.
fn filled<T: Element, S: IntoDimension>(
    shape: S,
    mut draw: impl FnMut() -> f64,
) -> Array<T, S::Dim> {
    Array::from_shape_simple_fn(shape.into_dimension(), || T::from_f64(draw()))
}

/// Returns the lengths of a shape.
fn lengths<D: Dimension>(shape: &D) -> &[usize] {
    shape.slice()
}
