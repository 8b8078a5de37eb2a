//! ln x and ln(1 + x), for either element type.
//!
//! x = 2ᵏ(1 + f) with √½ ≤ 1 + f < √2, taken from the bits of x. With s = f / (2 + f) the logarithm of 1 + f
//! is 2s + 2s³/3 + 2s⁵/5 + …, of which the terms after the first are a shorter polynomial, written as a correction to f,
//! which is exact.

use super::polynomial::polynomial;

macro_rules! logarithms {
    (
        $module:ident, $float:ident, $bits:ident,
        digits: $digits:expr, bias: $bias:expr, sqrt_half: $sqrt_half:expr,
        lift: ($lift:expr, $lifted:expr), ones: $ones_bits:expr, zero: $zero:expr,
        ln_2: [$high:expr, $low:expr], terms: $terms:expr,
    ) => {
        pub(in super::super) mod $module {
            use super::polynomial;

            /// Returns k and f of a positive x.
            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn parts(x: $float) -> ($float, $float) {
                // Subnormal numbers are scaled first. Only constants are chosen: of a choice of numbers, the compiler would
                // compute all that follows for both.
                let is_tiny = x < $float::MIN_POSITIVE;
                let lifted = x * if is_tiny { $lift } else { 1.0 };
                let offset: $bits = ($bias << $digits) - $sqrt_half;
                let bits = lifted.to_bits().wrapping_add(offset);
                // k + bias in the lowest digits of a number whose last digit counts ones; `zero` is where k is 0.
                let zero = if is_tiny { $zero + $lifted } else { $zero };
                let k = $float::from_bits((bits >> $digits) | $ones_bits) - zero;
                let mantissa = (bits & ((1 << $digits) - 1)).wrapping_add($sqrt_half);
                (k, $float::from_bits(mantissa) - 1.0)
            }

            /// Returns the logarithm of a positive finite number.
            #[cfg_attr(optimized, inline(always))]
            fn ordinary(x: $float) -> $float {
                let (k, f) = parts(x);
                let s = f / (2.0 + f);
                let rest = s * s * polynomial(s * s, $terms);
                // 2s = f − fs, where f is exact.
                let below = s * (f - rest) - k * $low;
                k * $high - (below - f)
            }

            /// Returns whether a number is positive and finite. A comparison of whole numbers: of several of floats, the
            /// compiler makes one of a dozen steps.
            #[cfg_attr(optimized, inline(always))]
            fn is_ordinary(x: $float) -> bool {
                x.to_bits().wrapping_sub(1) < $float::INFINITY.to_bits() - 1
            }

            /// Returns the logarithm of any other number: infinity and NaN are their own.
            #[cfg_attr(optimized, inline(always))]
            fn other(x: $float) -> $float {
                let result = if x < 0.0 { $float::NAN } else { x };
                if x == 0.0 {
                    $float::NEG_INFINITY
                } else {
                    result
                }
            }

            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn ln(x: $float) -> $float {
                if is_ordinary(x) {
                    ordinary(x)
                } else {
                    other(x)
                }
            }

            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn ln_1p(x: $float) -> $float {
                // What 1 + x loses in rounding, d, is added: ln(u + d) = ln u + d/u, up to rounding.
                let u = 1.0 + x;
                let lost = (x - (u - 1.0)) / u;
                let result = if is_ordinary(u) {
                    ordinary(u) + lost
                } else {
                    other(u)
                };
                result.copysign(x)
            }
        }
    };
}

logarithms! {
    single, f32, u32,
    digits: 23, bias: 127, sqrt_half: 0x3f35_04f3,
    lift: (33_554_432.0, 25.0), ones: 0x4b00_0000, zero: 8_388_735.0,
    ln_2: [0.693_138_12, 9.058_000_6e-6], terms: super::SINGLE,
}

logarithms! {
    double, f64, u64,
    digits: 52, bias: 1023, sqrt_half: 0x3fe6_a09e_667f_3bcd,
    lift: (18_014_398_509_481_984.0, 54.0), ones: 0x4330_0000_0000_0000, zero: 4_503_599_627_371_519.0,
    ln_2: [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10], terms: super::DOUBLE,
}

/// (ln(1 + f) − 2s) / s³ in s² up to 0.0294: the logarithm to 8·10⁻¹⁰.
const SINGLE: [f32; 3] = [0.666_667_76, 0.399_775_65, 0.298_712_06];

/// The same, to 1.3·10⁻¹⁸.
const DOUBLE: [f64; 7] = [
    0.666_666_666_666_673_4,
    0.399_999_999_994_156_6,
    0.285_714_287_421_892_75,
    0.222_221_985_914_637_4,
    0.181_835_634_822_234_42,
    0.153_140_695_012_982_68,
    0.147_957_856_887_761_8,
];
