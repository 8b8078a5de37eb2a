//! Losses, normalisation, dropout, and what looks up rows of a table.

use pullback::kernels::{Channels, dropout};
use pullback::ndarray::{Array, ArrayD, Axis, Dimension, Ix1, Ix2, IxDyn, array};
use pullback::ops::{ChannelRepeat, CrossEntropyOptions};
use pullback::prelude::*;

use super::reductions::{log_softmax, mean, variance};
use super::rows::{Row, along, placed, row, whole};

const EPS: f64 = 0.125;

pub fn rows<T: Element>() -> Vec<Row<T>> {
    let groups = [losses(), labelled(), layers(), others()];
    groups.into_iter().flatten().collect()
}

fn between<T: Element>(
    name: &str,
    function: impl Fn(&TensorD<T>, &TensorD<T>) -> TensorD<T> + 'static,
    plain: impl Fn(f64, f64) -> f64 + 'static,
) -> Row<T> {
    let shapes: &[&[&[usize]]] = &[&[&[], &[]], &[&[2, 3], &[2, 3]], &[&[0, 2], &[0, 2]]];
    row(
        name,
        shapes,
        move |x| function(&x[0], &x[1]),
        move |x| placed(x[0].shape(), |place| plain(x[0][place], x[1][place])),
    )
}

fn losses<T: Element>() -> Vec<Row<T>> {
    let delta = T::from_f64(0.25);
    vec![
        between(
            "mse_loss",
            |x, y| x.mse_loss_each(y),
            |x, y| (x - y) * (x - y),
        ),
        between("l1_loss", |x, y| x.l1_loss_each(y), |x, y| (x - y).abs()),
        between(
            "huber_loss",
            move |x, y| x.huber_loss_each(y, delta),
            |x, y| match (x - y).abs() {
                far if far > 0.25 => 0.25 * (far - 0.125),
                near => near * near / 2.0,
            },
        ),
        between(
            "bce_with_logits",
            |x, y| x.bce_with_logits_each(y),
            |x, y| x.max(0.0) - x * y + (-x.abs()).exp().ln_1p(),
        ),
        between(
            "kl_div",
            |x, y| x.kl_div_each(y),
            |x, y| if y == 0.0 { 0.0 } else { y * (y.ln() - x) },
        ),
    ]
}

/// −Σ target · ln softmax, with the label 1 everywhere; its target less what all classes have.
fn cross_entropy(x: &ArrayD<f64>, smoothing: f64) -> ArrayD<f64> {
    let rows = x.rows().into_iter().map(|row| {
        let logs = log_softmax(&row.to_vec());
        let spread = if smoothing > 0.0 {
            smoothing * mean(&logs)
        } else {
            0.0
        };
        -((1.0 - smoothing) * logs[1] + spread)
    });
    rows.collect::<Array<f64, Ix1>>().into_dyn()
}

fn labelled<T: Element>() -> Vec<Row<T>> {
    let shapes: &[&[&[usize]]] = &[&[&[3, 4]], &[&[1, 2]], &[&[0, 3]]];
    let smoothed = CrossEntropyOptions {
        label_smoothing: 0.25,
        ..CrossEntropyOptions::default()
    };
    let ones = |x: &TensorD<T>| vec![1; x.shape()[0]];
    vec![
        row(
            "cross_entropy",
            shapes,
            move |x| {
                let logits = ranked::<T, Ix2>(&x[0]);
                logits
                    .cross_entropy_each(&ones(&x[0]), CrossEntropyOptions::default())
                    .into_dyn()
            },
            |x| cross_entropy(&x[0], 0.0),
        ),
        row(
            "cross_entropy, smoothed",
            shapes,
            move |x| {
                let logits = ranked::<T, Ix2>(&x[0]);
                logits.cross_entropy_each(&ones(&x[0]), smoothed).into_dyn()
            },
            |x| cross_entropy(&x[0], 0.25),
        ),
        row(
            "nll_loss",
            shapes,
            move |x| {
                ranked::<T, Ix2>(&x[0])
                    .nll_loss_each(&ones(&x[0]), None)
                    .into_dyn()
            },
            |x| -x[0].index_axis(Axis(1), 1).to_owned(),
        ),
        row(
            "embedding",
            &[&[&[3, 2]], &[&[3, 0]]],
            |x| ranked::<T, Ix2>(&x[0]).embedding(&[2, 0, 2]).into_dyn(),
            |x| x[0].select(Axis(0), &[2, 0, 2]),
        ),
    ]
}

/// (x − mean) / √(variance + EPS)
fn normalised(x: &[f64]) -> Vec<f64> {
    let (mean, variance) = (mean(x), variance(x, x.len() as f64));
    x.iter()
        .map(|x| (x - mean) / (variance + EPS).sqrt())
        .collect()
}

fn layers<T: Element>() -> Vec<Row<T>> {
    let eps = T::from_f64(EPS);
    vec![
        row(
            "layer_norm",
            &[
                &[&[2, 3], &[3], &[3]],
                &[&[0, 3], &[3], &[3]],
                &[&[2, 1, 3], &[3], &[3]],
            ],
            move |x| {
                let (weight, bias) = (ranked::<T, Ix1>(&x[1]), ranked(&x[2]));
                x[0].layer_norm(&[3], Some(&weight), Some(&bias), eps)
            },
            |x| {
                let last = Axis(x[0].ndim() - 1);
                along(&x[0], last, &normalised) * &x[1] + &x[2]
            },
        ),
        row(
            "batch_norm",
            &[&[&[4, 2], &[2], &[2]], &[&[3, 0], &[0], &[0]]],
            move |x| {
                let (weight, bias) = (ranked(&x[1]), ranked(&x[2]));
                x[0].batch_norm(Some(&weight), Some(&bias), eps).0
            },
            |x| along(&x[0], Axis(0), &normalised) * &x[1] + &x[2],
        ),
        row(
            "batch_norm_with",
            &[&[&[4, 2], &[2], &[2]], &[&[0, 2], &[2], &[2]]],
            move |x| {
                let (mean, weight) = (ranked(&x[1]), ranked(&x[2]));
                let variance = Tensor::from(array![1.0, 4.0].mapv(T::from_f64));
                x[0].batch_norm_with(&mean, &variance, Some(&weight), None, T::zero())
            },
            |x| (&x[0] - &x[1]) / array![1.0, 2.0] * &x[2],
        ),
        row(
            "group_norm",
            &[&[&[2, 4]], &[&[2, 2, 3]], &[&[0, 4]]],
            move |x| x[0].group_norm(2, None, None, eps),
            |x| {
                let groups = IxDyn(&[x[0].shape()[0], 2, x[0].len() / 2 / x[0].shape()[0].max(1)]);
                let grouped = x[0].to_shape(groups).expect("as many").to_owned();
                let shape = x[0].raw_dim();
                along(&grouped, Axis(2), &normalised)
                    .into_shape_with_order(shape)
                    .expect("as many")
            },
        ),
        row(
            "channel_repeat",
            &[&[&[3]]],
            |x| ChannelRepeat::apply(&x[0], Channels::along(&[2, 3, 2], 1), &[2, 3, 2]),
            |x| placed(&[2, 3, 2], |place| x[0][place[1]]),
        ),
    ]
}

fn others<T: Element>() -> Vec<Row<T>> {
    vec![whole(
        "dropout",
        |x| x.dropout(0.5, 7),
        |x| {
            let kept = dropout(&ArrayD::<f64>::ones(x.raw_dim()).view(), 0.5, 7);
            x * kept
        },
    )]
}

/// An input as a function of one rank takes it.
fn ranked<T: Element, D: Dimension>(x: &TensorD<T>) -> Tensor<T, D> {
    x.clone()
        .into_dimensionality()
        .expect("the function's rank")
}
