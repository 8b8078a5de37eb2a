//! sin x, cos x and tan x, for either element type.
//!
//! In double precision |x| = n π/2 + r with a whole n and |r| ≤ π/4. Then sin x, up to its sign, is a polynomial for the
//! sine of r or one for its cosine, and tan x is their quotient. r is two numbers, the second a correction of the first.
//!
//! Single precision is computed in double precision, where shorter polynomials are exact enough: one for a sine up to a
//! quarter turn, and two whose quotient is a tangent. They are in turns, which an angle is counted in without π.

use std::f64::consts::{FRAC_PI_2, PI};

use super::polynomial::polynomial;
use super::quarter_turns;
use crate::element::Element;

macro_rules! double {
    ($module:ident, $reduced:path, $checked:ident) => {
        pub(in super::super) mod $module {
            use super::{SIGN, sine_and_cosine, $checked as checked};
            use $reduced as reduced;

            /// Returns the sine of n quarter turns more than `r + low`, times the sign of a number.
            #[cfg_attr(optimized, inline(always))]
            fn turned(n: u64, r: f64, low: f64, sign: u64) -> f64 {
                let (sine, cosine) = sine_and_cosine(r, low);
                let result = if n & 1 == 0 { sine } else { cosine };
                f64::from_bits(result.to_bits() ^ (((n << 62) ^ sign) & SIGN))
            }

            #[cfg_attr(optimized, inline(always))]
            pub(crate) fn sin(x: f64) -> f64 {
                let (n, r, low) = reduced(x.abs());
                checked(x, turned(n, r, low, x.to_bits()))
            }

            #[cfg_attr(optimized, inline(always))]
            pub(crate) fn cos(x: f64) -> f64 {
                let (n, r, low) = reduced(x.abs());
                checked(x, turned(n + 1, r, low, 0))
            }

            #[cfg_attr(optimized, inline(always))]
            pub(crate) fn tan(x: f64) -> f64 {
                let (n, r, low) = reduced(x.abs());
                let (sine, cosine) = sine_and_cosine(r, low);
                // One division: of a choice of quotients, the compiler would compute both.
                let (above, below) = if n & 1 == 0 {
                    (sine, cosine)
                } else {
                    (cosine, sine)
                };
                let result = above / below;
                let signed = result.to_bits() ^ (((n << 63) ^ x.to_bits()) & SIGN);
                checked(x, f64::from_bits(signed))
            }
        }
    };
}

double! { double, super::quarter_turns::double::reduced, finite }
double! { double_near, super::quarter_turns::double::near, near }

const SIGN: u64 = 1 << 63;

/// Returns the sine and the cosine of `r + low`.
#[cfg_attr(optimized, inline(always))]
fn sine_and_cosine(r: f64, low: f64) -> (f64, f64) {
    let square = r * r;
    let half = 0.5 * square;
    let near_cosine = 1.0 - half;
    let sine = r + (low * near_cosine + r * square * polynomial(square, SIN_DOUBLE));
    let lost = (1.0 - near_cosine) - half;
    let rest = square * square * polynomial(square, COS_DOUBLE) - r * low;
    (sine, near_cosine + (lost + rest))
}

/// Returns the result for a finite x, else NaN.
#[cfg_attr(optimized, inline(always))]
fn finite(x: f64, result: f64) -> f64 {
    if x.abs() < f64::INFINITY {
        result
    } else {
        f64::NAN
    }
}

/// Returns the result for a near x, else NaN.
#[cfg_attr(optimized, inline(always))]
fn near<T: Element>(x: T, result: T) -> T {
    if x.abs() <= T::from_f64(quarter_turns::NEAR) {
        result
    } else {
        T::nan()
    }
}

macro_rules! single {
    ($module:ident, $sine_of:ident, $tangent_of:ident, $checked:ident) => {
        pub(in super::super) mod $module {
            use super::super::quarter_turns::single::{$sine_of, $tangent_of};
            use super::{sine, tangent, $checked as checked};

            #[cfg_attr(optimized, inline(always))]
            pub(crate) fn sin(x: f32) -> f32 {
                checked(x, sine($sine_of::<false>(x)))
            }

            #[cfg_attr(optimized, inline(always))]
            pub(crate) fn cos(x: f32) -> f32 {
                checked(x, sine($sine_of::<true>(x)))
            }

            #[cfg_attr(optimized, inline(always))]
            pub(crate) fn tan(x: f32) -> f32 {
                let (n, turns) = $tangent_of(x);
                checked(x, tangent(n, turns))
            }
        }
    };
}

single! { single, sine_of, tangent_of, unchanged }
single! { single_near, near_sine_of, near_tangent_of, near }

/// Returns the result for any x.
#[cfg_attr(optimized, inline(always))]
fn unchanged(_: f32, result: f32) -> f32 {
    result
}

/// Returns the sine of at most half a half turn.
#[cfg_attr(optimized, inline(always))]
fn sine(turns: f64) -> f32 {
    let square = turns * turns;
    (turns * (PI + square * polynomial(square, SIN_SINGLE))) as f32
}

/// Returns the tangent of n quarter turns and at most half a quarter turn more.
#[cfg_attr(optimized, inline(always))]
fn tangent(n: u64, turns: f64) -> f32 {
    let [a, b, c, d] = TAN_SINGLE;
    let square = turns * turns;
    let sine = (turns * (FRAC_PI_2 + square * (a + b * square))) as f32;
    let cosine = (1.0 + square * (c + d * square)) as f32;
    // One division: of a choice of quotients, the compiler would compute both.
    let (above, below) = if n & 1 == 0 {
        (sine, cosine)
    } else {
        (-cosine, sine)
    };
    above / below
}

/// (sin πt / t − π) / t² in t² up to ¼: sin πt to 6·10⁻⁹.
const SIN_SINGLE: [f64; 4] = [
    -5.167_710_572_663_881,
    2.550_082_280_974_980_3,
    -0.598_307_901_928_929_2,
    0.077_675_528_277_483_58,
];

/// tan ½πt = t (½π + a t² + b t⁴) / (1 + c t² + d t⁴) for t up to ½, to 3·10⁻¹¹: a, b, c and d.
const TAN_SINGLE: [f64; 4] = [
    -0.431_588_847_438_375_54,
    0.010_277_702_508_341_652,
    -1.097_225_024_297_445,
    0.097_231_868_218_903_45,
];

/// (sin r / r − 1) / r² in r² up to (π/4)²: the sine to 4·10⁻¹⁸.
const SIN_DOUBLE: [f64; 6] = [
    -0.166_666_666_666_666_306_6,
    0.008_333_333_333_322_101_693,
    -0.000_198_412_698_295_754_754_8,
    2.755_731_361_633_216_382e-6,
    -2.505_074_694_576_708_816e-8,
    1.589_618_137_245_720_374e-10,
];

/// (cos r − 1 + r²/2) / r⁴ in r² up to (π/4)²: the cosine to 6·10⁻²⁰.
const COS_DOUBLE: [f64; 6] = [
    0.041_666_666_666_666_592_79,
    -0.001_388_888_888_887_303_231,
    0.000_024_801_587_288_836_222_45,
    -2.755_731_417_470_534_462e-7,
    2.087_570_020_235_686_071e-9,
    -1.135_850_262_969_616_431e-11,
];
