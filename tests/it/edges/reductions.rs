//! Reductions over one axis, several and all, and what else is made of lanes.

use pullback::kernels::Axes;
use pullback::ndarray::{ArrayD, Axis, arr0};
use pullback::ops::{DotAxes, Expand};
use pullback::prelude::*;

use super::rows::{Row, along, folds, lanes, placed, row, whole};

pub fn rows<T: Element>() -> Vec<Row<T>> {
    let groups = [of_all(), over_one(), over_several(), of_lanes(), repeated()];
    groups.into_iter().flatten().collect()
}

fn number(x: f64) -> ArrayD<f64> {
    arr0(x).into_dyn()
}

/// The elements in row-major order.
fn elements(x: &ArrayD<f64>) -> Vec<f64> {
    x.iter().copied().collect()
}

/// Those of the shapes along whose axes, or along the named one, there is something.
fn of_some<T>(rows: Vec<Row<T>>) -> Vec<Row<T>> {
    let mut rows = rows;
    for (axis, row) in rows.iter_mut().enumerate() {
        row.shapes.retain(|shapes| shapes[0][axis] > 0);
    }
    rows
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

fn var(x: &[f64], ddof: usize) -> f64 {
    let mean = mean(x);
    let squares: f64 = x.iter().map(|x| (x - mean) * (x - mean)).sum();
    squares / x.len().saturating_sub(ddof) as f64
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The largest by an order; what is no number is largest in any.
fn extreme(x: &[f64], is_before: impl Fn(f64, f64) -> bool) -> f64 {
    let last = |last: f64, &x: &f64| {
        let wins = x.is_nan() || is_before(last, x);
        if !last.is_nan() && wins { x } else { last }
    };
    x.iter().skip(1).fold(x[0], last)
}

fn max(x: &[f64]) -> f64 {
    extreme(x, |x, y| x < y)
}

fn min(x: &[f64]) -> f64 {
    extreme(x, |x, y| x > y)
}

fn logsumexp(x: &[f64]) -> f64 {
    // One that is infinite decides.
    let largest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match x.iter().any(|x| x.is_nan()) {
        true => f64::NAN,
        false if largest.is_infinite() => largest,
        false => largest + x.iter().map(|x| (x - largest).exp()).sum::<f64>().ln(),
    }
}

fn softmax(x: &[f64]) -> Vec<f64> {
    let largest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = x.iter().map(|x| (x - largest).exp()).sum();
    x.iter().map(|x| (x - largest).exp() / sum).collect()
}

fn of_all<T: Element>() -> Vec<Row<T>> {
    let mut rows = vec![
        whole(
            "logsumexp",
            |x| x.logsumexp().into_dyn(),
            |x| number(logsumexp(&elements(x))),
        ),
        whole(
            "mean",
            |x| x.mean().into_dyn(),
            |x| number(mean(&elements(x))),
        ),
        whole(
            "norm",
            |x| x.norm().into_dyn(),
            |x| number(norm(&elements(x))),
        ),
        whole("prod", |x| x.prod().into_dyn(), |x| number(x.product())),
        whole(
            "std",
            |x| x.std(0).into_dyn(),
            |x| number(var(&elements(x), 0).sqrt()),
        ),
        whole("sum", |x| x.sum().into_dyn(), |x| number(x.sum())),
        whole(
            "var",
            |x| x.var(1).into_dyn(),
            |x| number(var(&elements(x), 1)),
        ),
    ];
    let mut extremes = [
        whole("max", |x| x.max().into_dyn(), |x| number(max(&elements(x)))),
        whole("min", |x| x.min().into_dyn(), |x| number(min(&elements(x)))),
    ];
    for row in &mut extremes {
        row.shapes.retain(|shapes| !shapes[0].contains(&0));
    }
    rows.extend(extremes);
    rows
}

fn over_one<T: Element>() -> Vec<Row<T>> {
    let groups = [
        folds("logsumexp", |x, axis| x.logsumexp_axis(axis), logsumexp),
        folds("mean", |x, axis| x.mean_axis(axis), mean),
        folds("norm", |x, axis| x.norm_axis(axis), norm),
        folds(
            "prod",
            |x, axis| x.prod_axis(axis),
            |lane| lane.iter().product(),
        ),
        folds(
            "std",
            |x, axis| x.std_axis(axis, 0),
            |lane| var(lane, 0).sqrt(),
        ),
        folds("sum", |x, axis| x.sum_axis(axis), |lane| lane.iter().sum()),
        folds("var", |x, axis| x.var_axis(axis, 1), |lane| var(lane, 1)),
        of_some(folds("max", |x, axis| x.max_axis(axis), max)),
        of_some(folds("min", |x, axis| x.min_axis(axis), min)),
        lanes(
            "sum_keepdim",
            |x, axis| x.sum_keepdim(&[axis.index()]),
            |lane| vec![lane.iter().sum()],
        ),
    ];
    groups.into_iter().flatten().collect()
}

/// Of all but the middle one of three axes.
fn outer(x: &ArrayD<f64>, plain: impl Fn(&[f64]) -> f64) -> ArrayD<f64> {
    placed(&[x.shape()[1]], |place| {
        plain(&elements(&x.index_axis(Axis(1), place[0]).to_owned()))
    })
}

fn over_several<T: Element>() -> Vec<Row<T>> {
    let shapes: &[&[&[usize]]] = &[&[&[2, 3, 4]], &[&[3, 0, 2]], &[&[0, 3, 0]]];
    let kept = |x: ArrayD<f64>| x.insert_axis(Axis(0)).insert_axis(Axis(2));
    vec![
        row(
            "logsumexp_axes",
            shapes,
            |x| x[0].logsumexp_axes(&[2, 0]),
            |x| outer(&x[0], logsumexp),
        ),
        row(
            "mean_axes",
            shapes,
            |x| x[0].mean_axes(&[0, 2]),
            |x| outer(&x[0], mean),
        ),
        row(
            "norm_axes",
            shapes,
            |x| x[0].norm_axes(&[0, 2]),
            |x| outer(&x[0], norm),
        ),
        row(
            "prod_axes",
            shapes,
            |x| x[0].prod_axes(&[0, 2]),
            |x| outer(&x[0], |x| x.iter().product()),
        ),
        row(
            "sum_axes",
            shapes,
            |x| x[0].sum_axes(&[0, 2]),
            |x| outer(&x[0], |x| x.iter().sum()),
        ),
        row(
            "sum_axes over none",
            shapes,
            |x| x[0].sum_axes(&[]),
            |x| x[0].clone(),
        ),
        row(
            "max_axes",
            &shapes[..2],
            |x| x[0].max_axes(&[0, 2]),
            |x| outer(&x[0], max),
        ),
        row(
            "var_axes_keepdim",
            shapes,
            |x| x[0].var_keepdim(&[0, 2], 0),
            move |x| kept(outer(&x[0], |x| var(x, 0))),
        ),
    ]
}

fn of_lanes<T: Element>() -> Vec<Row<T>> {
    let groups = [
        lanes(
            "cumsum",
            |x, axis| x.cumsum(axis),
            |lane| {
                let mut sum = 0.0;
                let sums = lane.iter().map(|x| {
                    sum += x;
                    sum
                });
                sums.collect()
            },
        ),
        lanes("softmax", |x, axis| x.softmax(axis), softmax),
        lanes(
            "log_softmax",
            |x, axis| x.log_softmax(axis),
            |lane| {
                let largest = lane.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = lane.iter().map(|x| (x - largest).exp()).sum();
                lane.iter().map(|x| x - largest - sum.ln()).collect()
            },
        ),
    ];
    groups.into_iter().flatten().collect()
}

/// What gradients of reductions are made of.
fn repeated<T: Element>() -> Vec<Row<T>> {
    let axes = Axes::of(&[0, 2]);
    let axis = Axes::one(Axis(1));
    vec![
        row(
            "dot_axes",
            &[&[&[2, 3, 2], &[2, 3, 2]], &[&[0, 3, 2], &[0, 3, 2]]],
            move |x| DotAxes::apply(&x[0], &x[1], axis),
            |x| {
                let products = &x[0] * &x[1];
                along(&products, Axis(1), &|lane: &[f64]| vec![lane.iter().sum()])
                    .index_axis_move(Axis(1), 0)
            },
        ),
        row(
            "expand",
            &[&[&[3]], &[&[0]]],
            move |x| Expand::apply(&x[0], axes, &[2, x[0].len(), 4]),
            |x| placed(&[2, x[0].len(), 4], |place| x[0][[place[1]]]),
        ),
    ]
}
