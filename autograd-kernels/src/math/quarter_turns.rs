//! The reduction of an angle to less than an eighth of a turn, for numbers of any size, after Payne and Hanek.
//!
//! x · 2/π modulo 4 is the quadrant, and what is over. A number is its mantissa, a whole number, times a power of two:
//! of the binary digits of 2/π those before the quadrant's two are left out, as their product is a multiple of 4, and
//! of those behind as many are taken as the result needs. The product of whole numbers is exact.
//!
//! That takes up to three times as long as the rest of the function, so numbers up to [`NEAR`] are reduced after Cody and
//! Waite: n π/2 is subtracted in parts, of which the products with n are exact. A number is reduced in the same way whatever
//! numbers are beside it, and a loop that knows its numbers to be near has no need to compute both.
//!
//! Numbers of single precision are counted in turns in double precision: the product with most digits of 1/π is exact, and
//! so is what is left of it without the whole turns. For sines and cosines these are half turns, as up to a quarter turn on
//! both sides there is one polynomial for both.

/// The largest number that is near: a quadrant of such a number has 14 digits.
pub(crate) const NEAR: f64 = 25_000.0;

/// Added to a number below 2⁵¹, it moves the whole part to the lowest digits.
const ROUND: f64 = 1.5 / f64::EPSILON;

const LOW_HALF: u64 = 0xffff_ffff;

/// A quadrant, two digits, in the highest digits of a number.
const QUADRANT: u32 = 62;

/// Returns 64 binary digits, from the digit `shift` of `high` on.
#[cfg_attr(optimized, inline(always))]
const fn window(high: u64, next: u64, shift: u64) -> u64 {
    // In two steps: a shift by 64 is not defined.
    (high << shift) | ((next >> 1) >> (63 - shift))
}

/// Returns the nearest whole number of quarter turns, of which the lowest two digits count, and the rest.
#[cfg_attr(optimized, inline(always))]
fn rounded(turns: u64) -> (u64, i64) {
    let lifted = turns.wrapping_add(1 << (QUADRANT - 1));
    let rest = (lifted & ((1 << QUADRANT) - 1)).cast_signed() - (1 << (QUADRANT - 1));
    (lifted >> QUADRANT, rest)
}

pub(super) mod single {
    use super::{LOW_HALF, NEAR, QUADRANT, ROUND, rounded, window};

    /// The digits of 2/π, after as many zeros as the smallest number needs.
    const DIGITS: [u64; 4] = [
        0x0000_0028_be60_db93,
        0x9105_4a7f_09d5_f47d,
        0x4d37_7036_d8a5_664f,
        0x10e4_107f_9458_eaf7,
    ];

    /// 1/π in two parts, the first of 29 digits: its product with a number of single precision is exact.
    const HALF_TURNS: [f64; 2] = [0.318_309_885_449_707_5, 7.340_831_634_506_093e-10];

    /// Returns x modulo a turn: two digits of quarter turns, and 62 digits behind them. For x ≥ 0.
    #[cfg_attr(optimized, inline(always))]
    fn turns(x: f32) -> u64 {
        let bits = x.to_bits();
        // The binary exponent + 1: where the window begins.
        let start = (bits >> 23).max(126) - 126;
        let last = start.min(127);
        let mantissa = u64::from(((bits & 0x007f_ffff) | 0x0080_0000) << (start - last));
        let shift = u64::from(last & 63);
        let [a, b, c, d] = DIGITS;
        let (first, second, third) = if last < 64 { (a, b, c) } else { (b, c, d) };
        let high = window(first, second, shift);
        let low = window(second, third, shift) >> 32;
        (mantissa * (high & LOW_HALF))
            .wrapping_add((mantissa * (high >> 32)) << 32)
            .wrapping_add((mantissa * low) >> 32)
    }

    /// Returns an angle of at most half a half turn, in half turns, that has the sine of x, or its cosine; NaN if x is not
    /// finite.
    #[cfg_attr(optimized, inline(always))]
    pub(in super::super) fn sine_of<const COSINE: bool>(x: f32) -> f64 {
        if f64::from(x.abs()) <= NEAR {
            near_sine_of::<COSINE>(x)
        } else {
            far_sine_of::<COSINE>(x)
        }
    }

    /// Returns what [`sine_of`] returns, for |x| up to [`NEAR`].
    #[cfg_attr(optimized, inline(always))]
    pub(in super::super) fn near_sine_of<const COSINE: bool>(x: f32) -> f64 {
        let angle = f64::from(x);
        let [first, rest] = HALF_TURNS;
        let turns = angle * first;
        // A sine has the cosine's value a quarter turn later.
        let lifted = if COSINE { turns + 0.5 } else { turns } + ROUND;
        let whole = lifted - ROUND;
        let left = turns - if COSINE { whole - 0.5 } else { whole };
        signed(left + angle * rest, lifted.to_bits())
    }

    /// Returns what [`sine_of`] returns, for |x| above [`NEAR`].
    #[cfg_attr(optimized, inline(always))]
    fn far_sine_of<const COSINE: bool>(x: f32) -> f64 {
        let quarter = 1 << QUADRANT;
        let before = if COSINE { quarter } else { 0 };
        let lifted = turns(x.abs()).wrapping_add(before + quarter);
        let rest = (lifted & (2 * quarter - 1)).cast_signed() - quarter.cast_signed();
        let sign = if COSINE {
            0
        } else {
            u64::from(x.to_bits() >> 31)
        };
        signed(0.5 * digits(x, rest), (lifted >> 63) ^ sign)
    }

    /// Returns a number, with the other sign if n is odd.
    #[cfg_attr(optimized, inline(always))]
    fn signed(x: f64, n: u64) -> f64 {
        f64::from_bits(x.to_bits() ^ (n << 63))
    }

    /// Returns n, of which the lowest digit counts, and an angle of at most half a quarter turn: x is n quarter turns more,
    /// which the angle is counted in. NaN if x is not finite.
    #[cfg_attr(optimized, inline(always))]
    pub(in super::super) fn tangent_of(x: f32) -> (u64, f64) {
        if f64::from(x.abs()) <= NEAR {
            near_tangent_of(x)
        } else {
            far_tangent_of(x)
        }
    }

    /// Returns what [`tangent_of`] returns, for |x| up to [`NEAR`].
    #[cfg_attr(optimized, inline(always))]
    pub(in super::super) fn near_tangent_of(x: f32) -> (u64, f64) {
        let angle = f64::from(x);
        let [first, rest] = HALF_TURNS.map(|part| 2.0 * part);
        let turns = angle * first;
        let lifted = turns + ROUND;
        (lifted.to_bits(), (turns - (lifted - ROUND)) + angle * rest)
    }

    /// Returns what [`tangent_of`] returns, for |x| above [`NEAR`].
    #[cfg_attr(optimized, inline(always))]
    fn far_tangent_of(x: f32) -> (u64, f64) {
        let (n, rest) = rounded(turns(x.abs()));
        (n, signed(digits(x, rest), u64::from(x.to_bits() >> 31)))
    }

    /// Returns a number of digits behind that of the quarter turns; NaN if x is not finite.
    #[cfg_attr(optimized, inline(always))]
    #[expect(
        clippy::cast_precision_loss,
        reason = "the rounding error is far below that of single precision"
    )]
    fn digits(x: f32, rest: i64) -> f64 {
        const UNIT: f64 = 1.0 / (1_u64 << QUADRANT) as f64;
        if x.abs() < f32::INFINITY {
            rest as f64 * UNIT
        } else {
            f64::NAN
        }
    }
}

pub(super) mod double {
    use super::{LOW_HALF, NEAR, ROUND, rounded};

    /// π/2 in three parts, the first two of 39 digits.
    const PARTS: [f64; 3] = [
        1.570_796_326_792_333_3,
        2.563_344_151_590_573_2e-12,
        3.945_554_166_563_205_5e-24,
    ];

    /// The digits of 2/π, after as many zeros as the smallest number needs.
    const DIGITS: [u64; 20] = [
        0x0000_0000_0000_0145,
        0xf306_dc9c_882a_53f8,
        0x4eaf_a3ea_69bb_81b6,
        0xc52b_3278_8720_83fc,
        0xa2c7_57bd_778a_c36e,
        0x48dc_7484_9ba5_c00c,
        0x925d_d413_a324_39fc,
        0x3bd6_3962_534e_7dd1,
        0x046b_ea5d_7689_09d3,
        0x38e0_4d68_befc_8273,
        0x23ac_7306_a673_e939,
        0x08bf_177b_f250_763f,
        0xf12f_ffbc_0b30_1fde,
        0x5e23_16b4_14da_3eda,
        0x6cfd_9e4f_9613_6e9e,
        0x8c7e_cd3c_bfd4_5aea,
        0x4f75_8fd7_cbe2_f67a,
        0x0e73_ef14_a525_d4d7,
        0xf6bf_623f_1aba_10ac,
        0x0660_8df8_f6d7_57e1,
    ];

    /// 64 of the digits from each eighth on, so that loads give what shifts of less than eight places need. Zeros at
    /// the end, so that every index of eight binary digits is valid.
    const WINDOWS: [u64; 256 + 14] = {
        let mut windows = [0; 256 + 14];
        let mut byte = 0;
        while byte < 8 * (DIGITS.len() - 1) {
            let (word, shift) = (byte / 8, byte % 8 * 8);
            windows[byte] = super::window(DIGITS[word], DIGITS[word + 1], shift as u64);
            byte += 1;
        }
        windows
    };

    /// π/2 · 2⁻⁶², its first 26 digits, and the rest.
    const UNIT: f64 = 3.406_121_580_086_554_5e-19;
    const UNIT_HIGH: f64 = 3.406_121_545_623_552e-19;
    const UNIT_LOW: f64 = 3.446_300_270_664_977e-27;

    /// Returns n, r and its correction, for x ≥ 0.
    #[cfg_attr(optimized, inline(always))]
    pub(in super::super) fn reduced(x: f64) -> (u64, f64, f64) {
        if x <= NEAR { near(x) } else { far(x) }
    }

    /// Returns n, r and its correction, for 0 ≤ x ≤ [`NEAR`]. Next to no multiple of π/2 is r less than 2⁻⁶¹, and
    /// the error is less than 2⁻¹¹⁵.
    #[cfg_attr(optimized, inline(always))]
    pub(in super::super) fn near(x: f64) -> (u64, f64, f64) {
        let lifted = x * std::f64::consts::FRAC_2_PI + ROUND;
        let n = lifted - ROUND;
        let [first, second, third] = PARTS;
        let left = x - n * first;
        let r = left - n * second;
        let correction = ((left - r) - n * second) - n * third;
        (lifted.to_bits(), r, correction)
    }

    /// Returns n, r and its correction, for x > [`NEAR`].
    #[cfg_attr(optimized, inline(always))]
    fn far(x: f64) -> (u64, f64, f64) {
        let bits = x.to_bits();
        // The binary exponent + 1, which is positive: where the window begins.
        let start = (bits >> 52).wrapping_sub(1022);
        let mantissa = (bits & 0x000f_ffff_ffff_ffff) | 0x0010_0000_0000_0000;
        let (byte, shift) = ((start >> 3) as usize & 255, start & 7);
        // Of the first two 56 digits each, with zeros behind them.
        let first = (WINDOWS[byte] << shift) & !0xff;
        let second = (WINDOWS[byte + 7] << shift) & !0xff;
        let third = WINDOWS[byte + 14] << shift;
        let (high, low) = product(mantissa, first, second, third);
        let (n, rest) = rounded(high);
        let (r, correction) = angle(rest, low);
        (n, r, correction)
    }

    /// Returns the first 128 digits of the product of a mantissa and 112 + 64 digits, modulo 4, to some hundred units.
    #[cfg_attr(optimized, inline(always))]
    fn product(mantissa: u64, first: u64, second: u64, third: u64) -> (u64, u64) {
        let whole = mantissa.wrapping_mul(first);
        // Products of halves, for which processors have vector instructions.
        let lifted = mantissa << 8;
        let (m1, m0) = (lifted >> 32, lifted & LOW_HALF);
        let (b1, b0) = (second >> 32, second & LOW_HALF);
        let (c1, c0) = (third >> 32, third & LOW_HALF);
        let of_third = m1 * c1 + ((m0 * c1) >> 32) + ((m1 * c0) >> 32);
        let lowest = m0 * b0;
        let middle = m0 * b1 + (lowest >> 32);
        let other = m1 * b0 + (middle & LOW_HALF);
        let low = (other << 32) | (lowest & LOW_HALF);
        let high = m1 * b1 + (middle >> 32) + (other >> 32);
        let sum = low.wrapping_add(of_third << 8);
        let carry = (of_third >> 56) + u64::from(sum < low);
        (whole.wrapping_add(high).wrapping_add(carry), sum)
    }

    /// Returns π/2 · 2⁻⁶² times `rest`, whose next 64 digits are `low`, as a number and a correction.
    #[cfg_attr(optimized, inline(always))]
    #[expect(
        clippy::cast_precision_loss,
        reason = "the first has 53 digits; more than that of the second do not count"
    )]
    fn angle(rest: i64, low: u64) -> (f64, f64) {
        // Rounded, so that a rest of either sign is in the second alone if it is small.
        let front = (rest + 0x200) & !0x3ff;
        let after = ((rest - front) << 53) + (low >> 11).cast_signed();
        let (first, second) = (front as f64, after as f64 * f64::EPSILON * 0.5);
        let sum = first + second;
        let lost = (first - sum) + second;
        // The product of 26 digits and 26 is exact.
        let high = f64::from_bits(sum.to_bits() & !((1 << 27) - 1));
        let low = sum - high;
        let r = sum * UNIT;
        let error = ((high * UNIT_HIGH - r) + low * UNIT_HIGH) + sum * UNIT_LOW;
        (r, error + lost * UNIT)
    }
}
