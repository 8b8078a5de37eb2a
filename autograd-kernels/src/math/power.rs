//! xᵖ, for either element type.
//!
//! It is 2 to the power of p log₂ |x|. The rounding error of the logarithm is multiplied by a result's exponent: for
//! single precision all is computed in double, for double precision the logarithm has two parts.

use super::polynomial::polynomial;

/// Returns whether a ≥ 0 is a whole number. Adding 2⁵² leaves no digits behind the point.
#[cfg_attr(optimized, inline(always))]
fn is_whole(a: f64) -> bool {
    const LAST: f64 = 4_503_599_627_370_496.0;
    a >= LAST || (a + LAST) - LAST == a
}

/// The result for special numbers, and the sign, from the result for |x|.
///
/// What depends on p alone are numbers and bits that are combined with those of x, instead of conditions: where p is one
/// for all numbers of a row, they are computed once, and take no registers of conditions.
macro_rules! completed {
    ($float:ident, $x:expr, $p:expr, $power:expr) => {{
        let (x, p, power): ($float, $float, $float) = ($x, $p, $power);
        let of_p = f64::from(p.abs());
        let (is_whole, is_odd) = (is_whole(of_p), is_whole(of_p) && !is_whole(0.5 * of_p));
        let (at_zero, at_infinity) = if p > 0.0 {
            (0.0, $float::INFINITY)
        } else {
            ($float::INFINITY, 0.0)
        };
        let is_zero = p == 0.0;
        let at_zero = if is_zero { 1.0 } else { at_zero };
        let at_infinity = if is_zero { 1.0 } else { at_infinity };
        let at_nan = if is_zero { 1.0 } else { $float::NAN };
        let sign = if is_odd {
            (-0.0_f64 as $float).to_bits()
        } else {
            0
        };
        // −0 added to a number changes nothing.
        let of_all = if p.is_nan() { p } else { -0.0 };
        let of_negative = if is_whole { of_all } else { $float::NAN };

        let a = x.abs();
        let power = if a == 0.0 { at_zero } else { power };
        let power = if a == $float::INFINITY {
            at_infinity
        } else {
            power
        };
        let power = $float::from_bits(power.to_bits() ^ (x.to_bits() & sign));
        let is_root = x < 0.0 && a < $float::INFINITY;
        let power = power + if is_root { of_negative } else { of_all };
        let power = if x.is_nan() { at_nan } else { power };
        if x == 1.0 { 1.0 } else { power }
    }};
}

pub(super) mod single {
    use super::super::exponential::double::Whole;
    use super::super::logarithm::double::parts;
    use super::{EXP_SINGLE, LOG_SINGLE, is_whole, polynomial};

    #[cfg_attr(optimized, inline(always))]
    pub(in super::super) fn powf(x: f32, p: f32) -> f32 {
        let (k, f) = parts(f64::from(x.abs()));
        let s = f / (2.0 + f);
        let square = s * s;
        let ln = 2.0 * s + s * square * polynomial(square, LOG_SINGLE);
        // Powers beyond are 0 or infinite as these are.
        let limited = if p > 1e20 { 1e20 } else { p };
        let limited = if limited < -1e20 { -1e20 } else { limited };
        let y = f64::from(limited) * (k + ln * std::f64::consts::LOG2_E);
        // Comparisons that keep NaN.
        let y = if y > 200.0 { 200.0 } else { y };
        let y = if y < -200.0 { -200.0 } else { y };
        let n = Whole::nearest(y);
        let r = (y - n.number()) * std::f64::consts::LN_2;
        let result = (1.0 + (r + r * r * polynomial(r, EXP_SINGLE))) * n.power();
        completed!(f32, x, p, result as f32)
    }
}

/// The products of parts are exact, as in Sun's `e_pow.c`: the first part of a number has at most 26 digits.
pub(super) mod double {
    use super::super::exponential::double::{Whole, exp_tail};
    use super::super::logarithm::double::parts;
    use super::{LOG_DOUBLE, is_whole, polynomial};

    /// 2 / (3 ln 2), its first 26 digits and the rest.
    const FACTOR: f64 = 0.961_796_693_925_975_6;
    const FACTOR_PARTS: (f64, f64) = (0.961_796_686_053_276_1, 7.872_699_542_894_897e-9);

    /// The first 26 digits of ln 2, and the rest.
    const LN_2_PARTS: (f64, f64) = (0.693_147_167_563_438_4, 1.299_650_689_388_988_9e-8);

    /// Returns the first 26 digits.
    #[cfg_attr(optimized, inline(always))]
    fn cut(x: f64) -> f64 {
        f64::from_bits(x.to_bits() & !((1 << 27) - 1))
    }

    /// Returns log₂ a in two parts, for a positive a.
    #[cfg_attr(optimized, inline(always))]
    fn log2(a: f64) -> (f64, f64) {
        let (k, f) = parts(a);
        // s = f / (2 + f), in two parts.
        let below = 2.0 + f;
        let inverse = 1.0 / below;
        let s = f * inverse;
        let (s_high, below_high) = (cut(s), cut(below));
        let below_low = f - (below_high - 2.0);
        let s_low = inverse * ((f - s_high * below_high) - s_high * below_low);
        // 3 + s² + …, in two parts; ⅔ s times that is the logarithm.
        let square = s * s;
        let rest = square * square * polynomial(square, LOG_DOUBLE) + s_low * (s_high + s);
        let square = s_high * s_high;
        let sum = cut(3.0 + square + rest);
        let lost = rest - ((sum - 3.0) - square);
        let (first, second) = (s_high * sum, s_low * sum + lost * s);
        let high = cut(first + second);
        let low = second - (high - first);
        let scaled = FACTOR_PARTS.0 * high;
        let scaled_low = FACTOR_PARTS.1 * high + low * FACTOR;
        let result = cut((scaled + scaled_low) + k);
        (result, scaled_low - ((result - k) - scaled))
    }

    #[cfg_attr(optimized, inline(always))]
    pub(in super::super) fn powf(x: f64, p: f64) -> f64 {
        let (log, log_low) = log2(x.abs());
        // Powers beyond are 0 or infinite as these are.
        let limited = if p > 1e20 { 1e20 } else { p };
        let limited = if limited < -1e20 { -1e20 } else { limited };
        let p_high = cut(limited);
        let high = p_high * log;
        let low = (limited - p_high) * log + limited * log_low;
        // From where on the result is infinite or 0.
        let is_out = !(-1080.0..=1025.0).contains(&high);
        let low = if is_out { 0.0 } else { low };
        let high = if high > 1025.0 { 1025.0 } else { high };
        let high = if high < -1080.0 { -1080.0 } else { high };
        let n = Whole::nearest(high + low);
        // ln 2 times what is over, in two parts.
        let over = high - n.number();
        let over_high = cut(over + low);
        let over_low = low - (over_high - over);
        let first = over_high * LN_2_PARTS.0;
        let second = over_low * std::f64::consts::LN_2 + over_high * LN_2_PARTS.1;
        let r = first + second;
        let lost = second - (r - first);
        let power = 1.0 + (r + (lost + exp_tail(r)));
        completed!(f64, x, p, n.scale(power))
    }
}

/// (ln m − 2s) / s³ in s² up to 0.0295, where m = (1 + s)/(1 − s), to 8·10⁻¹².
const LOG_SINGLE: [f64; 5] = [
    0.666_666_666_673_758_080_6,
    0.399_999_987_963_595_631_6,
    0.285_717_547_355_818_023_8,
    0.221_913_881_547_209_752_7,
    0.193_628_999_726_493_509_4,
];

/// 3/2 (ln m − 2s − ⅔ s³) / s⁵ in s² up to 0.0295, to 3·10⁻¹⁸.
const LOG_DOUBLE: [f64; 8] = [
    0.599_999_999_999_999_997_3,
    0.428_571_428_571_440_502,
    0.333_333_333_324_833_095,
    0.272_727_275_032_068_605_8,
    0.230_768_924_312_069_191_1,
    0.200_022_077_244_178_108_9,
    0.175_593_362_031_914_133_5,
    0.175_849_593_511_212_737_4,
];

/// (eʳ − 1 − r) / r² on |r| ≤ 0.347, to 2·10⁻⁹.
const EXP_SINGLE: [f64; 6] = [
    0.500_000_001_353_872_988_7,
    0.166_666_666_817_042_150_4,
    0.041_666_464_197_405_692_32,
    0.008_333_310_844_647_862_564,
    0.001_393_373_071_579_208_25,
    0.000_198_910_804_639_988_420_4,
];
