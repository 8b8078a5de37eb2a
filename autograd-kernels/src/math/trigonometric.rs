//! sin x, cos x and tan x, for either element type.
//!
//! |x| = n π/2 + r with a whole n and |r| ≤ π/4. Then sin x, up to its sign, is a polynomial for the sine of r or one
//! for its cosine, and tan x is one for the tangent of r, or −1 divided by it. r is two numbers, the second a
//! correction of the first.

use super::polynomial::polynomial;
use super::quarter_turns;

macro_rules! trigonometric {
    ($module:ident, $float:ident, $bits:ident, $reduced:path, $sin:expr, $cos:expr, $tan:expr,) => {
        pub(in super::super) mod $module {
            use super::polynomial;
            use $reduced as reduced;

            const SIGN: $bits = 1 << ($bits::BITS - 1);

            /// Returns the sine and the cosine of `r + low`.
            #[cfg_attr(optimized, inline(always))]
            fn sine_and_cosine(r: $float, low: $float) -> ($float, $float) {
                let square = r * r;
                let half = 0.5 * square;
                let near_cosine = 1.0 - half;
                let sine = r + (low * near_cosine + r * square * polynomial(square, $sin));
                let lost = (1.0 - near_cosine) - half;
                let rest = square * square * polynomial(square, $cos) - r * low;
                (sine, near_cosine + (lost + rest))
            }

            /// Returns the sine of n quarter turns more than `r + low`, times the sign.
            #[cfg_attr(optimized, inline(always))]
            fn turned(n: $bits, r: $float, low: $float, sign: $bits) -> $float {
                let (sine, cosine) = sine_and_cosine(r, low);
                let result = if n & 1 == 0 { sine } else { cosine };
                let flip = (n & 2) << ($bits::BITS - 2);
                $float::from_bits(result.to_bits() ^ flip ^ sign)
            }

            #[cfg_attr(optimized, inline(always))]
            pub(crate) fn sin(x: $float) -> $float {
                let (n, r, low) = reduced(x.abs());
                let result = turned(n, r, low, x.to_bits() & SIGN);
                finite(x, result)
            }

            #[cfg_attr(optimized, inline(always))]
            pub(crate) fn cos(x: $float) -> $float {
                let (n, r, low) = reduced(x.abs());
                finite(x, turned(n + 1, r, low, 0))
            }

            #[cfg_attr(optimized, inline(always))]
            pub(crate) fn tan(x: $float) -> $float {
                let (n, r, low) = reduced(x.abs());
                let square = r * r;
                let cubic = r * square * polynomial(square, $tan);
                let near = r + cubic;
                let rest = cubic + low * (1.0 + near * near);
                let tan = r + rest;
                let lost = rest - (tan - r);
                let inverse = 1.0 / tan;
                let odd = inverse * (inverse * lost) - inverse;
                let result = if n & 1 == 0 { tan } else { odd };
                let signed = $float::from_bits(result.to_bits() ^ (x.to_bits() & SIGN));
                finite(x, signed)
            }

            /// Returns the result for a finite x, else NaN.
            #[cfg_attr(optimized, inline(always))]
            fn finite(x: $float, result: $float) -> $float {
                if x.abs() < $float::INFINITY {
                    result
                } else {
                    $float::NAN
                }
            }
        }
    };
}

trigonometric! {
    single, f32, u32, super::quarter_turns::single::reduced, super::SIN_SINGLE, super::COS_SINGLE, super::TAN_SINGLE,
}

trigonometric! {
    single_near, f32, u32, super::quarter_turns::single::near, super::SIN_SINGLE, super::COS_SINGLE, super::TAN_SINGLE,
}

trigonometric! {
    double_near, f64, u64, super::quarter_turns::double::near, super::SIN_DOUBLE, super::COS_DOUBLE, super::TAN_DOUBLE,
}

trigonometric! {
    double, f64, u64, super::quarter_turns::double::reduced, super::SIN_DOUBLE, super::COS_DOUBLE, super::TAN_DOUBLE,
}

/// (sin r / r − 1) / r² in r² up to (π/4)², to 3·10⁻¹¹.
const SIN_SINGLE: [f32; 4] = [
    -0.166_666_666_6,
    0.008_333_331_873,
    -0.000_198_400_857_9,
    2.724_980_35e-6,
];

/// (cos r − 1 + r²/2) / r⁴ in r² up to (π/4)², to 2·10⁻⁹.
const COS_SINGLE: [f32; 3] = [0.041_666_664_66, -0.001_388_830_257, 2.454_784_115e-5];

/// (tan r / r − 1) / r² in r² up to (π/4)², to 9·10⁻⁹.
const TAN_SINGLE: [f32; 7] = [
    0.333_333_339_8,
    0.133_332_306_5,
    0.053_994_528_41,
    0.021_620_626_15,
    0.009_963_904_47,
    0.001_182_514_606,
    0.003_844_805_088,
];

/// (sin r / r − 1) / r² in r² up to (π/4)², to 2·10⁻²⁰.
const SIN_DOUBLE: [f64; 7] = [
    -0.166_666_666_666_666_666_7,
    0.008_333_333_333_333_331_488,
    -0.000_198_412_698_412_650_554,
    2.755_731_921_933_173_775e-6,
    -2.505_210_622_986_759_067e-8,
    1.605_853_121_013_086_437e-10,
    -7.586_673_021_289_394_128e-13,
];

/// (cos r − 1 + r²/2) / r⁴ in r² up to (π/4)², to 10⁻²¹.
const COS_DOUBLE: [f64; 7] = [
    0.041_666_666_666_666_666_67,
    -0.001_388_888_888_888_888_786,
    2.480_158_730_158_464_112e-5,
    -2.755_731_922_139_869_419e-7,
    2.087_675_578_964_601_086e-9,
    -1.147_046_066_029_475_23e-11,
    4.745_858_504_871_072_357e-14,
];

/// (tan r / r − 1) / r² in r² up to (π/4)², to 7·10⁻¹⁸.
const TAN_DOUBLE: [f64; 15] = [
    0.333_333_333_333_333_337_9,
    0.133_333_333_333_329_985_4,
    0.053_968_253_968_657_928_63,
    0.021_869_488_516_964_837_19,
    0.008_863_236_006_012_673_882,
    0.003_592_120_945_780_083_093,
    0.001_455_903_048_130_225_036,
    0.000_589_573_747_790_184_386_9,
    0.000_241_234_117_538_329_285_9,
    8.996_241_334_228_970_635e-5,
    5.563_467_369_742_758_395e-5,
    -1.107_954_397_859_186_436e-5,
    3.657_676_823_120_137_959e-5,
    -1.834_806_860_433_943_705e-5,
    8.491_226_351_502_120_536e-6,
];
