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

mod arcs;
mod exponential;
mod gaussian;
mod hyperbolic;
mod logarithm;
mod polynomial;
mod power;
mod quarter_turns;
mod roots;
mod trigonometric;

use crate::element::{Any, Element, Family};

/// Functions of angles that are NaN beyond [`NEAR`](near::NEAR). Up to there they take a third of the time and return the
/// same.
pub(crate) mod near {
    pub(crate) use super::quarter_turns::NEAR;
    pub(crate) use super::trigonometric::double_near as double;
    pub(crate) use super::trigonometric::single_near as single;
}

/// A number of either type.
struct Number;

impl Family for Number {
    type Of<T: Element> = T;
}

macro_rules! functions {
    ($($(#[$docs:meta])* $name:ident = $module:ident;)*) => {$(
        $(#[$docs])*
        #[cfg_attr(optimized, inline(always))]
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

/// Two numbers of either type.
struct Pair;

impl Family for Pair {
    type Of<T: Element> = (T, T);
}

macro_rules! functions_of_two {
    ($($(#[$docs:meta])* $name:ident($x:ident, $y:ident) = $module:ident;)*) => {$(
        $(#[$docs])*
        #[cfg_attr(optimized, inline(always))]
        pub fn $name<T: Element>($x: T, $y: T) -> T {
            let result = match T::into_any::<Pair>(($x, $y)) {
                Any::F32((x, y)) => Any::F32($module::single::$name(x, y)),
                Any::F64((x, y)) => Any::F64($module::double::$name(x, y)),
            };
            // INVARIANT: the result is of the type that the numbers were of.
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
    /// let x = array![0.0, 2.0_f64.ln(), f64::NEG_INFINITY];
    /// assert_eq!(map(&x.view(), |x| exp(x)), array![1.0, 2.0, 0.0]);
    /// let entropies = map(&x.view(), |x| -x * exp(x));
    /// assert_eq!(entropies[0], 0.0);
    /// ```
    exp = exponential;

    /// Returns eˣ − 1, to three units in the last place near zero too.
    exp_m1 = exponential;

    /// Returns ln x, to one unit in the last place; NaN for negative numbers.
    ln = logarithm;

    /// Returns ln(1 + x), to two units in the last place near zero too.
    ln_1p = logarithm;

    /// Returns tanh x, to three units in the last place.
    tanh = exponential;

    /// Returns 1 / (1 + e⁻ˣ), to three units in the last place.
    sigmoid = exponential;

    /// Returns ln(1 + eˣ), to three units in the last place; it never overflows.
    softplus = exponential;

    /// Returns the error function, 2/√π ∫₀ˣ e^(−t²) dt, to two units in the last place.
    erf = gaussian;

    /// Returns Φ(x), the distribution function of the standard normal distribution, to eleven units in the last place,
    /// in both tails.
    normal_cdf = gaussian;

    /// Returns φ(x) = e^(−x²/2) / √(2π), the density of the standard normal distribution.
    normal_pdf = gaussian;

    /// Returns x Φ(x), where Φ is the distribution function of the standard normal distribution, to eleven units in the
    /// last place.
    gelu = gaussian;

    /// Returns the derivative of [`gelu`], Φ(x) + x φ(x).
    gelu_derivative = gaussian;

    /// Returns sin x, to two units in the last place for numbers of any size; NaN for infinite ones.
    ///
    /// ```
    /// use pullback::kernels::{cos, map, sin};
    /// use pullback::ndarray::array;
    ///
    /// let x = array![0.0, -0.0, std::f64::consts::PI];
    /// assert_eq!(map(&x.view(), sin)[2], 1.224_646_799_147_353_2e-16);
    /// assert_eq!(map(&x.view(), cos), array![1.0, 1.0, -1.0]);
    /// ```
    sin = trigonometric;

    /// Returns cos x, to two units in the last place for numbers of any size; NaN for infinite ones.
    cos = trigonometric;

    /// Returns tan x, to two units in the last place for numbers of any size; NaN for infinite ones.
    tan = trigonometric;

    /// Returns arcsin x, to two units in the last place; NaN outside of −1 to 1.
    asin = arcs;

    /// Returns arccos x, to two units in the last place; NaN outside of −1 to 1.
    acos = arcs;

    /// Returns arctan x, to two units in the last place.
    atan = arcs;

    /// Returns sinh x, to two units in the last place.
    sinh = hyperbolic;

    /// Returns cosh x, to two units in the last place.
    cosh = hyperbolic;

    /// Returns arsinh x, to four units in the last place.
    asinh = hyperbolic;

    /// Returns arcosh x, to four units in the last place; NaN below 1.
    acosh = hyperbolic;

    /// Returns artanh x, to four units in the last place; NaN outside of −1 to 1.
    atanh = hyperbolic;

    /// Returns ∛x, to one unit in the last place.
    cbrt = roots;
}

functions_of_two! {
    /// Returns xᵖ, to one unit in the last place; NaN for a negative x if p is not whole.
    ///
    /// ```
    /// use pullback::kernels::{map, powf};
    /// use pullback::ndarray::array;
    ///
    /// let x = array![2.0, -2.0, 0.0];
    /// assert_eq!(map(&x.view(), |x| powf(x, 3.0)), array![8.0, -8.0, 0.0]);
    /// ```
    powf(x, p) = power;

    /// Returns the angle of the point (x, y), between −π and π, to two units in the last place.
    ///
    /// ```
    /// use pullback::kernels::{atan2, hypot};
    ///
    /// let (x, y) = (-3.0, 3.0);
    /// assert_eq!(atan2(y, x), 0.75 * std::f64::consts::PI);
    /// assert_eq!(hypot(x, y), 18_f64.sqrt());
    /// ```
    atan2(y, x) = arcs;

    /// Returns √(x² + y²), to two units in the last place, without overflow.
    hypot(x, y) = roots;
}

#[cfg(test)]
mod tests;
