//! Functions of one element each, and between tensors that broadcast.

use std::f64::consts::{PI, SQRT_2};

use pullback::ndarray::{ArrayD, arr1};
use pullback::ops::{ScalarDiv, ScalarSub};
use pullback::prelude::*;

use super::rows::{Row, binary, placed, row, unary};

pub fn rows<T: Element>() -> Vec<Row<T>> {
    let groups = [
        arithmetic(),
        analytic(),
        with_kinks(),
        activations(),
        chosen(),
    ];
    groups.into_iter().flatten().collect()
}

fn arithmetic<T: Element>() -> Vec<Row<T>> {
    let number = T::from_f64;
    vec![
        binary("add", |x, y| x + y, |x, y| x + y),
        binary("div", |x, y| x / y, |x, y| x / y),
        binary("mul", |x, y| x * y, |x, y| x * y),
        binary("sub", |x, y| x - y, |x, y| x - y),
        unary("add a number", move |x| x + number(1.5), |x| x + 1.5),
        unary(
            "div a number",
            move |x| ScalarDiv::apply(number(1.5), x),
            |x| 1.5 / x,
        ),
        unary("div by a number", move |x| x / number(1.5), |x| x / 1.5),
        unary("mul by a number", move |x| x * number(1.5), |x| x * 1.5),
        unary("neg", |x| -x, |x| -x),
        unary("recip", |x| x.recip(), f64::recip),
        unary("square", |x| x.square(), |x| x * x),
        unary(
            "sub from a number",
            move |x| ScalarSub::apply(number(1.5), x),
            |x| 1.5 - x,
        ),
    ]
}

fn analytic<T: Element>() -> Vec<Row<T>> {
    vec![
        unary("acos", |x| x.acos(), f64::acos),
        unary("asin", |x| x.asin(), f64::asin),
        unary("atan", |x| x.atan(), f64::atan),
        unary("cos", |x| x.cos(), f64::cos),
        unary("cosh", |x| x.cosh(), f64::cosh),
        unary("erf", |x| x.erf(), erf),
        unary("exp", |x| x.exp(), f64::exp),
        unary("exp_m1", |x| x.exp_m1(), f64::exp_m1),
        unary("ln", |x| x.ln(), f64::ln),
        unary("ln_1p", |x| x.ln_1p(), f64::ln_1p),
        unary("powf", |x| x.powf(T::from_f64(2.5)), |x| x.powf(2.5)),
        unary("powi -2", |x| x.powi(-2), |x| x.powi(-2)),
        unary("powi 0", |x| x.powi(0), |x| x.powi(0)),
        unary("powi 3", |x| x.powi(3), |x| x.powi(3)),
        unary("rsqrt", |x| x.rsqrt(), |x| 1.0 / x.sqrt()),
        unary("sin", |x| x.sin(), f64::sin),
        unary("sinh", |x| x.sinh(), f64::sinh),
        unary("sqrt", |x| x.sqrt(), f64::sqrt),
        unary("tan", |x| x.tan(), f64::tan),
        unary("tanh", |x| x.tanh(), f64::tanh),
    ]
}

/// Returns x − x³/3 + x⁵/10 − …, times 2/√π, which converges fast for small numbers.
fn erf(x: f64) -> f64 {
    if !x.is_finite() {
        return x.signum();
    }
    let mut term = x;
    let mut sum = x;
    for n in 1..60 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / PI.sqrt()
}

fn with_kinks<T: Element>() -> Vec<Row<T>> {
    let number = T::from_f64;
    // NaN wins.
    let first = |x: f64, y: f64, wins: bool| {
        let is_first = x.is_nan() || (wins && !y.is_nan());
        if is_first { x } else { y }
    };
    vec![
        binary(
            "maximum",
            |x, y| x.maximum(y),
            move |x, y| first(x, y, x > y),
        ),
        binary(
            "minimum",
            |x, y| x.minimum(y),
            move |x, y| first(x, y, x < y),
        ),
        unary("abs", |x| x.abs(), f64::abs),
        unary(
            "clamp",
            move |x| x.clamp(number(-0.5), number(0.75)),
            |x| x.clamp(-0.5, 0.75),
        ),
        unary(
            "leaky_relu",
            move |x| x.leaky_relu(number(0.25)),
            |x| if x < 0.0 { 0.25 * x } else { x },
        ),
        unary("relu", |x| x.relu(), |x| if x < 0.0 { 0.0 } else { x }),
    ]
}

fn activations<T: Element>() -> Vec<Row<T>> {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    vec![
        unary(
            "elu",
            |x| x.elu(T::from_f64(1.5)),
            |x| if x < 0.0 { 1.5 * x.exp_m1() } else { x },
        ),
        unary("gelu", |x| x.gelu(), |x| 0.5 * x * (1.0 + erf(x / SQRT_2))),
        unary(
            "gelu_tanh",
            |x| x.gelu_tanh(),
            |x| {
                let inner = (2.0 / PI).sqrt() * (x + 0.044_715 * x * x * x);
                0.5 * x * (1.0 + inner.tanh())
            },
        ),
        unary("sigmoid", |x| x.sigmoid(), sigmoid),
        unary("silu", |x| x.silu(), move |x| x * sigmoid(x)),
        unary(
            "softplus",
            |x| x.softplus(),
            |x| {
                if x > 0.0 {
                    x + (-x).exp().ln_1p()
                } else {
                    x.exp().ln_1p()
                }
            },
        ),
    ]
}

fn chosen<T: Element>() -> Vec<Row<T>> {
    let mask = || arr1(&[true, false, true]);
    vec![row(
        "where_",
        &[
            &[&[2, 3], &[2, 3]],
            &[&[2, 2, 3], &[2, 1]],
            &[&[0, 3], &[3]],
            &[&[3], &[]],
        ],
        move |x| x[0].where_(&mask(), &x[1]),
        move |x| {
            let shape = (&x[0] + &x[1]).shape().to_vec();
            let repeated = |x: &ArrayD<f64>| x.broadcast(&shape[..]).expect("fits").to_owned();
            let (first, second) = (repeated(&x[0]), repeated(&x[1]));
            placed(&shape, |place| {
                let is_first = mask()[place[place.len() - 1]];
                if is_first {
                    first[place]
                } else {
                    second[place]
                }
            })
        },
    )]
}
