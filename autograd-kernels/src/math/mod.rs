//! Functions of one number that a processor can compute for a row of numbers at once.
//!
//! They are written without branches, calls or conversions between numbers of different sizes, and always
//! inlined, so that the loops of [`map`](super::map) become vector code. They give the same for a number
//! alone as in a row, on every processor: no fused operations, which some of them lack.

#![allow(
    clippy::inline_always,
    reason = "a loop is vector code only if all of its body is in it"
)]
#![allow(
    clippy::excessive_precision,
    reason = "the compiler rounds them correctly"
)]
#![allow(
    clippy::cast_possible_truncation,
    reason = "results in double precision are rounded to single"
)]

#[doc(hidden)]
pub mod activations;
mod exponential;
mod gaussian;
mod logarithm;

use crate::element::{Any, Element, Family};

/// A number of either type.
struct Number;

impl Family for Number {
    type Of<T: Element> = T;
}

/// Returns c₀ + c₁x + c₂x² + …
#[inline(always)]
fn polynomial<T: Element, const N: usize>(x: T, coefficients: [T; N]) -> T {
    let highest = coefficients[N - 1];
    let lower = coefficients[..N - 1].iter().rev();
    lower.fold(highest, |sum, &coefficient| sum * x + coefficient)
}

macro_rules! functions {
    ($($(#[$docs:meta])* $name:ident = $module:ident;)*) => {$(
        $(#[$docs])*
        #[inline(always)]
        pub fn $name<T: Element>(x: T) -> T {
            // The element type is known at compile time.
            let result = match T::into_any::<Number>(x) {
                Any::F32(x) => Any::F32($module::single::$name(x)),
                Any::F64(x) => Any::F64($module::double::$name(x)),
            };
            // INVARIANT: the result is of the type that `x` was of.
            T::from_any::<Number>(result).expect("the same type")
        }
    )*};
}

functions! {
    /// Returns eˣ, to one unit in the last place.
    ///
    /// ```
    /// use pullback::kernels::{exp, map};
    /// use pullback::ndarray::array;
    ///
    /// let x = array![0.0, 1.0, f64::NEG_INFINITY];
    /// assert_eq!(map(&x.view(), exp), array![1.0, std::f64::consts::E, 0.0]);
    /// ```
    exp = exponential;

    /// Returns eˣ − 1, to two units in the last place near zero too.
    ///
    /// ```
    /// assert_eq!(pullback::kernels::exp_m1(1e-20), 1e-20);
    /// ```
    exp_m1 = exponential;

    /// Returns ln x, to one unit in the last place; NaN for negative numbers.
    ///
    /// ```
    /// assert_eq!(pullback::kernels::ln(1.0), 0.0);
    /// assert_eq!(pullback::kernels::ln(0.0), f64::NEG_INFINITY);
    /// ```
    ln = logarithm;

    /// Returns ln(1 + x), to two units in the last place near zero too.
    ///
    /// ```
    /// assert_eq!(pullback::kernels::ln_1p(1e-20), 1e-20);
    /// ```
    ln_1p = logarithm;

    /// Returns tanh x, to two units in the last place.
    ///
    /// ```
    /// assert_eq!(pullback::kernels::tanh(-1000.0), -1.0);
    /// ```
    tanh = exponential;

    /// Returns 1 / (1 + e⁻ˣ), to three units in the last place.
    ///
    /// ```
    /// assert_eq!(pullback::kernels::sigmoid(0.0), 0.5);
    /// ```
    sigmoid = exponential;

    /// Returns the error function, 2/√π ∫₀ˣ e^(−t²) dt, to two units in the last place.
    ///
    /// ```
    /// assert_eq!(pullback::kernels::erf(-10.0), -1.0);
    /// ```
    erf = gaussian;

    /// Returns Φ(x), the distribution function of the standard normal distribution, to a few units in the last place, in
    /// both tails.
    ///
    /// ```
    /// assert_eq!(pullback::kernels::normal_cdf(0.0), 0.5);
    /// ```
    normal_cdf = gaussian;

    /// Returns φ(x) = e^(−x²/2) / √(2π), the density of the standard normal distribution.
    ///
    /// ```
    /// assert_eq!(pullback::kernels::normal_pdf(100.0), 0.0);
    /// ```
    normal_pdf = gaussian;

    /// Returns x Φ(x), where Φ is the distribution function of the standard normal distribution, to a few units in the
    /// last place.
    ///
    /// ```
    /// assert_eq!(pullback::kernels::gelu(20.0), 20.0);
    /// assert_eq!(pullback::kernels::gelu(0.0), 0.0);
    /// ```
    gelu = gaussian;

    /// Returns the derivative of [`gelu`], Φ(x) + x φ(x).
    ///
    /// ```
    /// assert_eq!(pullback::kernels::gelu_derivative(0.0), 0.5);
    /// ```
    gelu_derivative = gaussian;
}

#[cfg(test)]
mod tests;
