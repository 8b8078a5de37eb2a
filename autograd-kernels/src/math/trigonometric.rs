//! sin x, cos x and tan x, for either element type.
//!
//! In double precision |x| = n π/2 + r with a whole n and |r| ≤ π/4. Then sin x, up to its sign, is a polynomial for the
//! sine of r or one for its cosine, and tan x is one for the tangent of r, or −1 divided by it. r is two numbers, the
//! second a correction of the first.
//!
//! Single precision is computed in double precision, where shorter polynomials are exact enough: one for a sine up to a
//! quarter turn, and two whose quotient is a tangent. They are in turns, which an angle is counted in without π.

use std::f64::consts::{FRAC_PI_2, PI};

use super::polynomial::polynomial;
use super::quarter_turns;

macro_rules! double {
    ($module:ident, $reduced:path) => {
        pub(in super::super) mod $module {
            use super::{COS_DOUBLE, SIN_DOUBLE, TAN_DOUBLE, polynomial};
            use $reduced as reduced;

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

            /// Returns the sine of n quarter turns more than `r + low`, times the sign.
            #[cfg_attr(optimized, inline(always))]
            fn turned(n: u64, r: f64, low: f64, sign: u64) -> f64 {
                let (sine, cosine) = sine_and_cosine(r, low);
                let result = if n & 1 == 0 { sine } else { cosine };
                let flip = (n & 2) << 62;
                f64::from_bits(result.to_bits() ^ flip ^ sign)
            }

            #[cfg_attr(optimized, inline(always))]
            pub(crate) fn sin(x: f64) -> f64 {
                let (n, r, low) = reduced(x.abs());
                let result = turned(n, r, low, x.to_bits() & SIGN);
                finite(x, result)
            }

            #[cfg_attr(optimized, inline(always))]
            pub(crate) fn cos(x: f64) -> f64 {
                let (n, r, low) = reduced(x.abs());
                finite(x, turned(n + 1, r, low, 0))
            }

            #[cfg_attr(optimized, inline(always))]
            pub(crate) fn tan(x: f64) -> f64 {
                let (n, r, low) = reduced(x.abs());
                let square = r * r;
                let cubic = r * square * polynomial(square, TAN_DOUBLE);
                let near = r + cubic;
                let rest = cubic + low * (1.0 + near * near);
                let tan = r + rest;
                let lost = rest - (tan - r);
                let inverse = 1.0 / tan;
                let odd = inverse * (inverse * lost) - inverse;
                let result = if n & 1 == 0 { tan } else { odd };
                let signed = f64::from_bits(result.to_bits() ^ (x.to_bits() & SIGN));
                finite(x, signed)
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
        }
    };
}

double! { double, super::quarter_turns::double::reduced }
double! { double_near, super::quarter_turns::double::near }

macro_rules! single {
    ($module:ident, $sine_of:ident, $tangent_of:ident) => {
        pub(in super::super) mod $module {
            use super::super::quarter_turns::single::{$sine_of, $tangent_of};
            use super::{sine, tangent};

            #[cfg_attr(optimized, inline(always))]
            pub(crate) fn sin(x: f32) -> f32 {
                sine($sine_of::<false>(x))
            }

            #[cfg_attr(optimized, inline(always))]
            pub(crate) fn cos(x: f32) -> f32 {
                sine($sine_of::<true>(x))
            }

            #[cfg_attr(optimized, inline(always))]
            pub(crate) fn tan(x: f32) -> f32 {
                let (n, turns) = $tangent_of(x);
                tangent(n, turns)
            }
        }
    };
}

single! { single, sine_of, tangent_of }
single! { single_near, near_sine_of, near_tangent_of }

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

/// (sin r / r − 1) / r² in r² up to (π/4)², to 2·10⁻²⁰.
const SIN_DOUBLE: [f64; 7] = [
    -0.166_666_666_666_666_666_7,
    0.008_333_333_333_333_331_488,
    -0.000_198_412_698_412_650_554,
    2.755_731_921_933_173_775e-6,
    -2.505_210_622_986_759_067e-8,
    1.605_853_121_013_086_437e-10,
    -7.586_673_021_289_394_128e-13,
];

/// (cos r − 1 + r²/2) / r⁴ in r² up to (π/4)², to 10⁻²¹.
const COS_DOUBLE: [f64; 7] = [
    0.041_666_666_666_666_666_67,
    -0.001_388_888_888_888_888_786,
    2.480_158_730_158_464_112e-5,
    -2.755_731_922_139_869_419e-7,
    2.087_675_578_964_601_086e-9,
    -1.147_046_066_029_475_23e-11,
    4.745_858_504_871_072_357e-14,
];

/// (tan r / r − 1) / r² in r² up to (π/4)², to 7·10⁻¹⁸.
const TAN_DOUBLE: [f64; 15] = [
    0.333_333_333_333_333_337_9,
    0.133_333_333_333_329_985_4,
    0.053_968_253_968_657_928_63,
    0.021_869_488_516_964_837_19,
    0.008_863_236_006_012_673_882,
    0.003_592_120_945_780_083_093,
    0.001_455_903_048_130_225_036,
    0.000_589_573_747_790_184_386_9,
    0.000_241_234_117_538_329_285_9,
    8.996_241_334_228_970_635e-5,
    5.563_467_369_742_758_395e-5,
    -1.107_954_397_859_186_436e-5,
    3.657_676_823_120_137_959e-5,
    -1.834_806_860_433_943_705e-5,
    8.491_226_351_502_120_536e-6,
];
