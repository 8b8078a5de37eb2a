//! The error function and the normal distribution, for either element type.
//!
//! 1 − erf a = e^(−a²) w(a), where w falls slowly from 1: a polynomial in 1 / (1 + pa), or in a / (p + a), gives it
//! for all a ≥ 0 to the same relative error.

use super::polynomial::polynomial;

pub(super) mod single {
    use std::f32::consts::LOG2_E;

    use super::super::exponential::single::exp_of_sum;
    use super::super::polynomial::polynomial_of_pairs;
    use super::{SINGLE_SMALL, SINGLE_W, polynomial};

    /// Returns the factors of e^(−c a²), for c of 1 or ½ and a from 0 to where the result is 0: a power of 2, and a
    /// number between ½ and 2. a is cut as in double precision.
    #[cfg_attr(optimized, inline(always))]
    fn bell(a: f32, c: f32) -> [f32; 2] {
        let z = f32::from_bits(a.to_bits() & !((1 << 12) - 1));
        exp_of_sum(-c * z * z, (z - a) * (c * z + c * a), a * a * (-c * LOG2_E))
    }

    /// Returns 1 − Φ(a), divided by e^(−a²/2), and the same times a.
    #[cfg_attr(optimized, inline(always))]
    fn w(a: f32) -> [f32; 2] {
        let t = 1.0 / (3.28 + a);
        // A polynomial that begins at a = 0, as the result falls fastest there.
        let s = t * a;
        let w = polynomial_of_pairs(s, SINGLE_W);
        [t * w, s * w]
    }

    #[cfg_attr(optimized, inline(always))]
    pub(in super::super) fn erf(x: f32) -> f32 {
        // From 4 on it is 1. A comparison that keeps NaN.
        let a = if x.abs() > 4.0 { 4.0 } else { x.abs() };
        let small = x + x * polynomial(x * x, SINGLE_SMALL);
        let [power, e] = bell(a, 1.0);
        let [w, _] = w(a * std::f32::consts::SQRT_2);
        let large = (1.0 - 2.0 * power * e * w).copysign(x);
        if a < 0.9 { small } else { large }
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
        let ([power, e], [w, _]) = (bell(a, 0.5), w(a));
        let (bell, tail) = (power * e, power * w * e);
        (if x < 0.0 { tail } else { 1.0 - tail }, bell)
    }

    #[cfg_attr(optimized, inline(always))]
    pub(in super::super) fn gelu(x: f32) -> f32 {
        let a = up_to_end(x);
        let [power, e] = bell(a, 0.5);
        let (right, a) = if x < 0.0 { (0.0, x.abs()) } else { (x, a) };
        let [_, wa] = w(a);
        // In this order, since the other factors wait for each other.
        right - power * wa * e
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
    use super::super::exponential::double::exp_of_sum;
    use super::{DOUBLE_SMALL, DOUBLE_W, DOUBLE_W_HIGHER, polynomial};

    /// Returns e^(−c a²) for c of 1 or ½ and a ≥ 0.
    ///
    /// A rounding error of a² would be one of the result, times a². So a is cut to half its digits: z, whose square
    /// is exact, and the rest is small.
    #[cfg_attr(optimized, inline(always))]
    fn bell(a: f64, c: f64) -> f64 {
        // From where on the result is 0. A comparison that keeps NaN.
        let limit = if c < 1.0 { 38.7 } else { 27.4 };
        let a = if a > limit { limit } else { a };
        let z = f64::from_bits(a.to_bits() & !((1 << 27) - 1));
        let about = a * a * (-c * std::f64::consts::LOG2_E);
        let [power, e] = exp_of_sum(-c * z * z, (z - a) * (c * z + c * a), about);
        power * e
    }

    /// Returns w(a) for a ≥ 0.85.
    #[cfg_attr(optimized, inline(always))]
    fn w(a: f64) -> f64 {
        let t = 1.0 / (1.0 + 0.3 * a);
        let s = t * 2.904_002_501_563_477 - 1.313_946_216_385_240_8;
        let s_5 = s * s * (s * s) * s;
        // In two parts, each of which the compiler unrolls.
        t * (polynomial(s, DOUBLE_W) + s_5 * s_5 * polynomial(s, DOUBLE_W_HIGHER))
    }

    /// Returns erf x for |x| < 0.85.
    #[cfg_attr(optimized, inline(always))]
    fn small(x: f64) -> f64 {
        x + x * polynomial(x * x, DOUBLE_SMALL)
    }

    #[cfg_attr(optimized, inline(always))]
    pub(in super::super) fn erf(x: f64) -> f64 {
        let a = x.abs();
        let (near, far) = (small(x), (1.0 - bell(a, 1.0) * w(a)).copysign(x));
        if a < 0.85 { near } else { far }
    }

    /// Returns Φ(x) and e^(−x²/2).
    #[cfg_attr(optimized, inline(always))]
    fn normal(x: f64) -> (f64, f64) {
        let a = x.abs() * std::f64::consts::FRAC_1_SQRT_2;
        let bell = bell(x.abs(), 0.5);
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

/// erf x / x − 1 in x² up to 0.81, to 3·10⁻¹⁰.
const SINGLE_SMALL: [f32; 7] = [
    0.128_379_17,
    -0.376_126_35,
    0.112_837_15,
    -0.026_860_508,
    0.005_203_859,
    -0.000_817_563_95,
    8.513_105e-5,
];

/// w(a) (3.28 + a) in a / (3.28 + a) for a up to 14.5, to 10⁻⁷.
const SINGLE_W: [[f32; 2]; 4] = [
    [1.640_000_08, -2.652_002_513],
    [1.878_589_244, -0.169_358_152_3],
    [-0.394_307_654_7, -0.123_295_179_2],
    [0.339_272_916, -0.120_079_251_1],
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
