//! The elements of tensors as real numbers: `f64` itself, and `f32` with operators beside `f64`.

use std::cmp::Ordering;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::{Real, sealed};
use crate::element::Element;
use crate::math;

/// An element as a real number.
#[doc(hidden)]
pub trait Number<T>: Real {
    /// Returns the element as a number.
    fn of(element: T) -> Self;

    /// Returns the number as an element.
    fn element(self) -> T;
}

impl Number<Self> for f64 {
    #[inline(always)]
    fn of(element: Self) -> Self {
        element
    }

    #[inline(always)]
    fn element(self) -> Self {
        self
    }
}

impl Number<f32> for Single {
    #[inline(always)]
    fn of(element: f32) -> Self {
        Self(element)
    }

    #[inline(always)]
    fn element(self) -> f32 {
        self.0
    }
}

/// An `f32` beside which an `f64` is rounded to one: the standard library has no such operators.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Single(f32);

impl From<f64> for Single {
    #[inline(always)]
    fn from(value: f64) -> Self {
        Self(f32::from_f64(value))
    }
}

impl Neg for Single {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl Sum for Single {
    #[inline(always)]
    fn sum<I: Iterator<Item = Self>>(numbers: I) -> Self {
        numbers.fold(Self(0.0), Add::add)
    }
}

macro_rules! operators {
    ($($Trait:ident $method:ident $Assign:ident $assign:ident $sign:tt;)*) => {$(
        impl $Trait for Single {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self(self.0 $sign other.0)
            }
        }

        impl $Trait<f64> for Single {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: f64) -> Self {
                self $sign Self::from(other)
            }
        }

        impl $Trait<Single> for f64 {
            type Output = Single;

            #[inline(always)]
            fn $method(self, other: Single) -> Single {
                Single::from(self) $sign other
            }
        }

        impl $Assign for Single {
            #[inline(always)]
            fn $assign(&mut self, other: Self) {
                *self = *self $sign other;
            }
        }

        impl $Assign<f64> for Single {
            #[inline(always)]
            fn $assign(&mut self, other: f64) {
                *self = *self $sign other;
            }
        }
    )*};
}

operators! {
    Add add AddAssign add_assign +;
    Sub sub SubAssign sub_assign -;
    Mul mul MulAssign mul_assign *;
    Div div DivAssign div_assign /;
}

impl PartialEq<f64> for Single {
    #[inline(always)]
    fn eq(&self, other: &f64) -> bool {
        *self == Self::from(*other)
    }
}

impl PartialOrd<f64> for Single {
    #[inline(always)]
    fn partial_cmp(&self, other: &f64) -> Option<Ordering> {
        self.partial_cmp(&Self::from(*other))
    }
}

/// Implements the functions, by those of `kernels` where it has one.
macro_rules! functions {
    (
        $Number:ty, $float:ident, |$wrapped:ident| $wrap:expr, |$x:ident| $unwrap:expr;
        ours: $($ours:ident = $path:path),*; std: $($std:ident),*;
    ) => {
        impl sealed::Sealed for $Number {
            #[inline(always)]
            fn is_zero(&self) -> bool {
                *self == 0.0
            }

            #[inline(always)]
            fn unless(self, is_zero: bool) -> Self {
                if is_zero { Self::from(0.0) } else { self }
            }
        }

        impl Real for $Number {
            $(
                #[inline(always)]
                fn $ours(self) -> Self {
                    let $x = self;
                    let $wrapped = $path($unwrap);
                    $wrap
                }
            )*

            $(
                #[inline(always)]
                fn $std(self) -> Self {
                    let $x = self;
                    let $wrapped = $float::$std($unwrap);
                    $wrap
                }
            )*

            #[inline(always)]
            fn powi(self, n: i32) -> Self {
                let $x = self;
                let x = $unwrap;
                // Products, which are vector code, where the power is known.
                let $wrapped = match n {
                    0 => 1.0,
                    1 => x,
                    2 => x * x,
                    3 => x * x * x,
                    4 => (x * x) * (x * x),
                    -1 => 1.0 / x,
                    -2 => 1.0 / (x * x),
                    _ => $float::powi(x, n),
                };
                $wrap
            }

            #[inline(always)]
            fn powf(self, p: impl Into<Self>) -> Self {
                let $x = p.into();
                let p = $unwrap;
                let $x = self;
                let $wrapped = $float::powf($unwrap, p);
                $wrap
            }

            #[inline(always)]
            fn atan2(self, x: impl Into<Self>) -> Self {
                let $x = x.into();
                let x = $unwrap;
                let $x = self;
                let $wrapped = $float::atan2($unwrap, x);
                $wrap
            }

            #[inline(always)]
            fn hypot(self, y: impl Into<Self>) -> Self {
                let $x = y.into();
                let y = $unwrap;
                let $x = self;
                let $wrapped = $float::hypot($unwrap, y);
                $wrap
            }

            #[inline(always)]
            fn max(self, other: impl Into<Self>) -> Self {
                let other = other.into();
                // NaN alone differs from itself.
                if self > other || self != self { self } else { other }
            }

            #[inline(always)]
            fn min(self, other: impl Into<Self>) -> Self {
                let other = other.into();
                // NaN alone differs from itself.
                if self < other || self != self { self } else { other }
            }
        }
    };
}

macro_rules! both {
    ($($functions:tt)*) => {
        functions! { f64, f64, |wrapped| wrapped, |x| x; $($functions)* }
        functions! { Single, f32, |wrapped| Single(wrapped), |x| x.0; $($functions)* }
    };
}

both! {
    ours: exp = math::exp, exp_m1 = math::exp_m1, ln = math::ln, ln_1p = math::ln_1p, tanh = math::tanh,
        sigmoid = math::sigmoid, softplus = math::activations::softplus, erf = math::erf, gelu = math::gelu,
        normal_cdf = math::normal_cdf, normal_pdf = math::normal_pdf;
    std: sqrt, cbrt, recip, abs, signum, floor, ceil, round, round_ties_even, sin, cos, tan, asin, acos, atan, sinh, cosh, asinh, acosh, atanh;
}
