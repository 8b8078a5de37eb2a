//! ∛x and √(x² + y²), for either element type.

use super::polynomial::polynomial;

macro_rules! roots {
    (
        $module:ident, $float:ident, masked: $masked:expr, first: $first:expr,
        bounds: $bounds:expr, power: $power:expr,
    ) => {
        pub(in super::super) mod $module {
            use super::super::exponential::$module::Whole;
            use super::super::logarithm::$module::parts;
            use super::polynomial;

            /// Computes the root of a mantissa and improves it, after Halley. The first root is cut, so that its
            /// square is exact.
            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn cbrt(x: $float) -> $float {
                let (k, f) = parts(x.abs());
                let third = Whole::nearest(k * (1.0 / 3.0));
                let rest = k - 3.0 * third.number();
                let (mut scale, mut root) = (1.0, 1.0);
                if rest > 0.5 {
                    (scale, root) = (2.0, 1.259_921_049_894_873_2);
                }
                if rest < -0.5 {
                    (scale, root) = (0.5, 0.793_700_525_984_099_7);
                }
                let mantissa = 1.0 + f;
                let estimate = root * polynomial(mantissa, $first);
                let cut = $float::from_bits(estimate.to_bits() & !((1 << $masked) - 1));
                let quotient = scale * mantissa / (cut * cut);
                let better = cut + cut * ((quotient - cut) / (cut + cut + quotient));
                let result = better * third.power();
                let is_own = x == 0.0 || x.is_infinite() || x.is_nan();
                if is_own { x } else { result.copysign(x) }
            }

            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn hypot(x: $float, y: $float) -> $float {
                let (x, y) = (x.abs(), y.abs());
                let larger = if x < y { y } else { x };
                // Powers of two, so that no square is too large or too small.
                let (mut scale, mut inverse) = (1.0, 1.0);
                if larger > $bounds[1] {
                    (scale, inverse) = (1.0 / $power, $power);
                }
                if larger < $bounds[0] {
                    (scale, inverse) = ($power, 1.0 / $power);
                }
                let (a, b) = (x * scale, y * scale);
                let result = (a * a + b * b).sqrt() * inverse;
                let is_infinite = x == $float::INFINITY || y == $float::INFINITY;
                if is_infinite {
                    $float::INFINITY
                } else {
                    result
                }
            }
        }
    };
}

roots! {
    single, f32, masked: 12, first: super::CBRT_SINGLE,
    bounds: [9.094_947_017_729_282e-13, 1.152_921_504_606_847e18], power: 7.737_125_245_533_627e25,
}

roots! {
    double, f64, masked: 27, first: super::CBRT_DOUBLE,
    bounds: [3.872_591_914_849_318_3e-121, 3.273_390_607_896_142e150], power: 5.260_135_901_548_374e210,
}

/// ∛x on √½ to √2, to 10⁻⁵.
const CBRT_SINGLE: [f32; 5] = [
    0.453_688_509_4,
    0.896_739_215,
    -0.523_766_694,
    0.209_346_051_2,
    -0.036_000_192_08,
];

/// ∛x on √½ to √2, to 5·10⁻⁹.
const CBRT_DOUBLE: [f64; 9] = [
    0.364_678_943_641_823_277_1,
    1.449_166_022_085_460_311,
    -2.000_310_946_474_271_253,
    2.446_714_061_061_901_008,
    -2.160_336_697_276_172_568,
    1.309_189_957_887_712_171,
    -0.515_968_466_865_316_398_1,
    0.119_082_218_403_646_246_4,
    -0.012_215_088_962_971_431_44,
];
