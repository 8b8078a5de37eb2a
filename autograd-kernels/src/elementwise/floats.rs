//! The functions of [`Real`] for `f64`, [`Single`], [`Near`] and [`NearSingle`].

use std::convert;
use std::hint::select_unpredictable;

use crate::element::number::{Near, NearSingle, Single};
use crate::element::real::{Real, sealed};
use crate::math::{self, near};

/// Implements the functions, by those of `math` where it has one.
macro_rules! functions {
    (
        $Number:ty, $float:ident, |$wrapped:ident| $wrap:expr, |$x:ident| $unwrap:expr;
        ours: $($ours:ident = $path:path),*; std: $($std:ident),*;
    ) => {
        impl sealed::Sealed for $Number {
            #[cfg_attr(optimized, inline(always))]
            fn is_zero(&self) -> bool {
                *self == 0.0
            }

            #[cfg_attr(optimized, inline(always))]
            fn plain(self) -> f64 {
                let $x = self;
                f64::from($unwrap)
            }

            #[cfg_attr(optimized, inline(always))]
            fn unless(self, is_zero: bool) -> Self {
                if is_zero { Self::from(0.0) } else { self }
            }

            #[cfg_attr(optimized, inline(always))]
            fn chosen(is_first: bool, first: Self, second: Self) -> Self {
                select_unpredictable(is_first, first, second)
            }
        }

        impl Real for $Number {
            $(
                #[cfg_attr(optimized, inline(always))]
                fn $ours(self) -> Self {
                    let $x = self;
                    let $wrapped = $path($unwrap);
                    $wrap
                }
            )*

            $(
                #[cfg_attr(optimized, inline(always))]
                fn $std(self) -> Self {
                    let $x = self;
                    let $wrapped = $float::$std($unwrap);
                    $wrap
                }
            )*

            #[cfg_attr(optimized, inline(always))]
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

            #[cfg_attr(optimized, inline(always))]
            fn powf(self, p: impl Into<Self>) -> Self {
                let $x = p.into();
                let p = $unwrap;
                let $x = self;
                let $wrapped = math::powf($unwrap, p);
                $wrap
            }

            #[cfg_attr(optimized, inline(always))]
            fn atan2(self, x: impl Into<Self>) -> Self {
                let $x = x.into();
                let x = $unwrap;
                let $x = self;
                let $wrapped = math::atan2($unwrap, x);
                $wrap
            }

            #[cfg_attr(optimized, inline(always))]
            fn hypot(self, y: impl Into<Self>) -> Self {
                let $x = y.into();
                let y = $unwrap;
                let $x = self;
                let $wrapped = math::hypot($unwrap, y);
                $wrap
            }

            #[cfg_attr(optimized, inline(always))]
            fn max(self, other: impl Into<Self>) -> Self {
                let other = other.into();
                // NaN alone differs from itself.
                if self > other || self != self { self } else { other }
            }

            #[cfg_attr(optimized, inline(always))]
            fn min(self, other: impl Into<Self>) -> Self {
                let other = other.into();
                // NaN alone differs from itself.
                if self < other || self != self { self } else { other }
            }
        }
    };
}

macro_rules! all {
    ($($functions:tt)*) => {
        functions! {
            f64, f64, |wrapped| wrapped, |x| x;
            ours: sin = math::sin, cos = math::cos, tan = math::tan, $($functions)*
        }
        functions! {
            Single, f32, |wrapped| Single(wrapped), |x| x.0;
            ours: sin = math::sin, cos = math::cos, tan = math::tan, $($functions)*
        }
        functions! {
            Near, f64, |wrapped| Near(wrapped), |x| x.0;
            ours: sin = near::double::sin, cos = near::double::cos, tan = near::double::tan, $($functions)*
        }
        functions! {
            NearSingle, f32, |wrapped| NearSingle(wrapped), |x| x.0;
            ours: sin = near::single::sin, cos = near::single::cos, tan = near::single::tan, $($functions)*
        }
    };
}

all! {
    exp = math::exp, exp_m1 = math::exp_m1, ln = math::ln, ln_1p = math::ln_1p, tanh = math::tanh,
    sigmoid = math::sigmoid, softplus = math::softplus, erf = math::erf, gelu = math::gelu,
    normal_cdf = math::normal_cdf, normal_pdf = math::normal_pdf,
    asin = math::asin, acos = math::acos, atan = math::atan, sinh = math::sinh, cosh = math::cosh,
    asinh = math::asinh, acosh = math::acosh, atanh = math::atanh, cbrt = math::cbrt, detach = convert::identity;
    std: sqrt, recip, abs, signum, floor, ceil, round, round_ties_even;
}
