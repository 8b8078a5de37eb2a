//! Reductions, running sums and softmax.

use pullback::kernels::Over;
use pullback::ndarray::{Array, ArrayD, Axis, Ix1, arr0};
use pullback::ops::DotOver;
use pullback::prelude::*;

use super::rows::{Row, along, folds, lanes, row, whole};

pub fn rows<T: Element>() -> Vec<Row<T>> {
    let groups = [totals(), over_one(), over_several()];
    groups.into_iter().flatten().collect()
}

fn number(x: f64) -> ArrayD<f64> {
    arr0(x).into_dyn()
}

fn all(x: &ArrayD<f64>, f: impl Fn(&[f64]) -> f64) -> ArrayD<f64> {
    number(f(&x.iter().copied().collect::<Vec<f64>>()))
}

pub fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

pub fn variance(x: &[f64], divisor: f64) -> f64 {
    let mean = mean(x);
    x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / divisor
}

/// Not a number if one is none.
fn largest(x: &[f64]) -> f64 {
    let choose = |largest: f64, &x: &f64| {
        if x > largest || x.is_nan() {
            x
        } else {
            largest
        }
    };
    x.iter().fold(f64::NEG_INFINITY, choose)
}

fn smallest(x: &[f64]) -> f64 {
    -largest(&x.iter().map(|x| -x).collect::<Vec<f64>>())
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Of moderate numbers.
fn logsumexp(x: &[f64]) -> f64 {
    x.iter().map(|x| x.exp()).sum::<f64>().ln()
}

pub fn log_softmax(x: &[f64]) -> Vec<f64> {
    let largest = largest(x);
    let x: Vec<f64> = x.iter().map(|x| x - largest).collect();
    let sum = logsumexp(&x);
    x.iter().map(|x| x - sum).collect()
}

fn totals<T: Element>() -> Vec<Row<T>> {
    let some: &[&[&[usize]]] = &[&[&[]], &[&[1]], &[&[5]], &[&[2, 3]], &[&[2, 1, 3]]];
    vec![
        whole("mean", |x| x.mean().into_dyn(), |x| all(x, mean)),
        whole("norm", |x| x.norm().into_dyn(), |x| all(x, norm)),
        whole("prod", |x| x.prod().into_dyn(), |x| number(x.product())),
        whole("sum", |x| x.sum().into_dyn(), |x| number(x.sum())),
        whole(
            "std",
            |x| x.std(0).into_dyn(),
            |x| all(x, |x| variance(x, x.len() as f64).sqrt()),
        ),
        whole(
            "logsumexp",
            |x| x.logsumexp().into_dyn(),
            |x| all(x, logsumexp),
        ),
        row(
            "max",
            some,
            |x| x[0].max().into_dyn(),
            |x| all(&x[0], largest),
        ),
        row(
            "min",
            some,
            |x| x[0].min().into_dyn(),
            |x| all(&x[0], smallest),
        ),
    ]
}

fn over_one<T: Element>() -> Vec<Row<T>> {
    let minus_one = |x: &[f64]| x.len().saturating_sub(1) as f64;
    let some: &[&[&[usize]]] = &[&[&[0, 3]], &[&[5, 4]], &[&[2, 1, 3]], &[&[3, 2, 0]]];
    let extreme = |lane: fn(&[f64]) -> f64| {
        move |x: &[ArrayD<f64>]| along(&x[0], Axis(1), &|x: &[f64]| vec![lane(x)])
    };
    let mut rows = vec![
        row(
            "max_keepdim",
            &some[..3],
            |x| x[0].max_keepdim(Axis(1)),
            extreme(largest),
        ),
        row(
            "min_keepdim",
            some,
            |x| x[0].min_keepdim(Axis(1)),
            extreme(smallest),
        ),
    ];
    rows.extend(folds(
        "sum_axis",
        |x, axis| x.sum_axis(axis),
        |x| x.iter().sum(),
    ));
    rows.extend(folds("mean_axis", |x, axis| x.mean_axis(axis), mean));
    rows.extend(folds(
        "prod_axis",
        |x, axis| x.prod_axis(axis),
        |x| x.iter().product(),
    ));
    rows.extend(folds("norm_axis", |x, axis| x.norm_axis(axis), norm));
    rows.extend(folds(
        "logsumexp_axis",
        |x, axis| x.logsumexp_axis(axis),
        logsumexp,
    ));
    rows.extend(folds(
        "var_axis",
        |x, axis| x.var_axis(axis, 1),
        move |x| variance(x, minus_one(x)),
    ));
    rows.extend(folds(
        "std_axis",
        |x, axis| x.std_axis(axis, 1),
        move |x| variance(x, minus_one(x)).sqrt(),
    ));
    rows.extend(lanes(
        "softmax",
        |x, axis| x.softmax(axis),
        |x| log_softmax(x).into_iter().map(f64::exp).collect(),
    ));
    rows.extend(lanes(
        "log_softmax",
        |x, axis| x.log_softmax(axis),
        log_softmax,
    ));
    rows.extend(lanes(
        "cumsum",
        |x, axis| x.cumsum(axis),
        |x| (1..=x.len()).map(|end| x[..end].iter().sum()).collect(),
    ));
    rows
}

fn over_several<T: Element>() -> Vec<Row<T>> {
    let shapes: &[&[&[usize]]] = &[&[&[2, 1, 3]], &[&[3, 4, 2]], &[&[2, 0, 3]]];
    let outer = |x: &ArrayD<f64>| x.sum_axis(Axis(2)).sum_axis(Axis(0));
    let lane = |x: &ArrayD<f64>, of: fn(&[f64]) -> f64| {
        let middle = x.view().permuted_axes(vec![1, 0, 2]);
        let each = middle.outer_iter().map(|part| {
            let part: Vec<f64> = part.iter().copied().collect();
            of(&part)
        });
        each.collect::<Array<f64, Ix1>>().into_dyn()
    };
    vec![
        row(
            "sum_axes",
            shapes,
            |x| x[0].sum_axes(&[2, 0]),
            move |x| outer(&x[0]),
        ),
        row(
            "max_axes",
            &shapes[..2],
            |x| x[0].max_axes(&[0, 2]),
            move |x| lane(&x[0], largest),
        ),
        row(
            "logsumexp_axes",
            shapes,
            |x| x[0].logsumexp_axes(&[0, 2]),
            move |x| lane(&x[0], logsumexp),
        ),
        row(
            "prod_axes_keepdim",
            shapes,
            |x| x[0].prod_axes_keepdim(&[0, 2]),
            move |x| {
                let products = lane(&x[0], |x| x.iter().product());
                products.insert_axis(Axis(0)).insert_axis(Axis(2))
            },
        ),
        row(
            "dot_over",
            &[&[&[2, 3], &[2, 3]], &[&[0, 3], &[0, 3]]],
            |x| DotOver::apply(&x[0], &x[1], Over::axis(Axis(0))),
            |x| (&x[0] * &x[1]).sum_axis(Axis(0)),
        ),
    ]
}
