//! Reductions over one axis, several and all, and other functions of lanes.

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

/// Returns the elements in row-major order.
fn elements(x: &ArrayD<f64>) -> Vec<f64> {
    x.iter().copied().collect()
}

fn sum(x: &[f64]) -> f64 {
    x.iter().sum()
}

fn product(x: &[f64]) -> f64 {
    x.iter().product()
}

/// Removes the shapes whose axis has length 0.
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

/// Returns the largest by an order; NaN is the largest in any order.
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
    // An infinite element is the result.
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

/// Returns a row for a reduction of all elements.
fn total<T: Element>(
    name: &str,
    function: fn(&TensorD<T>) -> Tensor0<T>,
    plain: fn(&[f64]) -> f64,
) -> Row<T> {
    let function = move |x: &TensorD<T>| function(x).into_dyn();
    whole(name, function, move |x| number(plain(&elements(x))))
}

fn of_all<T: Element>() -> Vec<Row<T>> {
    let mut rows = vec![
        total("max", Tensor::max, max),
        total("min", Tensor::min, min),
    ];
    for row in &mut rows {
        row.shapes.retain(|shapes| !shapes[0].contains(&0));
    }
    rows.extend([
        total("logsumexp", Tensor::logsumexp, logsumexp),
        total("mean", Tensor::mean, mean),
        total("norm", Tensor::norm, norm),
        total("prod", Tensor::prod, product),
        total("std", |x| x.std(0), |x| var(x, 0).sqrt()),
        total("sum", Tensor::sum, sum),
        total("var", |x| x.var(1), |x| var(x, 1)),
    ]);
    rows
}

fn over_one<T: Element>() -> Vec<Row<T>> {
    let std = |lane: &[f64]| var(lane, 0).sqrt();
    let kept = |x: &TensorD<T>, axis: Axis| x.sum_keepdim(&[axis.index()]);
    let groups = [
        folds("logsumexp", |x, axis| x.logsumexp_axis(axis), logsumexp),
        folds("mean", |x, axis| x.mean_axis(axis), mean),
        folds("norm", |x, axis| x.norm_axis(axis), norm),
        folds("prod", |x, axis| x.prod_axis(axis), product),
        folds("std", |x, axis| x.std_axis(axis, 0), std),
        folds("sum", |x, axis| x.sum_axis(axis), sum),
        folds("var", |x, axis| x.var_axis(axis, 1), |lane| var(lane, 1)),
        of_some(folds("max", |x, axis| x.max_axis(axis), max)),
        of_some(folds("min", |x, axis| x.min_axis(axis), min)),
        lanes("sum_keepdim", kept, |lane| vec![sum(lane)]),
    ];
    groups.into_iter().flatten().collect()
}

/// Reduces all but the middle one of three axes.
fn outer(x: &ArrayD<f64>, plain: impl Fn(&[f64]) -> f64) -> ArrayD<f64> {
    placed(&[x.shape()[1]], |index| {
        plain(&elements(&x.index_axis(Axis(1), index[0]).to_owned()))
    })
}

/// Returns a row for a reduction over the first and the last of three axes.
fn several<T: Element>(
    name: &str,
    function: fn(&TensorD<T>) -> TensorD<T>,
    plain: fn(&[f64]) -> f64,
) -> Row<T> {
    let shapes: &[&[&[usize]]] = &[&[&[2, 3, 4]], &[&[3, 0, 2]], &[&[0, 3, 0]]];
    row(
        name,
        shapes,
        move |x| function(&x[0]),
        move |x| outer(&x[0], plain),
    )
}

fn over_several<T: Element>() -> Vec<Row<T>> {
    let mut max = several("max_axes", |x| x.max_axes(&[0, 2]), max);
    max.shapes.pop();
    let mut none = several("sum_axes over none", |x| x.sum_axes(&[]), sum);
    none.plain = Box::new(|x| x[0].clone());
    let mut kept = several("var_keepdim", |x| x.var_keepdim(&[0, 2], 0), sum);
    kept.plain = Box::new(|x| {
        let variances = outer(&x[0], |x| var(x, 0));
        variances.insert_axis(Axis(0)).insert_axis(Axis(2))
    });
    vec![
        several("logsumexp_axes", |x| x.logsumexp_axes(&[2, 0]), logsumexp),
        several("mean_axes", |x| x.mean_axes(&[0, 2]), mean),
        several("norm_axes", |x| x.norm_axes(&[0, 2]), norm),
        several("prod_axes", |x| x.prod_axes(&[0, 2]), product),
        several("sum_axes", |x| x.sum_axes(&[0, 2]), sum),
        max,
        none,
        kept,
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

/// The functions that gradients of reductions use.
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
                along(&products, Axis(1), &|lane: &[f64]| vec![sum(lane)])
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
