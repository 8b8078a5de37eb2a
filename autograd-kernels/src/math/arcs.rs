//! arcsin x, arccos x, arctan x and the angle of a point, for either element type.
//!
//! arcsin a of a > ½ is π/2 − 2 arcsin √((1 − a)/2). arctan a of a > tan π/8 is π/4 + arctan (a − 1)/(a + 1), and of
//! a > tan 3π/8 it is π/2 − arctan 1/a. The rest is a polynomial. Constants have two parts, for the rounding errors.

use super::polynomial::polynomial;

macro_rules! arcs {
    (
        $module:ident, $float:ident, asin: $asin:expr, atan: $atan:expr,
        low: [$eighth:expr, $quarter:expr, $half:expr], three_eighths: $three_eighths:expr,
    ) => {
        pub(in super::super) mod $module {
            use std::$float::consts::{FRAC_PI_2, FRAC_PI_4, PI};

            use super::polynomial;

            /// Multiples of π in two parts, named by the part of a turn.
            const EIGHTH: ($float, $float) = (FRAC_PI_4, $eighth);
            const QUARTER: ($float, $float) = (FRAC_PI_2, $quarter);
            const THREE_EIGHTHS: ($float, $float) = $three_eighths;
            const HALF: ($float, $float) = (PI, $half);

            /// tan π/8 and tan 3π/8
            const BOUNDS: [$float; 2] = [0.414_213_562_373_095_05, 2.414_213_562_373_095];

            /// Returns angle + t + rest for a |t| that is not larger than the angle, unless that is 0.
            #[cfg_attr(optimized, inline(always))]
            fn sum(angle: ($float, $float), t: $float, rest: $float) -> $float {
                let sum = angle.0 + t;
                let lost = (angle.0 - sum) + t;
                sum + (lost + (angle.1 + rest))
            }

            /// Returns whether a > ½, and the arcsine of a or of √((1 − a)/2) as a number and a correction.
            #[cfg_attr(optimized, inline(always))]
            fn parts(a: $float) -> (bool, $float, $float) {
                let is_large = a > 0.5;
                let square = if is_large { 0.5 * (1.0 - a) } else { a * a };
                let s = if is_large { square.sqrt() } else { a };
                (is_large, s, s * square * polynomial(square, $asin))
            }

            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn asin(x: $float) -> $float {
                let (is_large, s, rest) = parts(x.abs());
                let large = sum(QUARTER, -2.0 * s, -2.0 * rest);
                (if is_large { large } else { s + rest }).copysign(x)
            }

            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn acos(x: $float) -> $float {
                let (is_large, s, rest) = parts(x.abs());
                let is_left = x < 0.0;
                let left = if is_left { HALF } else { (0.0, 0.0) };
                let angle = if is_large { left } else { QUARTER };
                let factor = if is_large { 2.0 } else { 1.0 };
                let factor = if is_large == is_left { -factor } else { factor };
                sum(angle, factor * s, factor * rest)
            }

            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn atan(x: $float) -> $float {
                let a = x.abs();
                let (mut above, mut below, mut angle) = (a, 1.0, (0.0, 0.0));
                if a > BOUNDS[0] {
                    (above, below, angle) = (a - 1.0, a + 1.0, EIGHTH);
                }
                if a > BOUNDS[1] {
                    (above, below, angle) = (-1.0, a, QUARTER);
                }
                let t = above / below;
                let square = t * t;
                sum(angle, t, t * square * polynomial(square, $atan)).copysign(x)
            }

            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn atan2(y: $float, x: $float) -> $float {
                // Numbers whose sum would overflow are scaled; two infinities are like two ones.
                let is_huge = x.abs() > 0.25 * $float::MAX || y.abs() > 0.25 * $float::MAX;
                let scale = if is_huge { 0.25 } else { 1.0 };
                let are_infinite = x.abs() == $float::INFINITY && y.abs() == $float::INFINITY;
                let a = if are_infinite { 1.0 } else { x.abs() * scale };
                let b = if are_infinite { 1.0 } else { y.abs() * scale };
                // The sign of x, by numbers: as a comparison of bits it takes a register of ones, which processors make from
                // what the register had before, the last result; then no two results are computed at the same time.
                let is_left = (1.0 as $float).copysign(x) < 0.0;
                let (mut above, mut below) = (b, a);
                let mut angle = if is_left { HALF } else { (0.0, 0.0) };
                if b > BOUNDS[0] * a {
                    (above, below) = (b - a, b + a);
                    angle = if is_left { THREE_EIGHTHS } else { EIGHTH };
                }
                if b > BOUNDS[1] * a {
                    (above, below, angle) = (-a, b, QUARTER);
                }
                // The angle of (0, 0) is that of the axis.
                below = if b == 0.0 && a == 0.0 { 1.0 } else { below };
                let t = above / below;
                let t = if is_left { -t } else { t };
                let square = t * t;
                sum(angle, t, t * square * polynomial(square, $atan)).copysign(y)
            }
        }
    };
}

arcs! {
    single, f32, asin: super::ASIN_SINGLE, atan: super::ATAN_SINGLE,
    low: [-2.185_569_500_09e-8, -4.371_139_000_19e-8, -8.742_278_000_37e-8],
    three_eighths: (2.356_194_496_15, -5.962_440_227_4e-9),
}

arcs! {
    double, f64, asin: super::ASIN_DOUBLE, atan: super::ATAN_DOUBLE,
    low: [3.061_616_997_868_383e-17, 6.123_233_995_736_766e-17, 1.224_646_799_147_353_2e-16],
    three_eighths: (2.356_194_490_192_345, 9.184_850_993_605_148e-17),
}

/// (arcsin s / s − 1) / s² in s² up to ¼, to 5·10⁻⁹.
const ASIN_SINGLE: [f32; 6] = [
    0.166_666_663_4,
    0.075_000_945_43,
    0.044_599_401_53,
    0.031_100_662_74,
    0.017_149_238_36,
    0.033_690_847_2,
];

/// (arctan t / t − 1) / t² in t² up to tan² π/8, to 2·10⁻⁸.
const ATAN_SINGLE: [f32; 5] = [
    -0.333_333_317_6,
    0.199_995_398_1,
    -0.142_639_322_1,
    0.107_434_787_8,
    -0.064_510_908_23,
];

/// (arcsin s / s − 1) / s² in s² up to ¼, to 2·10⁻¹⁷.
const ASIN_DOUBLE: [f64; 13] = [
    0.166_666_666_666_666_678_3,
    0.074_999_999_999_984_329_33,
    0.044_642_857_146_355_429_78,
    0.030_381_944_138_531_247_29,
    0.022_372_172_942_149_887_87,
    0.017_352_392_720_869_972_94,
    0.013_971_212_973_552_933_3,
    0.011_479_177_415_184_905_9,
    0.010_322_814_350_185_779_29,
    0.005_457_506_718_640_358_3,
    0.017_400_879_442_694_022_44,
    -0.014_851_887_071_247_203_22,
    0.028_757_851_367_421_564_71,
];

/// (arctan t / t − 1) / t² in t² up to tan² π/8, to 2·10⁻¹⁸.
const ATAN_DOUBLE: [f64; 12] = [
    -0.333_333_333_333_333_332_2,
    0.199_999_999_999_998_037_3,
    -0.142_857_142_856_596_279_5,
    0.111_111_111_051_359_893_3,
    -0.090_909_087_525_328_449_32,
    0.076_922_963_470_487_476_25,
    -0.066_664_243_832_316_492_26,
    0.058_789_232_211_706_152_69,
    -0.052_304_117_334_768_550_19,
    0.045_513_992_243_682_705_86,
    -0.034_565_573_776_913_105_78,
    0.016_280_229_875_233_499_59,
];
