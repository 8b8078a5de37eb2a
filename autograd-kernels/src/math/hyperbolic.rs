//! sinh x, cosh x and the inverse functions of sinh, cosh and tanh, for either element type.

use super::polynomial::polynomial;

macro_rules! hyperbolic {
    ($module:ident, $float:ident, sinh: $sinh:expr, large: $large:expr,) => {
        pub(in super::super) mod $module {
            use super::super::exponential::$module::half_exp;
            use super::super::logarithm::$module::ln_1p;
            use super::polynomial;

            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn sinh(x: $float) -> $float {
                let a = x.abs();
                let square = x * x;
                let near = a + a * (square * polynomial(square, $sinh));
                let half = half_exp(a);
                let far = half - 0.25 / half;
                (if a < 1.0 { near } else { far }).copysign(x)
            }

            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn cosh(x: $float) -> $float {
                let half = half_exp(x.abs());
                half + 0.25 / half
            }

            /// Returns ln(1 + a), or ln 2a for a large number.
            #[cfg_attr(optimized, inline(always))]
            fn ln_1p_or_twice(a: $float, is_large: bool) -> $float {
                let ln_2 = std::$float::consts::LN_2;
                ln_1p(a) + if is_large { ln_2 } else { 0.0 }
            }

            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn asinh(x: $float) -> $float {
                let a = x.abs();
                let is_large = a > $large;
                let square = a * a;
                let root = (1.0 + square).sqrt();
                let near = a + square / (1.0 + root);
                let a = if is_large { a } else { near };
                ln_1p_or_twice(a, is_large).copysign(x)
            }

            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn acosh(x: $float) -> $float {
                let is_large = x > $large;
                let above = x - 1.0;
                let near = above + (above * (x + 1.0)).sqrt();
                let result = ln_1p_or_twice(if is_large { x } else { near }, is_large);
                if x < 1.0 { $float::NAN } else { result }
            }

            #[cfg_attr(optimized, inline(always))]
            pub(in super::super) fn atanh(x: $float) -> $float {
                let a = x.abs();
                (0.5 * ln_1p((a + a) / (1.0 - a))).copysign(x)
            }
        }
    };
}

hyperbolic! {
    single, f32, sinh: super::SINH_SINGLE, large: 1e8,
}

hyperbolic! {
    double, f64, sinh: super::SINH_DOUBLE, large: 1e17,
}

/// (sinh x / x − 1) / x² in x² up to 1, to 2·10⁻¹⁰.
const SINH_SINGLE: [f32; 4] = [
    0.166_666_666_5,
    0.008_333_339_676,
    0.000_198_381_019_7,
    2.806_280_258e-6,
];

/// (sinh x / x − 1) / x² in x² up to 1, to 3·10⁻²².
const SINH_DOUBLE: [f64; 8] = [
    0.166_666_666_666_666_666_7,
    0.008_333_333_333_333_333_366,
    0.000_198_412_698_412_697_732,
    2.755_731_922_404_033_86e-6,
    2.505_210_836_405_804_075e-8,
    1.605_904_839_635_056_164e-10,
    7.646_625_361_656_657_656e-13,
    2.844_526_416_989_528_563e-15,
];
