//! Attention against plain loops.

use std::sync::Arc;

use pullback::ndarray::{Array1, Array2, Array3, ArrayView2, Axis, Ix3, array, concatenate, s};
use pullback::nn::{MultiheadAttention, MultiheadAttentionBuilder, Parameter};
use pullback::ops::AttentionOptions;
use pullback::prelude::*;

use super::{assert_close, generator, tensor, values};

/// Returns x Wᵀ + b of one example.
fn linear(x: ArrayView2<'_, f64>, weight: ArrayView2<'_, f64>, bias: &Array1<f64>) -> Array2<f64> {
    x.dot(&weight.t()) + bias
}

/// Returns the concatenated outputs of the heads for one example.
fn heads(
    q: &Array2<f64>,
    k: &Array2<f64>,
    v: &Array2<f64>,
    count: usize,
    allowed: &Array2<bool>,
) -> Array2<f64> {
    let length = q.ncols() / count;
    let mut found = Array2::zeros(q.raw_dim());
    for head in 0..count {
        let columns = s![.., head * length..(head + 1) * length];
        let scores = q.slice(columns).dot(&k.slice(columns).t()) / (length as f64).sqrt();
        for (query, scores) in scores.outer_iter().enumerate() {
            let weights: Array1<f64> = scores
                .iter()
                .zip(allowed.row(query))
                .map(|(score, &allowed)| if allowed { score.exp() } else { 0.0 })
                .collect();
            let weights = &weights / weights.sum();
            let row = weights.dot(&v.slice(columns));
            found.slice_mut(columns).row_mut(query).assign(&row);
        }
    }
    found
}

/// Returns a layer whose biases are random too.
fn layer(embed_dim: usize, heads: usize) -> MultiheadAttention<f64> {
    let mut layer = MultiheadAttention::new(embed_dim, heads, &mut generator());
    layer.in_proj_bias = Some(Parameter::new(values(3 * embed_dim, 11)));
    layer.out_proj.bias = Some(Parameter::new(values(embed_dim, 12)));
    layer
}

fn expected(
    layer: &MultiheadAttention<f64>,
    [query, key, value]: [&Tensor3<f64>; 3],
    count: usize,
    allowed: impl Fn(usize) -> Array2<bool>,
) -> Array3<f64> {
    let weight = layer.in_proj_weight.as_ref().expect("weights").to_array();
    let bias = layer.in_proj_bias.as_ref().expect("biases").to_array();
    let (out, out_bias) = (
        layer.out_proj.weight.to_array(),
        layer.out_proj.bias.as_ref().expect("biases").to_array(),
    );
    let n = weight.ncols();
    let project = |x: ArrayView2<'_, f64>, part: usize| {
        let rows = part * n..(part + 1) * n;
        linear(
            x,
            weight.slice(s![rows.clone(), ..]),
            &bias.slice(s![rows]).to_owned(),
        )
    };
    let examples: Vec<Array2<f64>> = (0..query.shape()[0])
        .map(|example| {
            let of =
                |x: &Tensor3<f64>, part| project(x.view().index_axis_move(Axis(0), example), part);
            let (q, k, v) = (of(query, 0), of(key, 1), of(value, 2));
            linear(
                heads(&q, &k, &v, count, &allowed(example)).view(),
                out.view(),
                &out_bias,
            )
        })
        .collect();
    let views: Vec<_> = examples
        .iter()
        .map(|example| example.view().insert_axis(Axis(0)))
        .collect();
    concatenate(Axis(0), &views).expect("one shape")
}

#[test]
fn of_a_tensor_to_itself() {
    let layer = layer(6, 3);
    let x = tensor((2, 4, 6), 1);
    let all = |_| Array2::from_elem((4, 4), true);
    assert_close(
        &layer.forward(&x).to_array(),
        &expected(&layer, [&x, &x, &x], 3, all),
    );
}

#[test]
fn of_queries_to_keys_and_values() {
    let layer = layer(4, 2);
    let (query, key, value) = (
        tensor((2, 3, 4), 1),
        tensor((2, 5, 4), 2),
        tensor((2, 5, 4), 3),
    );
    let all = |_| Array2::from_elem((3, 5), true);
    let found = layer.forward((&query, &key, &value)).to_array();
    assert_close(&found, &expected(&layer, [&query, &key, &value], 2, all));
    // Separate matrices with the same values give the same result.
    let weight = layer.in_proj_weight.as_ref().expect("weights").to_array();
    let part = |from: usize| {
        Some(Parameter::new(
            weight.slice(s![from..from + 4, ..]).to_owned(),
        ))
    };
    let mut apart = layer;
    apart.in_proj_weight = None;
    (
        apart.q_proj_weight,
        apart.k_proj_weight,
        apart.v_proj_weight,
    ) = (part(0), part(4), part(8));
    assert_close(&apart.forward((&query, &key, &value)).to_array(), &found);
}

#[test]
fn masks_say_what_is_attended_to() {
    let layer = layer(4, 2);
    let x = tensor((2, 3, 4), 1);
    let words = [3, 2];
    let known = |example: usize| Array2::from_shape_fn((3, 3), |(_, key)| key < words[example]);
    let padding = array![[true, true, true], [true, true, false]];
    let mask = padding.insert_axis(Axis(1)).insert_axis(Axis(1)).into_dyn();
    let options = AttentionOptions {
        mask: Some(Arc::new(mask)),
        ..AttentionOptions::default()
    };
    let found = layer.attend(&x, &x, &x, &options).to_array();
    assert_close(&found, &expected(&layer, [&x, &x, &x], 2, known));
    let causal = |_| Array2::from_shape_fn((3, 3), |(query, key)| key <= query);
    let options = AttentionOptions {
        causal: true,
        ..AttentionOptions::default()
    };
    let found = layer.attend(&x, &x, &x, &options).to_array();
    assert_close(&found, &expected(&layer, [&x, &x, &x], 2, causal));
    let mut built = MultiheadAttention::builder(4, 2)
        .causal(true)
        .build(&mut generator());
    built.in_proj_bias = layer.in_proj_bias.clone();
    built.out_proj.bias = layer.out_proj.bias.clone();
    assert_close(&built.forward(&x).to_array(), &found);
}

#[test]
fn first_values_are_pytorchs() {
    let layer = MultiheadAttention::<f64>::new(16, 4, &mut generator());
    let weight = layer.in_proj_weight.as_ref().expect("weights").to_array();
    let bound = (6.0_f64 / 64.0).sqrt();
    let largest = weight.fold(0.0_f64, |largest, x| largest.max(x.abs()));
    assert!(largest <= bound && largest > 0.98 * bound);
    assert!(layer.out_proj.weight.view().iter().all(|x| x.abs() <= 0.25));
    let biases = [layer.in_proj_bias.as_ref(), layer.out_proj.bias.as_ref()];
    assert!(
        biases
            .into_iter()
            .flatten()
            .all(|bias| bias.view().iter().all(|&x| x == 0.0))
    );
    let bare = MultiheadAttention::<f64>::builder(4, 2)
        .bias(false)
        .build(&mut generator());
    assert_eq!(bare.parameters().len(), 2);
}

#[test]
fn without_examples_or_places_there_is_nothing() {
    let layer = layer(4, 2);
    assert_eq!(layer.forward(&tensor(Ix3(0, 3, 4), 1)).shape(), [0, 3, 4]);
    assert_eq!(layer.forward(&tensor(Ix3(2, 0, 4), 1)).shape(), [2, 0, 4]);
}

/// Returns the weights of attention, the output for values that are the rows of a unit matrix.
fn weights(layer: &MultiheadAttention<f64>, options: &AttentionOptions) -> Array2<f64> {
    let x = tensor((1, 4, 4), 1);
    let y = layer.attend(
        &x,
        &x,
        &Tensor::from(Array2::eye(4).insert_axis(Axis(0))),
        options,
    );
    y.to_array().remove_axis(Axis(0))
}

/// Returns a layer of one head whose output is that of the head.
fn bare(builder: MultiheadAttentionBuilder<f64>) -> MultiheadAttention<f64> {
    let mut layer = builder.bias(false).build(&mut generator());
    let mut weight = layer.in_proj_weight.as_ref().expect("weights").to_array();
    weight.slice_mut(s![8.., ..]).assign(&Array2::eye(4));
    layer.in_proj_weight = Some(Parameter::new(weight));
    layer.out_proj.weight = Parameter::new(Array2::eye(4));
    layer
}

#[test]
fn keys_are_left_out_in_training_only() {
    let builder = || MultiheadAttention::builder(4, 1);
    let (plain, mut dropped) = (bare(builder()), bare(builder().dropout(0.5)));
    let mask = array![[true, true, false, true], [false; 4], [true; 4], [true; 4]];
    let mask = Some(Arc::new(mask.into_dyn()));
    let all = [
        AttentionOptions::default(),
        AttentionOptions {
            causal: true,
            ..AttentionOptions::default()
        },
        AttentionOptions {
            mask,
            causal: true,
            ..AttentionOptions::default()
        },
    ];
    let (mut left_out, mut count) = (0, 0);
    for options in all.iter().cycle().take(60) {
        let (expected, found) = (weights(&plain, options), weights(&dropped, options));
        for (&expected, &found) in expected.iter().zip(&found) {
            assert!(
                found == 0.0 || (found - 2.0 * expected).abs() < 1e-12,
                "{found} {expected}"
            );
            left_out += usize::from(expected != 0.0 && found == 0.0);
            count += usize::from(expected != 0.0);
        }
    }
    let share = left_out as f64 / count as f64;
    assert!((share - 0.5).abs() < 0.08, "{share}");
    dropped.eval();
    for options in &all {
        assert_close(&weights(&dropped, options), &weights(&plain, options));
    }
}
