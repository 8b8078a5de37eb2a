//! Conversion of random bits to numbers.
//!
//! # Note [Exact draws]
//! A seed gives the same numbers on any machine. So only `+ − × /` and `√` are used, which IEEE 754 rounds in one
//! way, in an order that the code fixes. `f64::ln` depends on the library of the platform, and the loops of `kernels`
//! fuse products where the instruction set does.

use rand_core::Rng;

/// Draws a number in [0, 1), a multiple of 2⁻⁵³.
pub(super) fn unit(generator: &mut impl Rng) -> f64 {
    (generator.next_u64() >> 11) as f64 * (f64::EPSILON / 2.0)
}

/// Draws a number in (0, 1), the middle of one of 2⁵² equal parts.
pub(super) fn inner_unit(generator: &mut impl Rng) -> f64 {
    ((generator.next_u64() >> 12) as f64 + 0.5) * f64::EPSILON
}

/// Draws a number from the standard normal distribution, with one draw of bits. Its absolute value is at most 8.3.
pub(super) fn standard_normal(generator: &mut impl Rng) -> f64 {
    quantile(inner_unit(generator))
}

/// Returns the quantile `p` of the standard normal distribution, to 16 digits: algorithm AS 241, `PPND16` (Wichura,
/// 1988).
pub(super) fn quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * polynomial(CENTER[0], r) / polynomial(CENTER[1], r);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    if tail <= 0.0 {
        return f64::INFINITY.copysign(q);
    }
    let r = (-ln(tail)).sqrt();
    let (r, [above, below]) = if r <= 5.0 {
        (r - 1.6, NEAR)
    } else {
        (r - 5.0, FAR)
    };
    (polynomial(above, r) / polynomial(below, r)).copysign(q)
}

/// Returns the share of the standard normal distribution below `x`, for `x` ≤ 0. Inverts [`quantile`] by bisection
/// between the bits of 0 and ½: an initializer calls it at most twice, so it need not be fast, and no second
/// approximation has to agree with the first.
pub(super) fn share_below(x: f64) -> f64 {
    let (mut low, mut high) = (0, 0.5_f64.to_bits());
    while high - low > 1 {
        let middle = u64::midpoint(low, high);
        if quantile(f64::from_bits(middle)) <= x {
            low = middle;
        } else {
            high = middle;
        }
    }
    if x >= 0.0 { 0.5 } else { f64::from_bits(low) }
}

/// Returns the natural logarithm of a positive number: that of its exponent, plus that of its mantissa m between √½
/// and √2, by the series 2 artanh s with s = (m − 1) / (m + 1), whose terms fall at least as fast as 0.0295ᵏ.
fn ln(x: f64) -> f64 {
    // Smaller numbers are subnormal: their exponent is 0.
    let (x, shift) = if x < f64::MIN_POSITIVE {
        (x * TWO_TO_54, 54)
    } else {
        (x, 0)
    };
    let bits = x.to_bits();
    let mut exponent = i64::from((bits >> 52) as u16) - 1023 - shift;
    let mut mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1.0_f64.to_bits());
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let mut series = 0.0;
    for odd in (1..=23).rev().step_by(2) {
        series = series * square + 1.0 / f64::from(odd);
    }
    exponent as f64 * std::f64::consts::LN_2 + 2.0 * s * series
}

const TWO_TO_54: f64 = (1_u64 << 54) as f64;

/// Evaluates a polynomial by Horner's rule, without fused products.
fn polynomial(coefficients: [f64; 8], x: f64) -> f64 {
    let from_the_highest = coefficients.into_iter().rev();
    from_the_highest.fold(0.0, |sum, coefficient| sum * x + coefficient)
}

/// Numerator and denominator for |p − ½| ≤ 0.425.
const CENTER: [[f64; 8]; 2] = [
    [
        3.387_132_872_796_366_5,
        133.141_667_891_784_38,
        1_971.590_950_306_551_3,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ],
    [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_854,
    ],
];

/// Numerator and denominator for √(−ln p) ≤ 5.
const NEAR: [[f64; 8]; 2] = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        0.022_723_844_989_269_184,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_08,
        0.015_198_666_563_616_457,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
];

/// Numerator and denominator beyond that.
const FAR: [[f64; 8]; 2] = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        0.026_532_189_526_576_124,
        0.001_242_660_947_388_078_4,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        0.599_832_206_555_888,
        0.136_929_880_922_735_8,
        0.014_875_361_290_850_615,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_right_to_the_last_digits() {
        for exponent in -1074..=0 {
            for factor in [1.0, 1.1, 1.5, 1.99] {
                let x = factor * 2.0_f64.powi(exponent / 2) * 2.0_f64.powi(exponent - exponent / 2);
                let (found, expected) = (ln(x), x.ln());
                assert!(
                    (found - expected).abs() <= 4e-16 * expected.abs().max(0.5),
                    "{x:e}"
                );
            }
        }
    }

    /// From Python's `statistics.NormalDist().inv_cdf`, which has the same algorithm, and from tables of the normal
    /// distribution.
    #[test]
    fn quantiles_are_those_of_the_normal_distribution() {
        let known = [
            (0.5, 0.0),
            (0.975, 1.959_963_984_540_054),
            (0.01, -2.326_347_874_040_840_8),
            (1e-9, -5.997_807_015_007_686_5),
            (1e-300, -37.047_096_299_361_2),
        ];
        for (p, x) in known {
            assert!(
                (quantile(p) - x).abs() <= 1e-14 * x.abs().max(1.0),
                "{p}: {}",
                quantile(p)
            );
        }
        assert_eq!(
            [quantile(0.0), quantile(1.0)],
            [f64::NEG_INFINITY, f64::INFINITY]
        );
    }

    #[test]
    fn shares_are_the_reverse_of_quantiles() {
        for p in [0.5, 0.4, 0.1, 1e-3, 1e-12, 1e-200] {
            let again = share_below(quantile(p));
            assert!((again - p).abs() <= 1e-12 * p, "{p}: {again}");
        }
        assert_eq!(share_below(f64::NEG_INFINITY), 0.0);
    }
}
