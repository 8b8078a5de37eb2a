//! eˣ, eˣ − 1, the sigmoid, softplus and tanh, for either element type.
//!
//! x = n ln 2 + r with a whole n and |r| ≤ ½ ln 2, so that eˣ = 2ⁿ eʳ. Adding a number whose last digit
//! counts ones rounds to a whole n, and leaves n in the lowest bits, above the exponent of 1, from where it is shifted to
//! the exponent: no conversion and no branch, so that a processor computes a row of numbers at once.

use super::polynomial::polynomial;

macro_rules! exponentials {
    (
        $module:ident, $float:ident, $bits:ident,
        magic: $magic:expr, digits: $digits:expr, bias: $bias:expr,
        ln_2: [$high:expr, $low:expr], quadratic: $quadratic:expr, rough: $rough:expr,
        small: $small:expr, overflow: $overflow:expr, underflow: $underflow:expr,
        tiny: $tiny:expr, minus_one: $minus_one:expr, softplus: $softplus:expr, one: $one:expr,
    ) => {
        pub(in super::super) mod $module {
            use super::polynomial;

            /// Returns n, an exact part of r, and what is left of eʳ − 1.
            #[cfg_attr(optimized, inline(always))]
            fn reduced(x: $float) -> (Whole, $float, $float) {
                let whole = Whole::nearest(x * std::$float::consts::LOG2_E);
                let n = whole.number();
                // This product is exact: the high part of ln 2 ends in as many zeros as n has digits.
                let (high, low) = (x - n * $high, n * $low);
                (whole, high, exp_tail(high - low) - low)
            }

            /// Returns eʳ − 1 − r for |r| ≤ ½ ln 2.
            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn exp_tail(r: $float) -> $float {
                r * r * polynomial(r, $quadratic)
            }

            /// Returns eʳ to some units, for |r| ≤ ½ ln 2.
            #[cfg_attr(optimized, inline(always))]
            fn rough_exp(r: $float) -> $float {
                1.0 + (r + r * r * polynomial(r, $rough))
            }

            const TWO_TO_64: $float = 18_446_744_073_709_551_616.0;
            pub(in super::super) const TWO_TO_MINUS_64: $float = 1.0 / TWO_TO_64;

            /// A whole number n, as the sum with a number whose last digit counts ones.
            #[derive(Clone, Copy)]
            pub(in super::super) struct Whole($float);

            impl Whole {
                /// A number whose last digit counts ones, of which the lowest digits are the exponent of 1.
                const ZERO: $float = $magic + $bias as $float;

                /// Returns the nearest whole number.
                #[cfg_attr(optimized, inline(always))]
                pub(in super::super) fn nearest(x: $float) -> Self {
                    Self(x + Self::ZERO)
                }

                #[cfg_attr(optimized, inline(always))]
                pub(in super::super) fn number(self) -> $float {
                    self.0 - Self::ZERO
                }

                /// Returns 2ⁿ, for an n between the smallest exponent and the largest.
                #[cfg_attr(optimized, inline(always))]
                pub(in super::super) fn power(self) -> $float {
                    $float::from_bits(self.0.to_bits() << $digits)
                }

                /// Returns 2ⁿ times a power of two.
                #[cfg_attr(optimized, inline(always))]
                fn power_times(self, power: $float) -> $float {
                    let above = power.to_bits().wrapping_sub($bias << $digits);
                    $float::from_bits(self.power().to_bits().wrapping_add(above))
                }

                /// Returns 2ⁿ x, in two steps: 2ⁿ itself may be too large or too small.
                #[cfg_attr(optimized, inline(always))]
                pub(in super::super) fn scale(self, x: $float) -> $float {
                    // The first step is in the range.
                    let is_small = self.0 < Self::ZERO - $small;
                    let first = if is_small { TWO_TO_64 } else { 0.5 };
                    let rest = if is_small { TWO_TO_MINUS_64 } else { 2.0 };
                    x * self.power_times(first) * rest
                }
            }

            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn exp(x: $float) -> $float {
                // Comparisons that keep NaN.
                let x = if x > $overflow { $overflow } else { x };
                let x = if x < $underflow { $underflow } else { x };
                let (n, r, rest) = reduced(x);
                n.scale(1.0 + (r + rest))
            }

            /// Returns eˣ for x ≤ 0.
            #[cfg_attr(optimized, inline(always))]
            fn exp_of_negative(x: $float) -> $float {
                let x = if x < $underflow { $underflow } else { x };
                let (n, r, rest) = reduced(x);
                // 2ⁿ itself may be too small.
                (1.0 + (r + rest)) * n.power_times(TWO_TO_64) * TWO_TO_MINUS_64
            }

            /// Returns ½ eˣ for x ≥ 0, which is finite for slightly larger x than eˣ.
            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn half_exp(x: $float) -> $float {
                let limit = $overflow + 1.0;
                let x = if x > limit { limit } else { x };
                let (n, r, rest) = reduced(x);
                (1.0 + (r + rest)) * n.power_times(0.25) * 2.0
            }

            /// Returns e to the power of x + rest to some units, times 2⁶⁴, which keeps it a normal number: for an x ≤ 0
            /// that ends in zeros, a rest of less than 0.1, and about their sum divided by ln 2.
            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn exp_of_sum(x: $float, rest: $float, about: $float) -> $float {
                let whole = Whole::nearest(about);
                let n = whole.number();
                let r = (x - n * $high) + (rest - n * $low);
                rough_exp(r) * whole.power_times(TWO_TO_64)
            }

            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn exp_m1(x: $float) -> $float {
                let between = if x > $overflow { $overflow } else { x };
                let between = if between < $minus_one {
                    $minus_one
                } else {
                    between
                };
                let (n, r, rest) = reduced(between);
                // 2ⁿ (eʳ − 1) + (2ⁿ − 1), all by half: 2ⁿ itself may be too large.
                let half = n.power_times(0.5);
                let result = ((r + rest) * half + (half - 0.5)) * 2.0;
                if x.abs() < $tiny { x } else { result }
            }

            /// Computes the sigmoid from the smaller exponential, so that the small results on the left are exact.
            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn sigmoid(x: $float) -> $float {
                let e = exp_of_negative(-x.abs());
                (if x < 0.0 { e } else { 1.0 }) / (1.0 + e)
            }

            /// Computes ln(1 + eˣ) from the smaller exponential e: ln(1 + e) = 2 artanh s, with s = e / (2 + e).
            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn softplus(x: $float) -> $float {
                let e = exp_of_negative(-x.abs());
                let s = e / (2.0 + e);
                let square = s * s;
                // 2s = e − es, where e is exact.
                let log = e - s * (e - square * polynomial(square, $softplus));
                (if x < 0.0 { 0.0 } else { x }) + log
            }

            /// Computes tanh x = e / (2 + e), with e = e²ˣ − 1.
            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn tanh(x: $float) -> $float {
                // From where on it is 1. A comparison that keeps NaN.
                let a = if x.abs() > $one { $one } else { x.abs() };
                let whole = Whole::nearest(2.0 * a * std::$float::consts::LOG2_E);
                let n = whole.number();
                let r = (2.0 * a - n * $high) - n * $low;
                let power = whole.power();
                let e = (r + exp_tail(r)) * power + (power - 1.0);
                let far = e / (2.0 + e);
                // The rounding errors of the quotient are small beside e.
                let near = 0.5 * (e - e * far);
                (if a < 0.3 { near } else { far }).copysign(x)
            }

            /// Returns eˣ for an x ≤ 0 where it is no subnormal number, to some units, times |x| if that is more than 1.
            /// This is enough for a factor of a small summand.
            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn exp_of_summand(x: $float) -> $float {
                let whole = Whole::nearest(x * std::$float::consts::LOG2_E);
                let r = x - whole.number() * std::$float::consts::LN_2;
                rough_exp(r) * whole.power()
            }
        }
    };
}

exponentials! {
    single, f32, u32,
    magic: 12_582_912.0, digits: 23, bias: 127,
    ln_2: [0.693_359_375, -2.121_944_4e-4],
    quadratic: super::QUADRATIC_SINGLE, rough: super::ROUGH_SINGLE,
    small: 124.0, overflow: 89.0, underflow: -104.0,
    tiny: 3e-8, minus_one: -18.0, softplus: super::SOFTPLUS_SINGLE, one: 10.0,
}

exponentials! {
    double, f64, u64,
    magic: 6_755_399_441_055_744.0, digits: 52, bias: 1023,
    ln_2: [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10],
    quadratic: super::QUADRATIC_DOUBLE, rough: super::QUADRATIC_DOUBLE,
    small: 1020.0, overflow: 710.0, underflow: -746.0,
    tiny: 5e-17, minus_one: -38.0, softplus: super::SOFTPLUS_DOUBLE, one: 20.0,
}

/// (eʳ − 1 − r) / r² on |r| ≤ 0.347, to 6·10⁻⁸.
const QUADRATIC_SINGLE: [f32; 5] = [
    0.500_000_002_7,
    0.166_665_769_1,
    0.041_666_374_94,
    0.008_363_192_27,
    0.001_394_114_171,
];

/// The same, to 1.2·10⁻⁶: the exponential to 1.2·10⁻⁷.
const ROUGH_SINGLE: [f32; 4] = [
    0.499_991_936_5,
    0.166_671_032,
    0.041_895_557_95,
    0.008_315_715_965,
];

/// (eʳ − 1 − r) / r² on |r| ≤ 0.347, to 10⁻¹⁶.
const QUADRATIC_DOUBLE: [f64; 10] = [
    0.500_000_000_000_000_102_4,
    0.166_666_666_666_666_745_4,
    0.041_666_666_666_624_054_9,
    0.008_333_333_333_322_190_498,
    0.001_388_888_891_724_945_662,
    0.000_198_412_698_866_423_145_8,
    0.000_024_801_521_241_229_766_35,
    2.755_724_227_864_307_592e-6,
    2.762_011_418_281_526_69e-7,
    2.511_007_176_791_469_535e-8,
];

/// 2 (artanh s − s) / s³ in s² up to 1/9, to 7·10⁻⁹.
const SOFTPLUS_SINGLE: [f32; 5] = [
    0.666_666_673_6,
    0.399_996_963,
    0.285_928_108_9,
    0.217_000_404,
    0.232_537_829_8,
];

/// 2 (artanh s − s) / s³ in s² up to 1/9, to 2·10⁻¹⁸.
const SOFTPLUS_DOUBLE: [f64; 11] = [
    0.666_666_666_666_666_669,
    0.399_999_999_999_995_000_3,
    0.285_714_285_716_067_919_5,
    0.222_222_221_974_643_754_9,
    0.181_818_199_432_127_406_8,
    0.153_845_424_426_437_062_2,
    0.133_352_097_994_814_222_4,
    0.117_338_841_443_603_678_8,
    0.108_482_018_710_269_028,
    0.074_793_295_816_185_708_45,
    0.156_536_577_677_216_741_3,
];
