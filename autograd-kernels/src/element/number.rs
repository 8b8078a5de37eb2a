//! Elements as real numbers: `f64` itself, `f32` with operators beside `f64`, and `f64` that is known not to be large.

#![allow(
    clippy::inline_always,
    reason = "a loop is vector code only if all of its body is in it"
)]

use std::cmp::Ordering;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::Element;
use super::real::Real;

/// An element as a real number.
#[doc(hidden)]
pub trait Number<T>: Real {
    /// Returns the element as a number.
    fn of(element: T) -> Self;

    /// Returns the number as an element.
    fn element(self) -> T;
}

impl Number<Self> for f64 {
    #[cfg_attr(optimized, inline(always))]
    fn of(element: Self) -> Self {
        element
    }

    #[cfg_attr(optimized, inline(always))]
    fn element(self) -> Self {
        self
    }
}

/// An `f32` with operators that round an `f64` to `f32`, which the standard library does not have.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Single(pub(crate) f32);

/// A [`Single`] whose functions of angles are NaN beyond [`NEAR`](crate::math::near::NEAR). Up to there they take half the
/// time and return the same.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct NearSingle(pub(crate) f32);

/// An `f64` whose functions of angles are NaN beyond [`NEAR`](crate::math::near::NEAR). Up to there they take a third of the
/// time and return the same.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Near(pub(crate) f64);

macro_rules! operators {
    ($Number:ident, $float:ident: $($Trait:ident $method:ident $Assign:ident $assign:ident $sign:tt;)*) => {$(
        impl $Trait for $Number {
            type Output = Self;

            #[cfg_attr(optimized, inline(always))]
            fn $method(self, other: Self) -> Self {
                Self(self.0 $sign other.0)
            }
        }

        impl $Trait<f64> for $Number {
            type Output = Self;

            #[cfg_attr(optimized, inline(always))]
            fn $method(self, other: f64) -> Self {
                self $sign Self::from(other)
            }
        }

        impl $Trait<$Number> for f64 {
            type Output = $Number;

            #[cfg_attr(optimized, inline(always))]
            fn $method(self, other: $Number) -> $Number {
                $Number::from(self) $sign other
            }
        }

        impl $Assign for $Number {
            #[cfg_attr(optimized, inline(always))]
            fn $assign(&mut self, other: Self) {
                *self = *self $sign other;
            }
        }

        impl $Assign<f64> for $Number {
            #[cfg_attr(optimized, inline(always))]
            fn $assign(&mut self, other: f64) {
                *self = *self $sign other;
            }
        }
    )*};
}

macro_rules! number {
    ($Number:ident, $float:ident) => {
        impl Number<$float> for $Number {
            #[cfg_attr(optimized, inline(always))]
            fn of(element: $float) -> Self {
                Self(element)
            }

            #[cfg_attr(optimized, inline(always))]
            fn element(self) -> $float {
                self.0
            }
        }

        impl From<f64> for $Number {
            #[cfg_attr(optimized, inline(always))]
            fn from(value: f64) -> Self {
                Self($float::from_f64(value))
            }
        }

        impl Neg for $Number {
            type Output = Self;

            #[cfg_attr(optimized, inline(always))]
            fn neg(self) -> Self {
                Self(-self.0)
            }
        }

        impl Sum for $Number {
            #[cfg_attr(optimized, inline(always))]
            fn sum<I: Iterator<Item = Self>>(numbers: I) -> Self {
                numbers.fold(Self(0.0), Add::add)
            }
        }

        operators! {
            $Number, $float:
            Add add AddAssign add_assign +;
            Sub sub SubAssign sub_assign -;
            Mul mul MulAssign mul_assign *;
            Div div DivAssign div_assign /;
        }

        impl PartialEq<f64> for $Number {
            #[cfg_attr(optimized, inline(always))]
            fn eq(&self, other: &f64) -> bool {
                *self == Self::from(*other)
            }
        }

        impl PartialOrd<f64> for $Number {
            #[cfg_attr(optimized, inline(always))]
            fn partial_cmp(&self, other: &f64) -> Option<Ordering> {
                self.partial_cmp(&Self::from(*other))
            }
        }
    };
}

number! { Single, f32 }
number! { NearSingle, f32 }
number! { Near, f64 }
