//! Norms of batches and rows, losses, and what looks up rows of a table.

use pullback::kernels::Channels;
use pullback::ndarray::{ArrayD, Axis, Dimension, IxDyn};
use pullback::ops::{ChannelRepeat, ChannelSum, CrossEntropyOptions};
use pullback::prelude::*;

use super::rows::{Row, along, binary, placed, row, whole};

pub fn rows<T: Element>() -> Vec<Row<T>> {
    let groups = [norms(), channels(), losses(), of_labels(), tables()];
    groups.into_iter().flatten().collect()
}

/// An input as a function of one rank takes it.
fn ranked<T: Element, D: Dimension>(x: &TensorD<T>) -> Tensor<T, D> {
    x.clone()
        .into_dimensionality()
        .expect("the function's rank")
}

/// Less the mean and over the deviation.
fn normalized(x: &[f64]) -> Vec<f64> {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let var = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / x.len() as f64;
    x.iter()
        .map(|x| (x - mean) / (var + 0.125).sqrt())
        .collect()
}

/// Each row as one, in the shape that they had.
fn in_rows(x: &ArrayD<f64>, rows: usize, f: impl Fn(&[f64]) -> Vec<f64>) -> ArrayD<f64> {
    let width = x.len() / rows.max(1);
    let matrix = x.to_shape((rows, width)).expect("as many elements");
    let matrix = along(&matrix.into_owned().into_dyn(), Axis(1), &f);
    matrix
        .to_shape(x.shape())
        .expect("as many elements")
        .into_owned()
}

/// Numbers for the second axis of three, so that they broadcast.
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

/// Of a prediction and a target of one shape.
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
                let positive = if x < 0.0 { 0.0 } else { x };
                positive - x * y + (-x.abs()).exp().ln_1p()
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

fn of_labels<T: Element>() -> Vec<Row<T>> {
    let labels = [2, 0, 7];
    let options = CrossEntropyOptions {
        label_smoothing: 0.25,
        ignore_index: Some(7),
    };
    vec![
        row(
            "nll_loss",
            &[&[&[3, 4]]],
            move |x| {
                ranked::<T, _>(&x[0])
                    .nll_loss_unreduced(&labels, Some(7))
                    .into_dyn()
            },
            |x| placed(&[3], |place| [-x[0][[0, 2]], -x[0][[1, 0]], 0.0][place[0]]),
        ),
        row(
            "nll_loss of nothing",
            &[&[&[0, 4]]],
            move |x| {
                ranked::<T, _>(&x[0])
                    .nll_loss_unreduced(&[], None)
                    .into_dyn()
            },
            |_| ArrayD::zeros(IxDyn(&[0])),
        ),
        row(
            "cross_entropy",
            &[&[&[3, 4]]],
            move |x| {
                ranked::<T, _>(&x[0])
                    .cross_entropy_unreduced(&labels, options)
                    .into_dyn()
            },
            move |x| {
                placed(&[3], |place| {
                    let row = x[0].index_axis(Axis(0), place[0]);
                    let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    let sum: f64 = row.iter().map(|x| (x - largest).exp()).sum();
                    let losses = row.iter().map(|x| sum.ln() + largest - x);
                    let losses: Vec<f64> = losses.collect();
                    let label = labels[place[0]];
                    let own = losses
                        .get(label)
                        .map(|own| 0.75 * own + 0.25 / 4.0 * losses.iter().sum::<f64>());
                    own.unwrap_or(0.0)
                })
            },
        ),
        row(
            "cross_entropy of nothing",
            &[&[&[0, 4]]],
            move |x| {
                ranked::<T, _>(&x[0])
                    .cross_entropy_unreduced(&[], options)
                    .into_dyn()
            },
            |_| ArrayD::zeros(IxDyn(&[0])),
        ),
    ]
}

fn tables<T: Element>() -> Vec<Row<T>> {
    let indices = [1, 0, 1];
    let tables: &[&[&[usize]]] = &[&[&[2, 3]], &[&[2, 0]]];
    vec![
        row(
            "embedding",
            tables,
            move |x| ranked::<T, _>(&x[0]).embedding(&indices).into_dyn(),
            move |x| x[0].select(Axis(0), &indices),
        ),
        row(
            "embedding_padded",
            tables,
            move |x| {
                ranked::<T, _>(&x[0])
                    .embedding_padded(&indices, 0)
                    .into_dyn()
            },
            move |x| x[0].select(Axis(0), &indices),
        ),
    ]
}
