//! Derivatives in reverse, beside those that dual numbers give the same formula: of each function and operator of numbers.

#![allow(
    clippy::cast_lossless,
    clippy::cast_possible_wrap,
    clippy::eq_op,
    clippy::neg_cmp_op_on_partial_ord,
    clippy::nonminimal_bool,
    reason = "formulas have casts of values of other types, and conditions of all kinds"
)]

use std::f64::consts::{PI, TAU};

use pullback::functional::hvp;
use pullback::ndarray::{Array1, Axis};
use pullback::prelude::*;

/// Defines a formula of three numbers, and the same with an `if let`, which has no derivatives in reverse; compares them.
macro_rules! both {
    ($name:ident: |$x:ident, $y:ident, $z:ident| $($out:ident: $T:ident = $value:expr),+) => {
        mod $name {
            use super::*;

            #[custom_function(elementwise, outputs($($out),+))]
            fn reversed<T: Real>($x: T, $y: T, $z: T) -> ($($T),+) {
                ($($value),+)
            }

            #[custom_function(elementwise, outputs($($out),+))]
            fn dual<T: Real>($x: T, $y: T, $z: T, factor: f64) -> ($($T),+) {
                let $x = if let 1.0 = factor { $x } else { T::from(0.0) };
                ($($value),+)
            }

            #[test]
            fn derivatives_are_those_of_dual_numbers() {
                let in_reverse = |[x, y, z]: [&Tensor1<f64>; 3]| {
                    let ($($out),+) = reversed(x, y, z);
                    vec![$($out),+]
                };
                let by_dual = |[x, y, z]: [&Tensor1<f64>; 3]| {
                    let ($($out),+) = dual(x, y, z, 1.0);
                    vec![$($out),+]
                };
                compare(&in_reverse, &by_dual);
            }
        }
    };
}

type Outputs<'a> = &'a dyn Fn([&Tensor1<f64>; 3]) -> Vec<Tensor1<f64>>;

/// Compares values, gradients and second derivatives of two functions.
fn compare(own: Outputs<'_>, other: Outputs<'_>) {
    const WEIGHTS: [f64; 12] = [
        0.7, -1.1, 0.4, 1.3, -0.6, 0.9, 1.7, -0.3, 0.8, 0.2, -1.9, 0.5,
    ];
    let sum = |outputs: Vec<Tensor1<f64>>| {
        let terms = outputs.iter().zip(WEIGHTS);
        let terms = terms.map(|(output, weight)| (output * weight).sum());
        terms.reduce(|sum, term| sum + term).expect("an output")
    };
    let numbers = |step: usize| {
        Tensor::from(Array1::from_shape_fn(37, |place| {
            0.1 + 0.8 * ((place * step) % 37) as f64 / 37.0
        }))
    };
    let leaf = |step| numbers(step).set_requires_grad(true);
    let (x, y, z) = (leaf(5), leaf(11), leaf(17));
    for (own, other) in own([&x, &y, &z]).iter().zip(other([&x, &y, &z])) {
        assert_eq!(own.to_array(), other.to_array());
    }
    let first = |outputs: Outputs<'_>| {
        <[_; 3]>::from(grad(&sum(outputs([&x, &y, &z])), (&x, &y, &z)).unwrap())
    };
    let close = |own: &Tensor1<f64>, other: &Tensor1<f64>, order: usize| {
        let (own, other) = (own.to_array(), other.to_array());
        for (place, (own, other)) in own.iter().zip(&other).enumerate() {
            let error = (own - other).abs() / other.abs().max(1.0);
            assert!(
                own == other || error < 1e-12,
                "order {order}, element {place}: {own} {other}"
            );
        }
    };
    for (own, other) in first(own).iter().zip(&first(other)) {
        close(own, other, 1);
    }
    let (y, z) = (y.detach(), z.detach());
    let alongs = |outputs: Outputs<'_>| {
        let of = |x: &Tensor1<f64>| sum(outputs([x, &(&y * x), &(&z + x)]));
        hvp(of, &x.detach(), &numbers(7)).unwrap()
    };
    let ((own, own_along), (other, other_along)) = (alongs(own), alongs(other));
    assert_eq!(own.item(), other.item());
    close(&own_along, &other_along, 2);
}

both!(operators: |x, y, z|
    a: T = x * y - z, b: T = -(x / y), c: T = 2.0 * x - y * 3.0, d: T = 1.0 / (x + z), e: T = (x - 0.5) / 4.0 + y,
    f: T = 0.5 - x * x * z, g: T = T::from(0.25) * y / (x + 1.0), h: T = x + y + z, i: T = (x * y) * (x * y));

both!(exponentials: |x, y, z|
    a: T = (x * y).exp() * z, b: T = (x * y).exp_m1() + z, c: T = (x + y).ln() * z, d: T = (x * z).ln_1p() * y,
    e: T = (x * y).sqrt() / z, f: T = (x + z).cbrt() * y, g: T = (x * y).recip() * z, h: T = (x + y).rsqrt() * z,
    i: T = (x * y + z).square(), j: T = (x * y).powi(3) + z.powi(-2), k: T = (x * y - z).abs());

both!(angles: |x, y, z|
    a: T = (x * y).sin() * z, b: T = (x * y).cos() * z, c: T = (x * y).tan() * z, d: T = (x * y).asin() * z,
    e: T = (x * y).acos() * z, f: T = (x * y).atan() * z, g: T = (x * y).sinh() * z, h: T = (x * y).cosh() * z,
    i: T = (x * y).tanh() * z, j: T = (x * y).asinh() * z, k: T = (x * y + 1.0).acosh() * z, l: T = (x * y).atanh() * z);

both!(activations: |x, y, z|
    a: T = (x - y).sigmoid() * z, b: T = (x - y).softplus() * z, c: T = (x - y).erf() * z, d: T = (x - y).normal_cdf() * z,
    e: T = (x - y).normal_pdf() * z, f: T = (x - y).gelu() * z, g: T = (x - y).gelu_tanh() * z, h: T = (x - y).relu() * z,
    i: T = (x - y).silu() * z, j: T = (x - y).leaky_relu(0.1) * z, k: T = (x - y).elu(z));

both!(several_numbers: |x, y, z|
    a: T = (x * y).powf(z), b: T = (x - y).atan2(z), c: T = (x - y).hypot(z), d: T = (x * z).max(y * z), e: T = (x * z).min(y),
    f: T = x.max(y * 0.0) * z, g: T = (x * y).mul_add(z, x), h: T = (x - y).clamp(-0.2, z * 0.3), i: T = (x * y).powf(1.5) * z,
    j: T = (x * y).mul_add(2.0, z), k: T = (x - y).max(0.0) * z);

both!(steps: |x, y, z|
    a: T = (x * 3.0).floor() * y + z, b: T = (x * 3.0).ceil() * y, c: T = (x * 3.0).round() * z, d: T = (x - y).signum() * z,
    e: T = (x * 3.0).round_ties_even() * y, f: T = x.detach() * x * y, g: T = (x * y).detach() - z);

both!(values_of_types: |x, y, z|
    a: T = { let half: f64 = 0.25; x * half.sqrt() + y * z }, b: T = { let n: u16 = 300; x * (n as f64) + y * z },
    c: T = { let (n, shift): (i64, f64) = (7, 0.5); x * ((n - 9) as f64 + shift) + y * z },
    d: T = { let root = |w: f64| w.sqrt(); x * root(3.0) + y * z });

// What rounds as a number of another type does.
both!(narrow_values: |x, y, z|
    a: T = { let (big, one): (f32, f32) = (1e8, 1.0); x * y * ((big + one - big) as f64) + z }, b: T = x * y);

both!(wrapped_values: |x, y, z|
    a: T = { let n: u8 = 200; x * (n as i8 as f64) + y * z }, b: T = x * y);

both!(large_values: |x, y, z|
    a: T = { let n: u64 = 5_000_000_000; x * (n as f64) / 1e9 + y * z }, b: T = x * y);

both!(values_with_methods: |x, y, z|
    a: T = { let mut sum = x * z; for k in 0..3 { sum += y.powi(k) * f64::from((k - 1).abs()); } sum }, b: T = x * y);

both!(branches: |x, y, z|
    a: T = if x > y { x * z } else { (y * z).exp() },
    b: T = { let mut sum = x; if y < 0.5 { sum *= y; } else if z < 0.5 { sum += z * z; } sum },
    c: T = if x > y && !(z < 0.3) || y >= 0.8 { x / y } else { z.sqrt() },
    d: T = { let near = x < y; let factor = if near { 1.5 } else { 2.0 }; z * factor + if near { x * x } else { -y } },
    e: T = { let mut row = [x, y]; if z > x { row[1] = z * y; row = [row[1], row[0]]; } row[0] * row[0] - row[1] },
    f: T = { let of = |x: T| if x > 0.5 { x * x } else { x * y }; of(x) * of(z) },
    g: T = { let (low, high) = if x > y { (y, x) } else { (x, y) }; high * high - low * z });

// What is not taken is NaN, or its slopes are infinite.
both!(branches_that_guard: |x, y, z|
    a: T = if x > y { (x - y).sqrt() * z } else { z * z },
    b: T = if x > y { (x - y).ln() } else { (y / x).ln_1p() },
    c: T = if x == y { x * z } else { x / (x - y) },
    d: T = { let root = if x > y { x - y } else { T::from(0.0) }; if root > 0.0 { root.sqrt().ln() * z } else { y } },
    e: T = if z > y { if z > x { ((z - x) * (z - y)).sqrt() } else { (x - z).sqrt() * y } } else { (y - z).powf(0.5) * x });

both!(branches_of_all: |x, y, z|
    a: T = { let n: usize = 2; if n > 1 && true { x * y } else { z } }, b: T = if 2.0 * PI > TAU { x } else { y * z },
    c: T = { let half = 0.5; if half < 1.0 { x / y } else { y } });

both!(matches: |x, y, z|
    a: T = match (x > 0.7, y - z <= 0.0) { (true, _) => x * y, (_, true) => z, _ => (y - z).sqrt() * x },
    b: T = match x * y { far if far > 0.3 => far.ln() * z, near if z > 0.5 => near * near, near => near * z },
    c: T = { let n = 2; match n { 0 => x, 1 | 2 => x * y, _ => z } },
    d: T = { let mut sum = z; match x > y { true => sum *= x, false if z > 0.4 => { sum += y * y; }, false => {} } sum * z });

both!(rounds: |x, y, z|
    a: T = { let row = [x, y, z]; let mut sum = T::from(1.0); for (k, v) in row.iter().enumerate() { sum *= *v + k as f64; } sum },
    b: T = [x, y, z].into_iter().zip([0.5, -1.0, PI]).map(|(v, weight)| v.sin() * weight).sum(),
    c: T = { let mut row = [x, y, z]; for k in 1..row.len() { row[k] *= row[k - 1]; } row.map(Real::exp).iter().fold(x, |p, v| p / *v) },
    d: T = { let row: [T; 4] = std::array::from_fn(|k| if k < 2 { x * (k as f64) } else { y }); row[1] * row[2] * z },
    e: T = { let mut power = x; for weight in &[0.5, -1.0f64] { power = power * y + weight.abs(); } power * z });

/// Functions beside a formula.
mod functions {
    use super::*;

    pub fn minus<T: Real, const N: usize>(a: [T; N], b: [T; N]) -> [T; N] {
        std::array::from_fn(|k| a[k] - b[k])
    }

    pub fn dot<R>(a: &[R], b: &[R]) -> R
    where
        R: Real,
    {
        a.iter().zip(b).map(|(a, b)| *a * *b).sum()
    }

    #[must_use]
    pub fn root<T: Real>(mut square: T, least: f64) -> T {
        if square < least {
            return T::from(0.0);
        }
        square -= least;
        square.sqrt()
    }

    #[custom_function(elementwise)]
    pub fn beside<T: Real>(x: T, y: T, z: T) -> T {
        let u = minus([x, y, z], [y, z * z, x]);
        root(dot(&u, &[x, y, z]), 0.1) * root(z, 0.23)
    }

    /// Where they are imported, the macro does not see them.
    pub mod apart {
        use super::*;

        #[custom_function(elementwise)]
        pub fn recorded<T: Real>(x: T, y: T, z: T) -> T {
            let u = minus([x, y, z], [y, z * z, x]);
            root(dot(&u, &[x, y, z]), 0.1) * root(z, 0.23)
        }
    }
}

#[test]
fn functions_beside_a_formula_are_part_of_it() {
    let apart = |[x, y, z]: [&Tensor1<f64>; 3]| vec![functions::apart::recorded(x, y, z)];
    compare(&|[x, y, z]| vec![functions::beside(x, y, z)], &apart);
}

/// A formula that returns early.
#[custom_function(elementwise)]
fn cut<T: Real>(x: T, y: T, z: T) -> T {
    if x > 0.7 {
        return x * y;
    }
    let distance = y - z;
    if distance <= 0.0 {
        return T::from(0.0);
    }
    distance.sqrt() * x
}

/// The same, in one expression.
#[custom_function(elementwise)]
fn chosen<T: Real>(x: T, y: T, z: T) -> T {
    match (x > 0.7, y - z <= 0.0) {
        (true, _) => x * y,
        (_, true) => T::from(0.0),
        _ => (y - z).sqrt() * x,
    }
}

#[test]
fn what_returns_early_is_a_branch() {
    compare(&|[x, y, z]| vec![cut(x, y, z)], &|[x, y, z]| {
        vec![chosen(x, y, z)]
    });
}

/// A factor that an `f32` does not have.
#[custom_function(elementwise)]
fn scaled_by_one<T: Real>(x: T, y: T, z: T) -> T {
    let factor = if x > y { 16_777_217.0 } else { 1.0 };
    z * (factor - 16_777_216.0)
}

#[test]
fn values_of_branches_are_not_rounded() {
    let leaf = |value: f32| Tensor::from(Array1::from_elem(1, value)).set_requires_grad(true);
    let (x, y, z) = (leaf(2.0), leaf(1.0), leaf(3.0));
    let scaled = scaled_by_one(&x, &y, &z).sum();
    assert_eq!(scaled.item(), 3.0);
    let (of_x, of_z) = grad(&scaled, (&x, &z)).unwrap();
    assert_eq!((of_x.to_array()[0], of_z.to_array()[0]), (0.0, 1.0));
}

/// A force that ends at a distance, on points of their own lists.
#[custom_function(pairs(reduce = sum), gradcheck(x = [5, 3] in -1.0..1.0, y = [4, 3] in -1.0..1.0))]
fn within_reach<T: Real>(#[row] x: [T; 3], #[column] y: [T; 3]) -> T {
    let d = [x[0] - y[0], x[1] - y[1], x[2] - y[2]];
    let square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    if square > 1.5 {
        return T::from(0.0);
    }
    (1.5 - square).sqrt() * (1.5 - square)
}

/// A filter of measurements, some of which are missing.
#[custom_function(scan, outputs(last, size, error), gradcheck(x = [3], p = [3] in 0.5..1.5, z = [6, 3], r = [3] in 0.5..1.5))]
fn filtered<T: Real>(#[state] x: T, #[state] p: T, #[step] z: T, r: T) -> (T, T, T) {
    let p = p + 0.1;
    if z.is_nan() || z > 1.0 {
        return (x, p, T::from(0.0));
    }
    let gain = p / (p + r);
    (x + gain * (z - x), p * (1.0 - gain), (z - x) * gain)
}

#[test]
fn missing_measurements_do_not_count() {
    let of = |missing: f64| {
        let leaf = |value: f64| Tensor::from(Array1::from_elem(1, value)).set_requires_grad(true);
        let (x, p, r) = (leaf(0.3), leaf(1.0), leaf(0.8));
        let z = Tensor::from(pullback::ndarray::array![[0.2], [missing], [0.5]]);
        let z = z.set_requires_grad(true);
        let (last, size, error) = filtered(&x, &p, &z, &r);
        let sum = last.sum() + size.sum() + error.sum();
        let (of_z, of_r) = grad(&sum, (&z, &r)).unwrap();
        assert_eq!(of_z.to_array()[[1, 0]], 0.0);
        (sum.item(), of_z.to_array(), of_r.to_array())
    };
    for missing in [f64::NAN, f64::INFINITY] {
        assert_eq!(of(2.0), of(missing));
    }
}

macro_rules! scaled {
    ($name:ident($a:ident, $b:ident, $c:ident) = $value:expr) => {
        #[custom_function(elementwise)]
        fn $name<T: Real>($a: T, $b: T, $c: T) -> T {
            let scale = $a * 2.0;
            scale * $value
        }
    };
}

scaled!(scaled_sum(x, y, scale) = x + y * scale);

#[test]
fn a_variable_of_a_macro_is_not_the_one_of_its_caller() {
    let leaf = |value: f64| Tensor::from(Array1::from_elem(1, value)).set_requires_grad(true);
    let (x, y, scale) = (leaf(2.0), leaf(5.0), leaf(7.0));
    let sum = scaled_sum(&x, &y, &scale).sum();
    assert_eq!(sum.item(), 148.0);
    let (of_x, of_y, of_scale) = grad(&sum, (&x, &y, &scale)).unwrap();
    let found = [of_x, of_y, of_scale].map(|gradient| gradient.to_array()[0]);
    assert_eq!(found, [78.0, 28.0, 20.0]);
}

/// Formulas of two numbers that call functions, each beside the same without one.
mod calling {
    use pullback::functional::jvp;

    use super::*;

    fn bent<T: Real>(x: T) -> T {
        x.ln_1p() + half(x.tanh())
    }

    fn half<T: Real>(x: T) -> T {
        x * 0.5
    }

    macro_rules! both {
        ($name:ident: |$x:ident, $y:ident| $calling:expr, $written:expr) => {
            mod $name {
                use super::*;

                #[custom_function(elementwise)]
                fn calling<T: Real>($x: T, $y: T) -> T {
                    $calling
                }

                #[custom_function(elementwise)]
                fn written<T: Real>($x: T, $y: T) -> T {
                    $written
                }

                #[custom_function(pairs)]
                fn calling_of_pairs<T: Real>(#[row] $x: T, #[column] $y: T) -> T {
                    $calling
                }

                #[custom_function(pairs)]
                fn written_of_pairs<T: Real>(#[row] $x: T, #[column] $y: T) -> T {
                    $written
                }

                #[custom_function(scan, outputs(last, path))]
                fn calling_in_steps<T: Real>(#[state] $x: T, #[step] $y: T) -> (T, T) {
                    let next = 0.25 * $calling;
                    (next, next * $y)
                }

                #[custom_function(scan, outputs(last, path))]
                fn written_in_steps<T: Real>(#[state] $x: T, #[step] $y: T) -> (T, T) {
                    let next = 0.25 * $written;
                    (next, next * $y)
                }

                #[test]
                fn functions_are_part_of_the_formula() {
                    compare(&|[x, y, z]| vec![calling(x, y) * z], &|[x, y, z]| {
                        vec![written(x, y) * z]
                    });
                    compare(&|[x, y, z]| vec![calling_of_pairs(x, y) * z], &|[
                        x,
                        y,
                        z,
                    ]| {
                        vec![written_of_pairs(x, y) * z]
                    });
                    let steps = |y: &Tensor1<f64>, z: &Tensor1<f64>| {
                        let rows = [y, z].map(|x| x.reshape((1, x.len())));
                        Tensor2::concat(Axis(0), &rows.each_ref())
                    };
                    compare(
                        &|[x, y, z]| {
                            let (last, path) = calling_in_steps(x, &steps(y, z));
                            vec![last, path.sum_axis(Axis(0))]
                        },
                        &|[x, y, z]| {
                            let (last, path) = written_in_steps(x, &steps(y, z));
                            vec![last, path.sum_axis(Axis(0))]
                        },
                    );
                    let numbers = |low, high| Tensor::from(Array1::linspace(low, high, 300));
                    let (x, y) = (numbers(0.1, 0.9), numbers(0.8, 0.2));
                    let (along_x, along_y) = (numbers(-1.0, 1.0), numbers(0.5, 0.7));
                    let along = (&along_x, &along_y);
                    let (values, own) = jvp(|(x, y)| calling(x, y), (&x, &y), along).unwrap();
                    let (expected, other) = jvp(|(x, y)| written(x, y), (&x, &y), along).unwrap();
                    assert_eq!(values.to_array(), expected.to_array());
                    for (own, other) in own.to_array().iter().zip(&other.to_array()) {
                        assert!((own - other).abs() < 1e-12, "{own} {other}");
                    }
                }
            }
        };
    }

    both!(a_function: |x, y| bent(x) * y, (x.ln_1p() + x.tanh() * 0.5) * y);
    both!(functions_in_turn: |x, y| bent(half(x) + y), {
        let z = x * 0.5 + y;
        z.ln_1p() + z.tanh() * 0.5
    });
    both!(paths: |x, y| Real::ln_1p(x) * T::exp(y), x.ln_1p() * y.exp());
    both!(mapped: |x, y| { let [a, b] = [x, x * y].map(T::sin); a * b }, x.sin() * (x * y).sin());
    both!(summed: |x, y| [x, y].iter().map(|a| a.exp()).sum::<T>() * y, (x.exp() + y.exp()) * y);
    both!(folded: |x, y| [0.1, 0.2].iter().fold(T::from(0.5), |sum, c| sum * x + *c) * y,
        ((T::from(0.5) * x + 0.1) * x + 0.2) * y);
    both!(chosen: |x, y| if x > y { bent(x) } else { y * y }, if x > y { x.ln_1p() + x.tanh() * 0.5 } else { y * y });
}
