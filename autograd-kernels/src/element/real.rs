//! [`Real`], the number type of formulas: for elements of tensors, and for numbers that carry derivatives.

#![allow(
    clippy::inline_always,
    reason = "a loop is vector code only if all of its body is in it"
)]

use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// The number type of an elementwise function, under `#[custom_function(elementwise)]`.
///
/// Such a function is compiled for elements of tensors and for numbers that carry derivatives. It may use the operators
/// `+ - * /` with numbers of its type and with `f64` on either side, comparisons with an `f64` on the right, and the
/// functions below. Their other arguments may be `f64` too, but the `n` of `powi` is an `i32`. `T::from(0.0)` makes a
/// number.
///
/// The derivative of a function is documented where it is not obvious: at a kink, or at the edge of the domain.
///
/// ```
/// use pullback::Real;
///
/// fn hypotenuse<T: Real>(x: T, y: T) -> T {
///     (x.square() + y.square()).sqrt()
/// }
/// assert_eq!(hypotenuse(3.0, 4.0), 5.0);
///
/// // Of an `f64`, outside of a formula, the functions are called by the name of the trait.
/// assert_eq!(Real::softplus(1000.0), 1000.0); // no overflow
/// assert_eq!(Real::ln_1p(1e-20), 1e-20); // exact near 0
/// assert_eq!(Real::clamp(3.0, 0.0, 1.0), 1.0);
/// assert_eq!((Real::round(2.5), Real::round_ties_even(2.5)), (3.0, 2.0));
/// assert_eq!((Real::leaky_relu(-3.0, 0.5), Real::gelu(20.0)), (-1.5, 20.0));
/// ```
pub trait Real:
    Copy
    + Debug
    + Send
    + Sync
    + 'static
    + From<f64>
    + Neg<Output = Self>
    + Add<Output = Self>
    + Add<f64, Output = Self>
    + Sub<Output = Self>
    + Sub<f64, Output = Self>
    + Mul<Output = Self>
    + Mul<f64, Output = Self>
    + Div<Output = Self>
    + Div<f64, Output = Self>
    + AddAssign
    + AddAssign<f64>
    + SubAssign
    + SubAssign<f64>
    + MulAssign
    + MulAssign<f64>
    + DivAssign
    + DivAssign<f64>
    + PartialOrd
    + PartialOrd<f64>
    + Sum
    + sealed::Sealed
{
    /// Returns eˣ.
    #[must_use]
    fn exp(self) -> Self;

    /// Returns eˣ − 1, exact near 0 too.
    #[must_use]
    fn exp_m1(self) -> Self;

    /// Returns ln x.
    #[must_use]
    fn ln(self) -> Self;

    /// Returns ln(1 + x), exact near 0 too.
    #[must_use]
    fn ln_1p(self) -> Self;

    /// Returns xⁿ for a whole n; the derivative is 0 for n = 0. For a negative n it is 1/x⁻ⁿ, as that of std: where x⁻ⁿ is
    /// infinite, 0 in place of a number below the smallest normal one.
    #[must_use]
    fn powi(self, n: i32) -> Self;

    /// Returns xᵖ. The derivative with respect to x is 0 for p = 0; the derivative with respect to p is 0 where xᵖ is
    /// 0.
    #[must_use]
    fn powf(self, p: impl Into<Self>) -> Self;

    /// Returns √x; the derivative is infinite at 0.
    #[must_use]
    fn sqrt(self) -> Self;

    /// Returns ∛x; the derivative is infinite at 0.
    #[must_use]
    fn cbrt(self) -> Self;

    /// Returns 1/x.
    #[must_use]
    fn recip(self) -> Self;

    /// Returns |x|, with the derivative 0 at 0.
    #[must_use]
    fn abs(self) -> Self;

    /// Returns 1 for positive numbers and +0, −1 for negative numbers and −0; the derivative is 0.
    #[must_use]
    fn signum(self) -> Self;

    /// Returns the largest whole number ≤ x; the derivative is 0.
    #[must_use]
    fn floor(self) -> Self;

    /// Returns the smallest whole number ≥ x; the derivative is 0.
    #[must_use]
    fn ceil(self) -> Self;

    /// Returns the nearest whole number, halves rounded away from 0; the derivative is 0.
    #[must_use]
    fn round(self) -> Self;

    /// Returns the nearest whole number, halves rounded to even; the derivative is 0.
    #[must_use]
    fn round_ties_even(self) -> Self;

    /// Returns whether the number is NaN, such as one that is missing in data.
    ///
    /// ```
    /// use pullback::Real;
    ///
    /// fn known<T: Real>(x: T, otherwise: T) -> T {
    ///     if x.is_nan() { otherwise } else { x }
    /// }
    /// assert_eq!(known(f64::NAN, 2.0), 2.0);
    /// ```
    #[must_use]
    #[cfg_attr(optimized, inline(always))]
    #[expect(clippy::eq_op, reason = "NaN alone differs from itself")]
    fn is_nan(self) -> bool {
        self != self
    }

    /// Returns x as a constant, with the derivative 0 of every order.
    ///
    /// A number with a derivative of another: its value is exactly that of `hard`, its derivative that of `soft`.
    ///
    /// ```
    /// use pullback::Real;
    ///
    /// /// Whether a number is positive, with the derivative of a smooth step.
    /// fn spike<T: Real>(x: T) -> T {
    ///     let hard = if x > 0.0 { T::from(1.0) } else { T::from(0.0) };
    ///     let soft = (x * 25.0).sigmoid();
    ///     hard + (soft - soft.detach())
    /// }
    /// assert_eq!(spike(0.01), 1.0);
    /// ```
    #[must_use]
    fn detach(self) -> Self;

    /// Returns sin x.
    #[must_use]
    fn sin(self) -> Self;

    /// Returns cos x.
    #[must_use]
    fn cos(self) -> Self;

    /// Returns tan x.
    #[must_use]
    fn tan(self) -> Self;

    /// Returns arcsin x; the derivative is infinite at −1 and 1.
    #[must_use]
    fn asin(self) -> Self;

    /// Returns arccos x; the derivative is infinite at −1 and 1.
    #[must_use]
    fn acos(self) -> Self;

    /// Returns arctan x.
    #[must_use]
    fn atan(self) -> Self;

    /// Returns the angle of the point (x, `self`), between −π and π; the derivatives are NaN at (0, 0).
    #[must_use]
    fn atan2(self, x: impl Into<Self>) -> Self;

    /// Returns sinh x.
    #[must_use]
    fn sinh(self) -> Self;

    /// Returns cosh x.
    #[must_use]
    fn cosh(self) -> Self;

    /// Returns tanh x.
    #[must_use]
    fn tanh(self) -> Self;

    /// Returns arsinh x.
    #[must_use]
    fn asinh(self) -> Self;

    /// Returns arcosh x; the derivative is infinite at 1.
    #[must_use]
    fn acosh(self) -> Self;

    /// Returns artanh x; the derivative is infinite at −1 and 1.
    #[must_use]
    fn atanh(self) -> Self;

    /// Returns 1 / (1 + e⁻ˣ).
    #[must_use]
    fn sigmoid(self) -> Self;

    /// Returns ln(1 + eˣ), which never overflows.
    #[must_use]
    fn softplus(self) -> Self;

    /// Returns the error function, 2/√π ∫₀ˣ e^(−t²) dt.
    #[must_use]
    fn erf(self) -> Self;

    /// Returns Φ(x) = ½ (1 + erf(x/√2)), the distribution function of the standard normal distribution, to the same
    /// relative error in both tails.
    #[must_use]
    fn normal_cdf(self) -> Self;

    /// Returns φ(x) = e^(−x²/2) / √(2π), the density of the standard normal distribution.
    #[must_use]
    fn normal_pdf(self) -> Self;

    /// Returns x Φ(x).
    #[must_use]
    fn gelu(self) -> Self;

    /// Returns √(x² + y²) without overflow; the derivatives are 0 at (0, 0).
    #[must_use]
    fn hypot(self, y: impl Into<Self>) -> Self;

    /// Returns the larger of two numbers, NaN if one is NaN; the derivative is shared equally where both are the same.
    #[must_use]
    fn max(self, other: impl Into<Self>) -> Self;

    /// Returns the smaller of two numbers, NaN if one is NaN; the derivative is shared equally where both are the same.
    #[must_use]
    fn min(self, other: impl Into<Self>) -> Self;

    /// Returns the number limited to the range from `min` to `max`, with the derivative 1 at the bounds; `max` if `min`
    /// is larger.
    #[must_use]
    #[cfg_attr(optimized, inline(always))]
    fn clamp(self, min: impl Into<Self>, max: impl Into<Self>) -> Self {
        let (min, max) = (min.into(), max.into());
        let raised = if self < min { min } else { self };
        if raised > max { max } else { raised }
    }

    /// Returns `self` · a + b, rounded twice.
    #[must_use]
    #[cfg_attr(optimized, inline(always))]
    fn mul_add(self, a: impl Into<Self>, b: impl Into<Self>) -> Self {
        self * a.into() + b.into()
    }

    /// Returns x².
    #[must_use]
    #[cfg_attr(optimized, inline(always))]
    fn square(self) -> Self {
        self * self
    }

    /// Returns 1/√x.
    #[must_use]
    #[cfg_attr(optimized, inline(always))]
    fn rsqrt(self) -> Self {
        self.sqrt().recip()
    }

    /// Returns max(x, 0), with the derivative 0 at 0.
    #[must_use]
    #[cfg_attr(optimized, inline(always))]
    fn relu(self) -> Self {
        if self <= 0.0 { Self::from(0.0) } else { self }
    }

    /// Returns x where it is positive and slope · x elsewhere, with the derivative `slope` at 0.
    #[must_use]
    #[cfg_attr(optimized, inline(always))]
    fn leaky_relu(self, slope: impl Into<Self>) -> Self {
        let left = self * slope.into();
        if self > 0.0 { self } else { left }
    }

    /// Returns x where it is positive and α(eˣ − 1) elsewhere, with the derivative α at 0.
    #[must_use]
    #[cfg_attr(optimized, inline(always))]
    fn elu(self, alpha: impl Into<Self>) -> Self {
        let left = self.exp_m1() * alpha.into();
        if self > 0.0 { self } else { left }
    }

    /// Returns x / (1 + e⁻ˣ).
    #[must_use]
    #[cfg_attr(optimized, inline(always))]
    fn silu(self) -> Self {
        self * self.sigmoid()
    }

    /// Returns ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))).
    #[must_use]
    #[cfg_attr(optimized, inline(always))]
    fn gelu_tanh(self) -> Self {
        let [linear, cubic] = GELU_TANH;
        let x = Real::clamp(self, -GELU_TANH_BOUND, GELU_TANH_BOUND);
        self * (x * (x * x * cubic + linear)).sigmoid()
    }
}

/// √(8/π), and that times 0.044715.
pub const GELU_TANH: [f64; 2] = [1.595_769_121_605_730_7, 0.071_354_816_272_600_25];

/// Beyond this bound the sigmoid in the approximation of gelu is exactly 0 or 1: its slope is 0, whatever power of x
/// it is multiplied by.
pub const GELU_TANH_BOUND: f64 = 100.0;

/// An `f64` on the left of numbers of type `T`: `1.0 + x`. There are no comparisons: with a second type that an `f64`
/// can be compared with, `assert_eq!(array, Array::zeros(3))` would no longer compile anywhere.
///
/// The macro adds this bound to a formula, as `f64: Literal<T>`. A bound on `T` itself could not express it.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "an `f64` cannot be on the left of a `{T}` here",
    note = "a formula can call functions under `#[custom_function(elementwise)]`, as `TheirName::formula(…)`"
)]
pub trait Literal<T>:
    Add<f64, Output = f64>
    + Add<T, Output = T>
    + Sub<f64, Output = f64>
    + Sub<T, Output = T>
    + Mul<f64, Output = f64>
    + Mul<T, Output = T>
    + Div<f64, Output = f64>
    + Div<T, Output = T>
{
}

impl<T> Literal<T> for f64 where
    Self: Add<Self, Output = Self>
        + Add<T, Output = T>
        + Sub<T, Output = T>
        + Mul<T, Output = T>
        + Div<T, Output = T>
{
}

/// A number that carries no derivatives.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a derivative of this function is given by `grad(…) = …`, which a formula that calls it would lose",
    label = "its `formula` is for `f64` alone",
    note = "apply the function to tensors instead"
)]
pub trait Plain: Real {}

impl Plain for f64 {}

pub(crate) mod sealed {
    use std::cmp::Ordering;
    use std::ops::{Add, Mul, Neg};

    /// Loops are compiled for these types alone, and are right for all of them.
    pub trait Sealed {
        /// Whether comparisons are recorded: a formula that compares is replayed in each course that lanes take.
        const IS_RECORDED: bool = false;

        /// Returns the part of the derivative of a maximum that is this number's: 1 if it is larger than the other, or NaN,
        /// 1/2 if both are the same, and 0 if it is smaller.
        #[must_use]
        #[cfg_attr(optimized, inline(always))]
        fn share(self, other: Self) -> Self
        where
            Self: Copy + PartialOrd + From<f64>,
        {
            Self::from(match self.partial_cmp(&other) {
                Some(Ordering::Less) => 0.0,
                Some(Ordering::Equal) => 0.5,
                None if self.partial_cmp(&self).is_some() => 0.0,
                Some(Ordering::Greater) | None => 1.0,
            })
        }

        /// Returns whether the number and all of its tangents are 0.
        fn is_zero(&self) -> bool;

        /// Returns the number without tangents.
        fn plain(self) -> f64;

        /// Returns the number, or 0 with the same tangents present: their presence must not depend on values.
        #[must_use]
        fn unless(self, is_zero: bool) -> Self;

        /// Returns the first number or the second, without a branch: both are there.
        #[must_use]
        fn chosen(is_first: bool, first: Self, second: Self) -> Self;

        /// Returns a tangent times a slope; 0 where the tangent is 0, which stands for a direction that is missing: an
        /// infinite slope must not make NaN of it.
        #[must_use]
        #[cfg_attr(optimized, inline(always))]
        fn pulled(self, slope: Self) -> Self
        where
            Self: Copy + Mul<Output = Self>,
        {
            (self * slope).unless(self.is_zero())
        }

        /// Returns a quotient times the reciprocal of its divisor, which is infinite where that is tiny; 0 where the
        /// quotient is.
        #[must_use]
        #[cfg_attr(optimized, inline(always))]
        fn times_recip(self, recip: Self) -> Self
        where
            Self: Copy + Mul<Output = Self>,
        {
            self.pulled(recip)
        }

        /// Returns 1 − x², exact near −1 and 1, with the derivative −2x: that of the product would not be exact near 0.
        #[must_use]
        #[cfg_attr(optimized, inline(always))]
        fn within_one(self) -> Self
        where
            Self: Copy + Neg<Output = Self> + Add<f64, Output = Self> + Mul<Output = Self>,
        {
            (-self + 1.0) * (self + 1.0)
        }

        /// Returns 1/(1 + x²), with the derivative 0 where x² is out of range: that of the square, 2x, may be too, and
        /// times a slope of 0 no number.
        #[must_use]
        #[cfg_attr(optimized, inline(always))]
        fn lorentzian(self) -> Self
        where
            Self: super::Real,
        {
            (self * self + 1.0).recip()
        }

        /// Returns e^(−x²), with the derivative 0 where x² is out of range.
        #[must_use]
        #[cfg_attr(optimized, inline(always))]
        fn gaussian(self) -> Self
        where
            Self: super::Real,
        {
            (-(self * self)).exp()
        }
    }
}
