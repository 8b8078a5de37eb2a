#![allow(
    clippy::redundant_closure_for_method_calls,
    reason = "the closures show what is differentiated"
)]
#![allow(
    clippy::eq_op,
    clippy::neg_cmp_op_on_partial_ord,
    clippy::nonminimal_bool,
    reason = "each comparison is tested as it is written"
)]

use std::f64::consts::LN_2;

use super::super::dual::Dual;
use crate::element::number::{Number, Single};
use crate::element::real::Real;
use crate::math;

type Along = Dual<f64, 1>;
type Twice = Dual<Dual<f64, 2>, 1>;

/// Returns the derivative at a number.
fn slope(f: impl Fn(Along) -> Along, x: f64) -> f64 {
    f(Dual::variable(x, 0)).tangent(0).unwrap_or(0.0)
}

/// Returns the derivatives with respect to two numbers.
fn slopes(f: impl Fn(Dual<f64, 2>, Dual<f64, 2>) -> Dual<f64, 2>, x: f64, y: f64) -> [f64; 2] {
    let result = f(Dual::variable(x, 0), Dual::variable(y, 1));
    [0, 1].map(|index| result.tangent(index).unwrap_or(0.0))
}

/// Returns the second derivatives, computed with respect to each of two numbers along each.
fn hessian<F>(f: F, x: f64, y: f64) -> [[f64; 2]; 2]
where
    F: Fn(Twice, Twice) -> Twice,
{
    let row = |along: usize| {
        let direction = |index| Dual::constant(f64::from(index == along));
        let x = Dual::along(Dual::variable(x, 0), [direction(0)], true);
        let y = Dual::along(Dual::variable(y, 1), [direction(1)], true);
        let first = f(x, y).tangent(0).unwrap();
        [0, 1].map(|index| first.tangent(index).unwrap_or(0.0))
    };
    [row(0), row(1)]
}

#[test]
fn single_precision_is_that_of_f32() {
    macro_rules! same {
        ($x:ident: $($function:ident = $expected:path),*) => {$(
            let found = Single::of($x).$function().element();
            assert_eq!(found.to_bits(), $expected($x).to_bits(), concat!(stringify!($function), " of {}"), $x);
        )*};
    }
    for x in [
        -3.0_f32,
        -1.5,
        -0.3,
        -0.0,
        0.0,
        1e-30,
        0.25,
        0.7,
        1.0,
        2.5,
        40.0,
        f32::INFINITY,
    ] {
        same!(x: sqrt = f32::sqrt, cbrt = math::cbrt, recip = f32::recip, abs = f32::abs, signum = f32::signum,
            floor = f32::floor, round = f32::round, sin = math::sin, cos = math::cos, tan = math::tan,
            asin = math::asin, acos = math::acos, atan = math::atan, sinh = math::sinh, cosh = math::cosh,
            asinh = math::asinh, acosh = math::acosh, atanh = math::atanh, exp = math::exp, exp_m1 = math::exp_m1, ln = math::ln,
            ln_1p = math::ln_1p, tanh = math::tanh, sigmoid = math::sigmoid, erf = math::erf, gelu = math::gelu,
            softplus = math::softplus,  normal_cdf = math::normal_cdf,
            normal_pdf = math::normal_pdf);
        let (number, y) = (Single::of(x), 0.7_f32);
        for n in -5..=6 {
            let (found, expected) = (number.powi(n).element(), x.powi(n));
            let is_close = (found - expected).abs() <= 4.0 * f32::EPSILON * expected.abs();
            assert!(
                is_close || found.to_bits() == expected.to_bits(),
                "{x}, {n}: {found} {expected}"
            );
        }
        // An `f64` beside it is rounded first.
        let found = [
            number + 0.7,
            number - 0.7,
            number * 0.7,
            number / 0.7,
            0.7 + number,
            0.7 - number,
            0.7 * number,
            0.7 / number,
            number.powf(0.7),
            number.atan2(0.7),
            number.hypot(0.7),
            Real::max(number, 0.7),
            Real::min(number, 0.7),
            number.mul_add(0.7, 0.7),
            -number,
        ];
        let expected = [
            x + y,
            x - y,
            x * y,
            x / y,
            y + x,
            y - x,
            y * x,
            y / x,
            math::powf(x, y),
            math::atan2(x, y),
            math::hypot(x, y),
            x.max(y),
            x.min(y),
            x * y + y,
            -x,
        ];
        assert_eq!(
            found.map(|found| found.element().to_bits()),
            expected.map(f32::to_bits),
            "{x}"
        );
    }
    let rounded = Single::of(0.1);
    assert!(rounded == 0.1 && rounded <= 0.1 && !(rounded < 0.1) && rounded < 0.2);
    assert_eq!(
        [rounded, rounded].into_iter().sum::<Single>(),
        rounded * 2.0
    );
}

/// The kinks of functions that tensors have too are in `tests/it/expressions/kinks.rs`.
#[test]
fn kinks_and_edges_have_the_documented_derivatives() {
    for zero in [0.0, -0.0] {
        assert_eq!(slope(Along::cbrt, zero), f64::INFINITY);
        assert_eq!(slopes(|x, y| x.hypot(y), zero, 0.0), [0.0; 2]);
    }
    assert_eq!(Real::clamp(0.0, 1.0, -1.0), -1.0);
    assert_eq!(slope(Along::asin, 1.0), f64::INFINITY);
    assert_eq!(slope(Along::acos, -1.0), f64::NEG_INFINITY);
    assert_eq!(slope(Along::acosh, 1.0), f64::INFINITY);
    assert_eq!(slope(Along::atanh, -1.0), f64::INFINITY);
    for constant in [Along::signum, Along::floor, Along::round, Along::detach] {
        assert_eq!(constant(Dual::variable(0.3, 0)).tangent(0), None);
    }
}

/// The value of a number with derivatives of derivatives has a derivative of its own.
#[test]
fn equal_numbers_share_the_second_derivative() {
    let x = Dual::<Dual<f64, 1>, 1>::variable(Dual::variable(1.5, 0), 0);
    for equal in [
        x.max(x.detach()),
        x.detach().max(x),
        x.min(x.detach()),
        x.detach().min(x),
    ] {
        assert_eq!((equal.value.value, equal.value.signed(0)), (1.5, 0.5));
        assert_eq!(equal.signed(0).value, 0.5);
        // Of m², 2 m′ m′.
        assert_eq!((equal * equal).signed(0).signed(0), 0.5);
    }
}

#[test]
fn equal_numbers_share_the_derivative_and_nan_stays() {
    for (larger, smaller) in [(2.0, 1.0), (0.0, -1.0)] {
        assert_eq!(slopes(|x, y| x.max(y), larger, smaller), [1.0, 0.0]);
        assert_eq!(slopes(|x, y| x.max(y), smaller, larger), [0.0, 1.0]);
        assert_eq!(slopes(|x, y| x.min(y), larger, smaller), [0.0, 1.0]);
        assert_eq!(slopes(|x, y| x.min(y), smaller, larger), [1.0, 0.0]);
    }
    for (x, y) in [(1.5, 1.5), (0.0, -0.0)] {
        assert_eq!(slopes(|x, y| x.max(y), x, y), [0.5; 2]);
        assert_eq!(slopes(|x, y| x.min(y), x, y), [0.5; 2]);
    }
    // Against a literal one half alone.
    assert_eq!(slope(|x| x.max(0.0), 0.0), 0.5);
    assert_eq!(slope(|x| x.min(0.0), 0.0), 0.5);
    let nan = f64::NAN;
    for (x, y) in [(nan, 1.0), (1.0, nan), (nan, nan)] {
        assert!(Real::max(x, y).is_nan() && Real::min(x, y).is_nan());
        let (x, y) = (Along::constant(x), Along::constant(y));
        assert!(x.max(y).value.is_nan() && x.min(y).value.is_nan());
    }
}

#[test]
fn powers() {
    for x in [0.0, -2.0, 3.0, f64::INFINITY] {
        assert_eq!(slope(|x| x.powi(0), x), 0.0);
        assert_eq!(slope(|x| x.powf(0.0), x), 0.0);
        assert_eq!(slope(|x| x.powi(1), x), 1.0);
    }
    assert_eq!(slope(|x| x.powi(i32::MIN), -1.0), -f64::from(i32::MIN));
    assert_eq!(slopes(|x, p| x.powf(p), 0.0, 2.0), [0.0, 0.0]);
    assert_eq!(slopes(|x, p| x.powf(p), 0.0, 0.5), [f64::INFINITY, 0.0]);
    assert_eq!(slopes(|x, p| x.powf(p), 2.0, 3.0), [12.0, 8.0 * LN_2]);
    assert_eq!(slopes(|x, p| x.powf(p), 2.0, 0.0), [0.0, LN_2]);
}

/// p xᵖ⁻¹ is 0 for p = 0, but its derivative with respect to p is 1/x.
#[test]
fn second_derivatives_of_powers_are_symmetric() {
    for p in [0.0, 1.0, 2.0, -1.5] {
        let [[_, mixed], [other, _]] = hessian(|x, p| x.powf(p), 2.0, p);
        let expected = 2_f64.powf(p - 1.0) * (1.0 + p * LN_2);
        assert!((mixed - expected).abs() < 1e-14, "{p}: {mixed} {expected}");
        assert!((other - expected).abs() < 1e-14, "{p}: {other} {expected}");
    }
}

/// The second derivatives are x / (1 − x²)^1.5, its opposite, and 2x / (1 − x²)².
#[test]
fn second_derivatives_of_arcs_are_exact_near_0() {
    let functions: [fn(Twice) -> Twice; 3] = [Twice::asin, Twice::acos, Twice::atanh];
    let factors = [1.0, -1.0, 2.0];
    for x in [1e-3, 1e-8, -1e-20] {
        for (f, factor) in functions.into_iter().zip(factors) {
            let second = hessian(|x, _| f(x), x, 0.0)[0][0];
            assert!((second / (factor * x) - 1.0).abs() < 1e-5, "at {x}");
        }
    }
}

/// Their slopes are of a square that is infinite far out, and so is its derivative.
#[test]
fn second_derivatives_are_0_where_a_square_is_out_of_range() {
    let functions: [fn(Twice) -> Twice; 4] = [Twice::asinh, Twice::acosh, Twice::atan, Twice::erf];
    for f in functions {
        for x in [1e160, 1e308, f64::MAX] {
            assert_eq!(hessian(|x, _| f(x), x, 0.0)[0][0], 0.0, "at {x}");
        }
    }
    for f in [Twice::atan, Twice::erf] {
        assert_eq!(hessian(|x, _| f(x), f64::INFINITY, 0.0)[0][0], 0.0);
        assert!(hessian(|x, _| f(x), f64::NAN, 0.0)[0][0].is_nan());
    }
}

/// The reciprocal of a tiny number is infinite.
#[test]
fn quotients_by_tiny_numbers_have_slopes() {
    assert_eq!(slopes(|x, y| x / y, 0.0, 1e-310), [f64::INFINITY, 0.0]);
    assert_eq!(slopes(|x, y| x / y, 2.0, 0.5), [2.0, -8.0]);
    assert_eq!(slope(|y| 0.0 / y, 1e-310), 0.0);
    assert_eq!(slope(|y| 2.0 / y, 0.5), -8.0);
}

/// Where xⁿ is infinite, 1/xⁿ is 0 instead of a number below the smallest normal one.
#[test]
fn negative_powers_are_exact_but_for_subnormal_ones() {
    for n in 1..40 {
        for exponent in (-400..=400_i16).map(|k| f32::from(k) * 0.1) {
            let x = 10_f32.powf(exponent);
            let found = Single::of(x).powi(-n).element();
            let exact = f64::from(x).powi(-n);
            let error = (f64::from(found) - exact).abs();
            let rounded = f64::from(f32::EPSILON) * f64::from(n) * exact;
            let is_infinite = found == f32::INFINITY && exact > f64::from(f32::MAX) * 0.99;
            assert!(
                is_infinite || error <= rounded.max(f64::from(f32::MIN_POSITIVE)),
                "{x}, -{n}: {found}, {exact}"
            );
        }
    }
}

#[test]
fn far_out_derivatives_are_finite() {
    for (x, expected) in [(1e200, 1.0), (-1e200, 0.0), (1e3, 1.0), (-1e3, 0.0)] {
        for f in [
            Along::gelu_tanh,
            Along::gelu,
            Along::softplus,
            Along::relu,
            Along::silu,
            |x: Along| x.elu(1.0),
            |x: Along| x.leaky_relu(0.0),
        ] {
            assert_eq!(slope(f, x), expected, "{x}");
        }
        for f in [
            Along::tanh,
            Along::sigmoid,
            Along::erf,
            Along::normal_cdf,
            Along::normal_pdf,
        ] {
            assert_eq!(slope(f, x), 0.0, "{x}");
        }
        let functions: [fn(Twice) -> Twice; 5] = [
            Twice::gelu_tanh,
            Twice::gelu,
            Twice::softplus,
            Twice::tanh,
            Twice::normal_cdf,
        ];
        for f in functions {
            assert_eq!(hessian(|x, _| f(x), x, 0.0)[0][0], 0.0, "{x}");
        }
    }
    let [along_x, along_y] = slopes(|x, y| x.hypot(y), 3e200, 4e200);
    assert!((along_x - 0.6).abs() < 1e-15 && (along_y - 0.8).abs() < 1e-15);
}

/// A slope is infinite, but only along directions that are not wanted.
#[test]
fn a_direction_that_a_number_does_not_depend_on_makes_no_nan() {
    assert_eq!(slopes(|x, k| x.sqrt() * k, 0.0, 3.0), [f64::INFINITY, 0.0]);
    let constant = Dual::<f64, 2>::constant(0.0);
    assert_eq!(slopes(|_, k| constant.sqrt() * k, 0.0, 3.0), [0.0, 0.0]);
    assert_eq!(
        slopes(|_, k| constant.sqrt() + constant.powf(0.5) / k, 0.0, 3.0),
        [0.0, 0.0]
    );
    assert_eq!(slopes(|x, k| x.relu().sqrt() * k, -1.0, 3.0), [0.0, 0.0]);
    assert_eq!(
        slopes(|x, k| x.max(k).asin(), 0.5, 1.0),
        [0.0, f64::INFINITY]
    );
    assert_eq!(
        hessian(|_, k| Dual::from(0.0).sqrt() * k * k, 0.0, 3.0),
        [[0.0; 2]; 2]
    );
}

/// Directions are given when the program runs: a missing one is 0.
#[test]
fn a_missing_direction_makes_no_nan() {
    assert_eq!(
        hessian(|x, k| x.sqrt() * k * k, 0.0, 3.0)[1],
        [f64::INFINITY, 0.0]
    );
    assert_eq!(
        hessian(|x, k| k * (x.ln() + k), 0.0, 3.0)[1],
        [f64::INFINITY, 2.0]
    );
    assert_eq!(
        hessian(|x, k| x.powi(4) + k.square(), 1e150, 3.0)[1],
        [0.0, 2.0]
    );
    let missing = Along::along(0.0, [0.0], true);
    let k = Along::along(3.0, [1.0], true);
    assert_eq!((missing.sqrt() * k).tangent(0), Some(0.0));
    assert_eq!(
        (missing.powf(k) * missing.recip().sqrt().recip()).tangent(0),
        Some(0.0)
    );
    // A derivative that is 0 is not missing, and has derivatives.
    assert_eq!(hessian(|x, _| x.square().sinh(), 0.0, 0.0)[0][0], 2.0);
}

#[test]
fn operators_and_comparisons_see_literals_on_both_sides() {
    let x = Along::variable(2.0, 0);
    let along = |number: Along| (number.value, number.tangent(0));
    assert_eq!(along(x + 1.0), (3.0, Some(1.0)));
    assert_eq!(along(1.0 - x), (-1.0, Some(-1.0)));
    assert_eq!(along(3.0 * x), (6.0, Some(3.0)));
    assert_eq!(along(1.0 / x), (0.5, Some(-0.25)));
    assert_eq!(
        along([x, x, Along::from(1.0)].into_iter().sum()),
        (5.0, Some(2.0))
    );
    let mut y = x;
    y += x;
    y *= 2.0;
    y -= 1.0;
    y /= x;
    assert_eq!(along(y), (3.5, Some(0.25)));
    let all = [x > 1.0, x >= 2.0, x <= 2.0, x == 2.0, x != 1.0];
    assert_eq!(all, [true; 5]);
    let nan = Along::constant(f64::NAN);
    assert!(nan != nan && !(nan < 1.0) && !(nan >= x) && nan.partial_cmp(&x).is_none());
}
