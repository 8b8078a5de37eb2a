//! Norms of batches and rows, losses, and what looks up rows of a table.

use pullback::kernels::Channels;
use pullback::ndarray::{ArrayD, Axis, Dimension, IxDyn};
use pullback::ops::{ChannelRepeat, ChannelSum, CrossEntropyOptions};
use pullback::prelude::*;

use super::rows::{Row, along, binary, placed, ranked, row, whole};

pub fn rows<T: Element>() -> Vec<Row<T>> {
    let groups = [norms(), channels(), losses(), of_labels(), tables()];
    groups.into_iter().flatten().collect()
}

/// Subtracts the mean, and divides by the deviation.
fn normalized(x: &[f64]) -> Vec<f64> {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let var = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / x.len() as f64;
    let deviation = (var + 0.125).sqrt();
    x.iter().map(|x| (x - mean) / deviation).collect()
}

/// Applies a function to each row, and returns the rows in their shape.
fn in_rows(x: &ArrayD<f64>, rows: usize, f: impl Fn(&[f64]) -> Vec<f64>) -> ArrayD<f64> {
    let width = x.len() / rows.max(1);
    let matrix = x.to_shape((rows, width)).expect("as many elements");
    let matrix = along(&matrix.into_owned().into_dyn(), Axis(1), &f);
    let result = matrix.to_shape(x.shape()).expect("as many elements");
    result.into_owned()
}

/// Returns numbers for the second axis of three, which broadcast.
fn column(x: &ArrayD<f64>) -> ArrayD<f64> {
    x.clone().insert_axis(Axis(1))
}

fn norms<T: Element>() -> Vec<Row<T>> {
    let eps = T::from_f64(0.125);
    let batches: &[&[&[usize]]] = &[&[&[2, 4, 3], &[4], &[4]], &[&[1, 4, 2], &[4], &[4]]];
    vec![
        row(
            "layer_norm",
            &[
                &[&[2, 3], &[3], &[3]],
                &[&[0, 3], &[3], &[3]],
                &[&[2, 2, 3], &[3], &[3]],
            ],
            move |x| x[0].layer_norm(&[3], Some(&x[1]), Some(&x[2]), eps),
            |x| in_rows(&x[0], x[0].len() / 3, normalized) * &x[1] + &x[2],
        ),
        row(
            "batch_norm",
            batches,
            move |x| {
                let (weight, bias) = (ranked(&x[1]), ranked(&x[2]));
                x[0].batch_norm(Some(&weight), Some(&bias), eps).0
            },
            |x| {
                let mut channels = x[0].clone();
                channels.swap_axes(0, 1);
                let mut normalized = in_rows(&channels, 4, normalized);
                normalized.swap_axes(0, 1);
                normalized * column(&x[1]) + column(&x[2])
            },
        ),
        row(
            "batch_norm_with",
            &[
                &[&[2, 4, 3], &[4], &[4], &[4]],
                &[&[0, 4, 2], &[4], &[4], &[4]],
            ],
            move |x| {
                let (mean, variance) = (ranked::<T, _>(&x[1]), ranked(&x[2]).square());
                x[0].batch_norm_with(&mean, &variance, Some(&ranked(&x[3])), None, eps)
            },
            |x| {
                let deviation = x[2].mapv(|x| (x * x + 0.125).sqrt());
                (&x[0] - &column(&x[1])) / column(&deviation) * column(&x[3])
            },
        )
        .of_finite(),
        row(
            "group_norm",
            batches,
            move |x| {
                let (weight, bias) = (ranked(&x[1]), ranked(&x[2]));
                x[0].group_norm(2, Some(&weight), Some(&bias), eps)
            },
            |x| {
                let groups = in_rows(&x[0], 2 * x[0].shape()[0], normalized);
                groups * column(&x[1]) + column(&x[2])
            },
        ),
    ]
}

fn channels<T: Element>() -> Vec<Row<T>> {
    vec![
        row(
            "the sum of each channel",
            &[&[&[2, 3, 2]], &[&[0, 3, 2]]],
            |x| ChannelSum::apply(&x[0], Channels::along(x[0].shape(), 1), &[3]),
            |x| x[0].sum_axis(Axis(2)).sum_axis(Axis(0)),
        ),
        row(
            "a number for each channel",
            &[&[&[3]], &[&[0]]],
            |x| {
                let shape = [2, x[0].len(), 4];
                ChannelRepeat::apply(&x[0], Channels::along(&shape, 1), &shape)
            },
            |x| placed(&[2, x[0].len(), 4], |place| x[0][[place[1]]]),
        ),
    ]
}

/// Returns the row of a loss of a prediction and a target of one shape.
fn loss<T: Element>(
    name: &str,
    function: impl Fn(&TensorD<T>, &TensorD<T>) -> TensorD<T> + 'static,
    plain: impl Fn(f64, f64) -> f64 + 'static,
) -> Row<T> {
    let mut row = binary(name, function, plain);
    row.shapes.retain(|shapes| shapes[0] == shapes[1]);
    row
}

fn losses<T: Element>() -> Vec<Row<T>> {
    vec![
        loss(
            "mse_loss",
            |x, y| x.mse_loss_unreduced(y),
            |x, y| (x - y) * (x - y),
        ),
        loss(
            "l1_loss",
            |x, y| x.l1_loss_unreduced(y),
            |x, y| (x - y).abs(),
        ),
        loss(
            "huber_loss",
            |x, y| x.huber_loss_unreduced(y, T::from_f64(0.75)),
            |x, y| match (x - y).abs() {
                far if far > 0.75 => 0.75 * (far - 0.375),
                near => 0.5 * near * near,
            },
        ),
        loss(
            "bce_with_logits",
            |x, y| x.bce_with_logits_unreduced(y),
            |x, y| {
                let certain = if x > 0.0 { 1.0 } else { 0.0 };
                x * (certain - y) + (-x.abs()).exp().ln_1p()
            },
        ),
        loss(
            "kl_div",
            |x, y| x.kl_div_unreduced(y),
            |x, y| match y {
                0.0 => 0.0,
                _ => y * (y.ln() - x),
            },
        ),
        whole("dropout", |x| x.dropout(0.0, 5), ArrayD::clone),
        whole("dropout of all", |x| x.dropout(1.0, 5), |x| x * 0.0),
    ]
}

/// Returns a row for a function of a matrix.
fn of_matrix<T: Element, D: Dimension>(
    name: &str,
    shapes: &[&[&[usize]]],
    function: impl Fn(Tensor2<T>) -> Tensor<T, D> + 'static,
    plain: impl Fn(&ArrayD<f64>) -> ArrayD<f64> + 'static,
) -> Row<T> {
    let function = move |x: &[TensorD<T>]| function(ranked(&x[0])).into_dyn();
    row(name, shapes, function, move |x| plain(&x[0]))
}

fn of_labels<T: Element>() -> Vec<Row<T>> {
    let labels = [2, 0, 7];
    let options = CrossEntropyOptions {
        label_smoothing: 0.25,
        ignore_index: Some(7),
    };
    let some: &[&[&[usize]]] = &[&[&[3, 4]]];
    let none: &[&[&[usize]]] = &[&[&[0, 4]]];
    let nothing = |_: &ArrayD<f64>| ArrayD::zeros(IxDyn(&[0]));
    vec![
        of_matrix(
            "nll_loss",
            some,
            move |x| x.nll_loss_unreduced(&labels, Some(7)),
            |x| placed(&[3], |at| [-x[[0, 2]], -x[[1, 0]], 0.0][at[0]]),
        ),
        of_matrix(
            "nll_loss of nothing",
            none,
            |x| x.nll_loss_unreduced(&[], None),
            nothing,
        ),
        of_matrix(
            "cross_entropy",
            some,
            move |x| x.cross_entropy_unreduced(&labels, options),
            move |x| {
                placed(&[3], |at| {
                    let row = x.index_axis(Axis(0), at[0]);
                    let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    let sum: f64 = row.iter().map(|x| (x - largest).exp()).sum();
                    let losses = row.mapv(|x| sum.ln() + largest - x);
                    let smooth = |own| 0.75 * own + 0.25 / 4.0 * losses.sum();
                    losses.get(labels[at[0]]).map_or(0.0, smooth)
                })
            },
        ),
        of_matrix(
            "cross_entropy of nothing",
            none,
            move |x| x.cross_entropy_unreduced(&[], options),
            nothing,
        ),
    ]
}

fn tables<T: Element>() -> Vec<Row<T>> {
    let indices = [1, 0, 1];
    let tables: &[&[&[usize]]] = &[&[&[2, 3]], &[&[2, 0]]];
    let selected = move |x: &ArrayD<f64>| x.select(Axis(0), &indices);
    let padded = move |x: Tensor2<T>| x.embedding_padded(&indices, 0);
    vec![
        of_matrix(
            "embedding",
            tables,
            move |x| x.embedding(&indices),
            selected,
        ),
        of_matrix("embedding_padded", tables, padded, selected),
    ]
}
