//! eˣ, eˣ − 1, the sigmoid and tanh, for either element type.
//!
//! x = n ln 2 + r with a whole n and |r| ≤ ½ ln 2, so that eˣ = 2ⁿ eʳ. Adding a number whose last digit
//! counts ones rounds to a whole n, and leaves n in the lowest bits, from where it is shifted to the exponent:
//! no conversion and no branch, so that a processor computes a row of numbers at once.

use super::polynomial::polynomial;

macro_rules! exponentials {
    (
        $module:ident, $float:ident,
        magic: $magic:expr, digits: $digits:expr, bias: $bias:expr,
        ln_2: [$high:expr, $low:expr], quadratic: $quadratic:expr,
        overflow: $overflow:expr, underflow: $underflow:expr,
        tiny: $tiny:expr, minus_one: $minus_one:expr, tanh: $tanh:expr,
    ) => {
        pub(in super::super) mod $module {
            use super::polynomial;

            /// Returns the n and r of x, and eʳ − 1 − r with the rounding error of r.
            #[inline(always)]
            fn reduced(x: $float) -> ($float, $float, $float) {
                let n = (x * std::$float::consts::LOG2_E + $magic) - $magic;
                // This product is exact: the high part of ln 2 ends in as many zeros as n has digits.
                let (high, low) = (x - n * $high, n * $low);
                let r = high - low;
                let lost = (high - r) - low;
                (n, r, lost + exp_tail(r))
            }

            /// Returns eʳ − 1 − r for |r| ≤ ½ ln 2.
            #[inline(always)]
            pub(in super::super) fn exp_tail(r: $float) -> $float {
                r * r * polynomial(r, $quadratic)
            }

            /// Returns 2ⁿ for a whole n between the smallest exponent and the largest.
            #[inline(always)]
            pub(in super::super) fn power(n: $float) -> $float {
                let bits = (n + $magic).to_bits() << $digits;
                $float::from_bits(bits.wrapping_add($bias << $digits))
            }

            #[inline(always)]
            pub(in super::super) fn exp(x: $float) -> $float {
                // Comparisons that keep NaN.
                let x = if x > $overflow { $overflow } else { x };
                let x = if x < $underflow { $underflow } else { x };
                let (n, r, rest) = reduced(x);
                scaled(one_plus(r, rest), n)
            }

            /// Returns 1 + r + rest, rounded once, but for the rounding of the rest.
            #[inline(always)]
            pub(in super::super) fn one_plus(r: $float, rest: $float) -> $float {
                let sum = 1.0 + r;
                sum + (((1.0 - sum) + r) + rest)
            }

            /// Returns 2ⁿ x for a whole n, in two steps: 2ⁿ itself may be too large or too small.
            #[inline(always)]
            pub(in super::super) fn scaled(x: $float, n: $float) -> $float {
                let half = (n * 0.5 + $magic) - $magic;
                x * power(half) * power(n - half)
            }

            /// Returns ½ eˣ for x ≥ 0, which is finite for slightly larger x than eˣ.
            #[inline(always)]
            pub(in super::super) fn half_exp(x: $float) -> $float {
                let limit = $overflow + 1.0;
                let x = if x > limit { limit } else { x };
                let (n, r, rest) = reduced(x);
                scaled(one_plus(r, rest), n - 1.0)
            }

            /// Returns e^(x + rest) for x ≤ 0 and a rest of less than 0.1.
            #[inline(always)]
            pub(in super::super) fn exp_of_sum(x: $float, rest: $float) -> $float {
                let x = if x < $underflow { $underflow } else { x };
                let n = (x * std::$float::consts::LOG2_E + $magic) - $magic;
                let r = (x - n * $high) - n * $low + rest;
                let half = (n * 0.5 + $magic) - $magic;
                (1.0 + (r + exp_tail(r))) * power(half) * power(n - half)
            }

            #[inline(always)]
            pub(in super::super) fn exp_m1(x: $float) -> $float {
                let between = if x > $overflow { $overflow } else { x };
                let between = if between < $minus_one {
                    $minus_one
                } else {
                    between
                };
                let (n, r, rest) = reduced(between);
                // 2ⁿ (eʳ − 1) + (2ⁿ − 1), all by half: 2ⁿ itself may be too large.
                let half = power(n - 1.0);
                let result = ((r + rest) * half + (half - 0.5)) * 2.0;
                if x.abs() < $tiny { x } else { result }
            }

            /// Computes the sigmoid from the smaller exponential, so that the small results on the left are exact.
            #[inline(always)]
            pub(in super::super) fn sigmoid(x: $float) -> $float {
                let e = exp(-x.abs());
                (if x < 0.0 { e } else { 1.0 }) / (1.0 + e)
            }

            #[inline(always)]
            pub(in super::super) fn tanh(x: $float) -> $float {
                let square = x * x;
                let near = x + x * (square * polynomial(square, $tanh));
                let far = 1.0 - 2.0 / (1.0 + exp(2.0 * x.abs()));
                (if x.abs() < 0.6 { near } else { far }).copysign(x)
            }
        }
    };
}

exponentials! {
    single, f32,
    magic: 12_582_912.0, digits: 23, bias: 127,
    ln_2: [0.693_359_375, -2.121_944_4e-4], quadratic: super::QUADRATIC_SINGLE,
    overflow: 89.0, underflow: -104.0,
    tiny: 3e-8, minus_one: -18.0, tanh: super::TANH_SINGLE,
}

exponentials! {
    double, f64,
    magic: 6_755_399_441_055_744.0, digits: 52, bias: 1023,
    ln_2: [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10], quadratic: super::QUADRATIC_DOUBLE,
    overflow: 710.0, underflow: -746.0,
    tiny: 5e-17, minus_one: -38.0, tanh: super::TANH_DOUBLE,
}

/// (eʳ − 1 − r) / r² on |r| ≤ 0.347, to 2·10⁻¹⁰.
const QUADRATIC_SINGLE: [f32; 6] = [
    0.500_000_001_355_744_7,
    0.166_666_666_817_250_02,
    0.041_666_464_010_785_56,
    0.008_333_310_823_923_211,
    0.001_393_375_138_798_722_4,
    0.000_198_911_034_205_443_27,
];

/// (eʳ − 1 − r) / r² on |r| ≤ 0.347, to 2·10⁻¹⁹.
const QUADRATIC_DOUBLE: [f64; 11] = [
    0.5,
    0.166_666_666_666_666_71,
    0.041_666_666_666_666_67,
    0.008_333_333_333_326_07,
    0.001_388_888_888_888_370_2,
    0.000_198_412_698_750_489_05,
    0.000_024_801_587_325_710_758,
    2.755_725_511_097_889e-6,
    2.755_727_343_657_048_6e-7,
    2.510_533_724_466_521e-8,
    2.091_477_283_224_809e-9,
];

/// (tanh x / x − 1) / x² in x² up to 0.36, to 10⁻⁹.
const TANH_SINGLE: [f32; 6] = [
    -0.333_333_332_312_079_23,
    0.133_333_128_668_618,
    -0.053_961_551_781_342_69,
    0.021_788_321_997_108_52,
    -0.008_410_070_801_530_736,
    0.002_370_765_640_497_788,
];

/// (tanh x / x − 1) / x² in x² up to 0.36, to 2·10⁻¹⁸.
const TANH_DOUBLE: [f64; 12] = [
    -0.333_333_333_333_333_3,
    0.133_333_333_333_332_05,
    -0.053_968_253_968_085_31,
    0.021_869_488_527_368_107,
    -0.008_863_235_292_803_289,
    0.003_592_124_250_008_692_5,
    -0.001_455_795_885_573_463_5,
    0.000_589_768_099_468_826_8,
    -0.000_237_952_013_839_249_94,
    9.332_432_233_847_448e-5,
    -3.208_661_403_793_599_4e-5,
    6.934_046_420_988_954e-6,
];
