//! The error function and the normal distribution, for either element type.
//!
//! 1 − erf a = e^(−a²) w(a), where w falls slowly from 1: a polynomial in 1 / (1 + pa) gives it for all a ≥ 0 to the same
//! relative error, which the tails of the normal distribution have. Of the error function, which is near 1 there, a
//! shorter polynomial and a rough exponential are enough.

use super::polynomial::polynomial;

pub(super) mod single {
    use std::f32::consts::LOG2_E;

    use super::super::exponential::single::{TWO_TO_MINUS_64, exp_of_sum, exp_of_summand};
    use super::{SINGLE_FAR, SINGLE_NEAR, SINGLE_W, polynomial};

    /// Returns e^(−a²/2) 2⁶⁴, for a from 0 to where the result is 0. a is cut as in double precision.
    #[cfg_attr(optimized, inline(always))]
    fn bell(a: f32) -> f32 {
        let z = f32::from_bits(a.to_bits() & !((1 << 12) - 1));
        exp_of_sum(
            -0.5 * z * z,
            0.5 * ((z - a) * (z + a)),
            a * a * (-0.5 * LOG2_E),
        )
    }

    /// Returns two factors of (1 − Φ(a)) e^(a²/2), the second times 2⁻⁶⁴.
    ///
    /// One pair of summands after the other takes a product less than [`polynomial`], and has smaller errors where their
    /// signs alternate, but waits longer.
    #[cfg_attr(optimized, inline(always))]
    fn w(a: f32) -> [f32; 2] {
        let t = 1.0 / (3.28 + a);
        let square = t * t;
        let pair = |[c, d]: [f32; 2]| c + d * t;
        let [first, second, third, last] = SINGLE_W;
        let last = pair(third) + square * pair(last);
        [t, pair(first) + square * (pair(second) + square * last)]
    }

    #[cfg_attr(optimized, inline(always))]
    pub(in super::super) fn erf(x: f32) -> f32 {
        // From 4 on it is 1. A comparison that keeps NaN.
        let a = if x.abs() > 4.0 { 4.0 } else { x.abs() };
        let square = a * a;
        let near = x + x * polynomial(square, SINGLE_NEAR);
        let t = 1.0 / (1.0 + 0.5 * a);
        let far = 1.0 - exp_of_summand(-square) * (t * polynomial(t, SINGLE_FAR));
        if a < 1.0 { near } else { far.copysign(x) }
    }

    /// Returns |x| up to 14.5, from where on the tail is 0.
    #[cfg_attr(optimized, inline(always))]
    fn up_to_end(x: f32) -> f32 {
        if x.abs() > 14.5 { 14.5 } else { x.abs() }
    }

    /// Returns Φ(x) and e^(−x²/2).
    #[cfg_attr(optimized, inline(always))]
    fn normal(x: f32) -> (f32, f32) {
        let a = up_to_end(x);
        let (bell, [t, w]) = (bell(a), w(a));
        let tail = bell * w * t;
        let left = if x < 0.0 { tail } else { 1.0 - tail };
        (left, bell * TWO_TO_MINUS_64)
    }

    #[cfg_attr(optimized, inline(always))]
    pub(in super::super) fn gelu(x: f32) -> f32 {
        let a = up_to_end(x);
        let (bell, [t, w]) = (bell(a), w(a));
        // Of −∞ it is NaN, as x Φ(x) is.
        let right = if x > 0.0 { x } else { 0.0 * x };
        right - bell * w * (t * a)
    }

    #[cfg_attr(optimized, inline(always))]
    pub(in super::super) fn normal_cdf(x: f32) -> f32 {
        normal(x).0
    }

    #[cfg_attr(optimized, inline(always))]
    pub(in super::super) fn normal_pdf(x: f32) -> f32 {
        normal(x).1 * super::PEAK as f32
    }

    #[cfg_attr(optimized, inline(always))]
    pub(in super::super) fn gelu_derivative(x: f32) -> f32 {
        let (below, bell) = normal(x);
        below + x * (bell * super::PEAK as f32)
    }
}

pub(super) mod double {
    use std::f64::consts::LOG2_E;

    use super::super::exponential::double::{TWO_TO_MINUS_64, exp_of_sum, exp_of_summand};
    use super::{DOUBLE_FAR, DOUBLE_NEAR, DOUBLE_SMALL, DOUBLE_W, DOUBLE_W_HIGHER, polynomial};

    /// Returns e^(−a²/2) for a ≥ 0.
    ///
    /// A rounding error of a² would be one of the result, times a². So a is cut to half its digits: z, whose square
    /// is exact, and the rest is small.
    #[cfg_attr(optimized, inline(always))]
    fn bell(a: f64) -> f64 {
        // From where on the result is 0. A comparison that keeps NaN.
        let a = if a > 38.7 { 38.7 } else { a };
        let z = f64::from_bits(a.to_bits() & !((1 << 27) - 1));
        let about = a * a * (-0.5 * LOG2_E);
        exp_of_sum(-0.5 * z * z, 0.5 * ((z - a) * (z + a)), about) * TWO_TO_MINUS_64
    }

    /// Returns w(a) for a ≥ 0.85.
    #[cfg_attr(optimized, inline(always))]
    fn w(a: f64) -> f64 {
        let t = 1.0 / (1.0 + 0.3 * a);
        let s = t * 2.904_002_501_563_477 - 1.313_946_216_385_240_8;
        let s_5 = s * s * (s * s) * s;
        // In two parts: there are more coefficients than one polynomial has.
        t * (polynomial(s, DOUBLE_W) + s_5 * s_5 * polynomial(s, DOUBLE_W_HIGHER))
    }

    /// Returns erf x for |x| < 0.85.
    #[cfg_attr(optimized, inline(always))]
    fn small(x: f64) -> f64 {
        x + x * polynomial(x * x, DOUBLE_SMALL)
    }

    #[cfg_attr(optimized, inline(always))]
    pub(in super::super) fn erf(x: f64) -> f64 {
        // From 6 on it is 1. A comparison that keeps NaN.
        let a = if x.abs() > 6.0 { 6.0 } else { x.abs() };
        let square = a * a;
        let near = x + x * polynomial(square, DOUBLE_NEAR);
        let t = 1.0 / (1.0 + 0.3 * a);
        let s = t * 4.853_333_3 - 2.733_334_221_227_1;
        let far = 1.0 - exp_of_summand(-square) * (t * polynomial(s, DOUBLE_FAR));
        if a < 1.0 { near } else { far.copysign(x) }
    }

    /// Returns Φ(x) and e^(−x²/2).
    #[cfg_attr(optimized, inline(always))]
    fn normal(x: f64) -> (f64, f64) {
        let a = x.abs() * std::f64::consts::FRAC_1_SQRT_2;
        let bell = bell(x.abs());
        let (near, far) = (0.5 - 0.5 * small(a), 0.5 * bell * w(a));
        let tail = if a < 0.85 { near } else { far };
        (if x < 0.0 { tail } else { 1.0 - tail }, bell)
    }

    #[cfg_attr(optimized, inline(always))]
    pub(in super::super) fn gelu(x: f64) -> f64 {
        x * normal(x).0
    }

    #[cfg_attr(optimized, inline(always))]
    pub(in super::super) fn normal_cdf(x: f64) -> f64 {
        normal(x).0
    }

    #[cfg_attr(optimized, inline(always))]
    pub(in super::super) fn normal_pdf(x: f64) -> f64 {
        normal(x).1 * super::PEAK
    }

    #[cfg_attr(optimized, inline(always))]
    pub(in super::super) fn gelu_derivative(x: f64) -> f64 {
        let (below, bell) = normal(x);
        below + x * (bell * super::PEAK)
    }
}

/// 1 / √(2π)
const PEAK: f64 = 0.398_942_280_401_432_7;

/// erf x / x − 1 in x² up to 1: erf to 1.2·10⁻⁹.
const SINGLE_NEAR: [f32; 7] = [
    0.128_379_165_7,
    -0.376_126_258_2,
    0.112_835_850_5,
    -0.026_853_807_39,
    0.005_188_318_102,
    -0.000_801_010_115_1,
    0.000_078_535_287_51,
];

/// (1 − erf a) e^(a²) / t in t = 1 / (1 + 0.5 a) for a from 1 to 4: erf to 1.3·10⁻⁹.
const SINGLE_FAR: [f32; 5] = [
    0.275_492_019_4,
    0.342_269_427,
    0.029_369_191_93,
    0.556_228_938_8,
    -0.203_298_946_8,
];

/// (1 − Φ(a)) e^(a²/2) / t, times 2⁻⁶⁴, in t = 1 / (3.28 + a) for a up to 14.5, to 10⁻⁷.
const SINGLE_W: [[f32; 2]; 4] = [
    [2.162_004_732e-20, 7.139_436_078e-20],
    [1.977_944_909e-19, 7.591_679_646e-19],
    [-7.809_718_533e-19, 1.254_006_906e-17],
    [-3.383_823_433e-17, 2.658_688_094e-17],
];

/// erf x / x − 1 in x² up to 1: erf to 7·10⁻¹⁸.
const DOUBLE_NEAR: [f64; 12] = [
    0.128_379_167_095_512_565_6,
    -0.376_126_389_031_835_192_9,
    0.112_837_916_709_441_74,
    -0.026_866_170_643_109_700_6,
    0.005_223_977_606_103_573_076,
    -0.000_854_832_592_858_281_078_3,
    0.000_120_552_935_545_488_918_9,
    -0.000_014_924_711_864_396_182_6,
    1.644_712_607_808_913_554e-6,
    -1.620_627_102_016_774_881e-7,
    1.371_079_280_882_863_561e-8,
    -7.779_113_496_109_809_19e-10,
];

/// (1 − erf a) e^(a²) / t in 4.853 t − 2.733 for t = 1 / (1 + 0.3 a) and a from 1 to 6: erf to 1.3·10⁻¹⁷.
const DOUBLE_FAR: [f64; 11] = [
    0.363_354_727_184_174_155,
    0.137_200_438_489_750_822_1,
    0.042_399_155_129_671_469_37,
    0.010_562_960_136_148_483_67,
    0.002_043_849_327_156_467_854,
    0.000_280_287_093_240_420_126,
    0.000_019_410_805_297_852_878_1,
    -1.451_791_135_487_322_023e-6,
    -4.784_890_955_468_957_073e-7,
    -1.732_739_779_475_830_278e-8,
    9.039_463_281_531_942_897e-9,
];

/// erf x / x − 1 in x² up to 0.7235, to 2·10⁻¹⁷.
const DOUBLE_SMALL: [f64; 11] = [
    0.128_379_167_095_512_56,
    -0.376_126_389_031_833_43,
    0.112_837_916_709_323_22,
    -0.026_866_170_640_203_416,
    0.005_223_977_570_764_906,
    -0.000_854_832_347_878_034_7,
    0.000_120_551_894_026_937_19,
    -1.492_190_235_972_501_2e-5,
    1.639_888_330_991_983e-6,
    -1.569_546_832_473_915_7e-7,
    1.067_090_067_346_539_9e-8,
];

/// w(a) / t in s = 2.904 t − 1.314 for t = 1 / (1 + 0.3 a) and a from 0.85 to 27.5, to 2·10⁻¹⁷: up to s⁹.
const DOUBLE_W: [f64; 10] = [
    0.300_387_747_392_372_2,
    0.166_498_236_445_717_62,
    0.079_607_778_988_735_82,
    0.032_282_180_354_046_47,
    0.010_766_436_394_231_98,
    0.002_774_041_312_769_719,
    0.000_465_614_529_338_222_93,
    1.078_218_792_789_180_6e-5,
    -1.919_363_933_047_022_8e-5,
    -4.477_844_218_532_068e-6,
];

/// From s¹⁰ on.
const DOUBLE_W_HIGHER: [f64; 10] = [
    2.979_268_642_309_818_4e-7,
    3.159_064_226_817_091e-7,
    1.902_448_138_122_593_8e-8,
    -1.992_708_564_975_566_6e-8,
    -2.848_718_844_483_796_5e-9,
    1.364_103_780_506_598_9e-9,
    2.583_958_643_933_488_3e-10,
    -1.030_851_427_666_721_6e-10,
    -1.570_603_004_260_911e-11,
    6.378_614_486_988_552e-12,
];
