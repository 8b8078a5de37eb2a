//! ln x and ln(1 + x), for either element type.
//!
//! x = 2ᵏ(1 + f) with √½ ≤ 1 + f < √2, taken from the bits of x. With s = f / (2 + f) the logarithm of 1 + f
//! is 2s + 2s³/3 + 2s⁵/5 + …, written as a correction to f, which is exact.

use super::polynomial::polynomial;

/// 2/3, 2/5, 2/7, …
macro_rules! terms {
    ($float:ident, $terms:expr) => {{
        let mut terms = [0.0; $terms];
        let mut i = 0;
        while i < $terms {
            terms[i] = 2.0 / (2 * i + 3) as $float;
            i += 1;
        }
        terms
    }};
}

macro_rules! logarithms {
    (
        $module:ident, $float:ident, $bits:ident,
        digits: $digits:expr, bias: $bias:expr, sqrt_half: $sqrt_half:expr,
        lift: ($lift:expr, $lifted:expr), ones: $ones_bits:expr, zero: $zero:expr,
        ln_2: [$high:expr, $low:expr], terms: $terms:expr,
    ) => {
        pub(in super::super) mod $module {
            use super::polynomial;

            const TERMS: [$float; $terms] = terms!($float, $terms);

            /// Returns k and f of a positive x.
            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn parts(x: $float) -> ($float, $float) {
                // Subnormal numbers are scaled first.
                let is_tiny = x < $float::MIN_POSITIVE;
                let lifted = if is_tiny { x * $lift } else { x };
                let offset: $bits = ($bias << $digits) - $sqrt_half;
                let bits = lifted.to_bits().wrapping_add(offset);
                // k + bias in the lowest digits of a number whose last digit counts ones; `zero` is where k is 0.
                let k = $float::from_bits((bits >> $digits) | $ones_bits) - $zero;
                let mantissa = (bits & ((1 << $digits) - 1)).wrapping_add($sqrt_half);
                let k = if is_tiny { k - $lifted } else { k };
                (k, $float::from_bits(mantissa) - 1.0)
            }

            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn ln(x: $float) -> $float {
                let (k, f) = parts(x);
                let s = f / (2.0 + f);
                let half_square = 0.5 * f * f;
                let rest = s * s * polynomial(s * s, TERMS);
                let below = half_square - (s * (half_square + rest) + k * $low);
                let result = k * $high - (below - f);
                // Infinity, and what is not a number, are their own logarithms.
                let result = if x < $float::INFINITY { result } else { x };
                let result = if x < 0.0 { $float::NAN } else { result };
                if x == 0.0 {
                    $float::NEG_INFINITY
                } else {
                    result
                }
            }

            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn ln_1p(x: $float) -> $float {
                // What 1 + x loses in rounding, d, is added: ln(u + d) = ln u + d/u, up to rounding.
                let u = 1.0 + x;
                let lost = (x - (u - 1.0)) / u;
                let lost = if u > 0.0 { lost } else { 0.0 };
                let lost = if u < $float::INFINITY { lost } else { 0.0 };
                (ln(u) + lost).copysign(x)
            }
        }
    };
}

logarithms! {
    single, f32, u32,
    digits: 23, bias: 127, sqrt_half: 0x3f35_04f3,
    lift: (33_554_432.0, 25.0), ones: 0x4b00_0000, zero: 8_388_735.0,
    ln_2: [0.693_138_12, 9.058_000_6e-6], terms: 5,
}

logarithms! {
    double, f64, u64,
    digits: 52, bias: 1023, sqrt_half: 0x3fe6_a09e_667f_3bcd,
    lift: (18_014_398_509_481_984.0, 54.0), ones: 0x4330_0000_0000_0000, zero: 4_503_599_627_371_519.0,
    ln_2: [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10], terms: 11,
}
