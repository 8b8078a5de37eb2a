//! Functions of one number that a processor can compute for a row of numbers at once.
//!
//! They are written without branches, calls or conversions between numbers of different sizes, and always
//! inlined, so that the loops of [`map`](super::map) become vector code. A number alone has the same result as in a
//! row, on every processor: there are no fused operations, which some processors lack.

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
mod polynomial;

use crate::element::{Any, Element, Family};

/// A number of either type.
struct Number;

impl Family for Number {
    type Of<T: Element> = T;
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
    /// use pullback::kernels::{exp, ln_1p, map};
    /// use pullback::ndarray::array;
    ///
    /// let x = array![0.0, 1.0, f64::NEG_INFINITY];
    /// assert_eq!(map(&x.view(), exp), array![1.0, std::f64::consts::E, 0.0]);
    /// let softplus = map(&x.view(), |x| ln_1p(exp(x)));
    /// assert_eq!(softplus[2], 0.0);
    /// ```
    exp = exponential;

    /// Returns eˣ − 1, to two units in the last place near zero too.
    exp_m1 = exponential;

    /// Returns ln x, to one unit in the last place; NaN for negative numbers.
    ln = logarithm;

    /// Returns ln(1 + x), to two units in the last place near zero too.
    ln_1p = logarithm;

    /// Returns tanh x, to two units in the last place.
    tanh = exponential;

    /// Returns 1 / (1 + e⁻ˣ), to three units in the last place.
    sigmoid = exponential;

    /// Returns the error function, 2/√π ∫₀ˣ e^(−t²) dt, to two units in the last place.
    erf = gaussian;

    /// Returns Φ(x), the distribution function of the standard normal distribution, to a few units in the last place,
    /// in both tails.
    normal_cdf = gaussian;

    /// Returns φ(x) = e^(−x²/2) / √(2π), the density of the standard normal distribution.
    normal_pdf = gaussian;

    /// Returns x Φ(x), where Φ is the distribution function of the standard normal distribution, to a few units in the
    /// last place.
    gelu = gaussian;

    /// Returns the derivative of [`gelu`], Φ(x) + x φ(x).
    gelu_derivative = gaussian;
}

#[cfg(test)]
mod tests;
