//! Recurrent networks against plain loops over numbers.

use pullback::ndarray::{Array1, Array2, Array3, ArrayView1, Axis, s};
use pullback::nn::{AnyParameter, Gru, Lstm, RecurrentCell};
use pullback::prelude::*;

use super::{assert_close, generator, names, tensor};

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// W x + b for the input and for the state.
fn products(
    cell: &RecurrentCell<f64>,
    x: ArrayView1<'_, f64>,
    h: &Array1<f64>,
) -> [Array1<f64>; 2] {
    let bias = |bias: &Option<Parameter<f64, _>>| {
        bias.as_ref()
            .map_or(Array1::zeros(cell.weight_ih.shape()[0]), |bias| {
                bias.to_array()
            })
    };
    [
        cell.weight_ih.view().dot(&x) + bias(&cell.bias_ih),
        cell.weight_hh.view().dot(h) + bias(&cell.bias_hh),
    ]
}

fn gru_step(
    cell: &RecurrentCell<f64>,
    x: ArrayView1<'_, f64>,
    h: &mut Array1<f64>,
    _: &mut Array1<f64>,
) {
    let ([i, s], n) = (products(cell, x, h), h.len());
    let next = Array1::from_shape_fn(n, |k| {
        let r = sigmoid(i[k] + s[k]);
        let z = sigmoid(i[n + k] + s[n + k]);
        let new = (i[2 * n + k] + r * s[2 * n + k]).tanh();
        (1.0 - z) * new + z * h[k]
    });
    *h = next;
}

fn lstm_step(
    cell: &RecurrentCell<f64>,
    x: ArrayView1<'_, f64>,
    h: &mut Array1<f64>,
    c: &mut Array1<f64>,
) {
    let ([i, s], n) = (products(cell, x, h), h.len());
    let sum = i + s;
    for k in 0..n {
        let [i, f, o] = [sum[k], sum[n + k], sum[3 * n + k]].map(sigmoid);
        c[k] = f * c[k] + i * sum[2 * n + k].tanh();
        h[k] = o * c[k].tanh();
    }
}

type Step = fn(&RecurrentCell<f64>, ArrayView1<'_, f64>, &mut Array1<f64>, &mut Array1<f64>);

/// The network on one sequence of shape `[steps, input]`: outputs, and states h and c of all cells.
fn read(
    step: Step,
    cells: &[RecurrentCell<f64>],
    directions: usize,
    x: &Array2<f64>,
    start: impl Fn(usize) -> [Array1<f64>; 2],
) -> (Array2<f64>, Vec<[Array1<f64>; 2]>) {
    let (mut x, mut last) = (x.clone(), Vec::new());
    for (layer, cells) in cells.chunks(directions).enumerate() {
        let hidden = cells[0].weight_hh.shape()[1];
        let mut y = Array2::zeros((x.nrows(), hidden * directions));
        for (direction, cell) in cells.iter().enumerate() {
            let [mut h, mut c] = start(layer * directions + direction);
            let there: Vec<usize> = (0..x.nrows()).collect();
            let steps: Vec<usize> = if direction == 1 {
                there.into_iter().rev().collect()
            } else {
                there
            };
            for place in steps {
                step(cell, x.row(place), &mut h, &mut c);
                y.slice_mut(s![place, direction * hidden..(direction + 1) * hidden])
                    .assign(&h);
            }
            last.push([h, c]);
        }
        x = y;
    }
    (x, last)
}

/// What a network gives for `[steps, batch, input]`, against `read` for each example.
#[track_caller]
fn check(
    step: Step,
    cells: &[RecurrentCell<f64>],
    directions: usize,
    x: &Tensor3<f64>,
    start: [&Tensor3<f64>; 2],
    (output, states): (Array3<f64>, Vec<Array3<f64>>),
) {
    for example in 0..x.shape()[1] {
        let part = x.view().index_axis_move(Axis(1), example).to_owned();
        let start = |cell: usize| {
            start.map(|state| state.view().slice_move(s![cell, example, ..]).to_owned())
        };
        let (expected, last) = read(step, cells, directions, &part, start);
        assert_close(&output.index_axis(Axis(1), example).to_owned(), &expected);
        for (cell, last) in last.iter().enumerate() {
            for (state, last) in states.iter().zip(last) {
                assert_close(&state.slice(s![cell, example, ..]).to_owned(), last);
            }
        }
    }
}

#[test]
fn gated_units_are_pytorchs() {
    let x = tensor((5, 3, 2), 1);
    for (layers, both, bias) in [(1, false, true), (2, true, true), (3, false, false)] {
        let directions = 1 + usize::from(both);
        let builder = Gru::builder(2, 4)
            .num_layers(layers)
            .bidirectional(both)
            .bias(bias);
        let gru = builder.build(&mut generator());
        let zeros = Tensor::from(Array3::zeros((layers * directions, 3, 4)));
        let (output, state) = gru.forward(&x);
        let found = (output.to_array(), vec![state.to_array()]);
        check(
            gru_step,
            gru.cells(),
            directions,
            &x,
            [&zeros, &zeros],
            found,
        );
        let start = tensor((layers * directions, 3, 4), 2);
        let (output, state) = gru.forward((&x, &start));
        let found = (output.to_array(), vec![state.to_array()]);
        check(
            gru_step,
            gru.cells(),
            directions,
            &x,
            [&start, &zeros],
            found,
        );
    }
}

#[test]
fn long_short_term_memory_is_pytorchs() {
    let x = tensor((5, 3, 2), 1);
    for (layers, both, bias) in [(1, false, true), (2, true, true), (3, false, false)] {
        let directions = 1 + usize::from(both);
        let builder = Lstm::builder(2, 4)
            .num_layers(layers)
            .bidirectional(both)
            .bias(bias);
        let lstm = builder.build(&mut generator());
        let zeros = Tensor::from(Array3::zeros((layers * directions, 3, 4)));
        let (output, (h, c)) = lstm.forward(&x);
        let found = (output.to_array(), vec![h.to_array(), c.to_array()]);
        check(
            lstm_step,
            lstm.cells(),
            directions,
            &x,
            [&zeros, &zeros],
            found,
        );
        let (h, c) = (
            tensor((layers * directions, 3, 4), 2),
            tensor((layers * directions, 3, 4), 3),
        );
        let (output, (last_h, last_c)) = lstm.forward((&x, (&h, &c)));
        let found = (
            output.to_array(),
            vec![last_h.to_array(), last_c.to_array()],
        );
        check(lstm_step, lstm.cells(), directions, &x, [&h, &c], found);
    }
}

#[test]
fn with_the_batch_first_the_rest_is_the_same() {
    let (steps_first, x) = (
        Gru::<f64>::new(2, 4, &mut generator()),
        tensor((5, 3, 2), 1),
    );
    let batch_first = Gru::<f64>::builder(2, 4)
        .batch_first(true)
        .build(&mut generator());
    let (expected, state) = steps_first.forward(&x);
    let (found, same_state) = batch_first.forward(&x.swap_axes(0, 1));
    assert_close(&found.swap_axes(0, 1).to_array(), &expected.to_array());
    assert_close(&same_state.to_array(), &state.to_array());
}

#[test]
fn names_are_pytorchs() {
    let lstm = Lstm::<f32>::builder(2, 3)
        .num_layers(2)
        .bidirectional(true)
        .build(&mut generator());
    let mut expected = Vec::new();
    for suffix in ["l0", "l0_reverse", "l1", "l1_reverse"] {
        for weight in ["weight_ih", "weight_hh", "bias_ih", "bias_hh"] {
            expected.push(format!("{weight}_{suffix}"));
        }
    }
    assert_eq!(names(&lstm), expected);
    let shapes: Vec<&[usize]> = lstm
        .parameters()
        .into_iter()
        .map(AnyParameter::shape)
        .collect();
    assert_eq!(shapes[..4], [&[12, 2][..], &[12, 3], &[12], &[12]]);
    assert_eq!(shapes[8], [12, 6]);
}

#[test]
fn dropout_is_between_layers_and_in_training() {
    let builder = || Gru::<f64>::builder(2, 4).num_layers(2);
    let x = tensor((5, 3, 2), 1);
    let mut dropped = builder().dropout(0.5).build(&mut generator());
    let plain = builder().build(&mut generator());
    assert_ne!(
        dropped.forward(&x).0.to_array(),
        plain.forward(&x).0.to_array()
    );
    dropped.eval();
    assert_close(
        &dropped.forward(&x).0.to_array(),
        &plain.forward(&x).0.to_array(),
    );
    let single = Gru::<f64>::builder(2, 4)
        .dropout(0.5)
        .build(&mut generator());
    let expected = Gru::<f64>::builder(2, 4).build(&mut generator());
    assert_close(
        &single.forward(&x).0.to_array(),
        &expected.forward(&x).0.to_array(),
    );
}

#[test]
fn long_sequences_are_read_and_learnt_from() {
    let gru = Gru::<f64>::new(1, 2, &mut generator());
    let x = tensor((1000, 1, 1), 1).set_requires_grad(true);
    gru.forward(&x).0.sum().backward().expect("a pass");
    assert!(
        x.grad()
            .is_some_and(|grad| grad.iter().all(|x| x.is_finite() && *x != 0.0))
    );
}
