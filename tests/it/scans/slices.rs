//! Scans with slices: rows whose length is that of the tensors.

use std::ops::Range;

use pullback::Gradcheck;
use pullback::ndarray::{Array, Array2, Array3, ArrayD, Axis, IxDyn, array, s};
use pullback::prelude::*;

use super::{assert_close, leaf, numbers, panicked, same_on_any_number_of_threads};

/// Linear attention: each value has a memory with a cell for each number of a key, which is read with a query.
#[custom_function(
    scan,
    outputs(last, read),
    gradcheck(memory = [2, 3], key = [4, 1, 3], value = [4, 2], query = [4, 1, 3])
)]
pub fn attention<T: Real>(
    #[state] memory: &mut [T],
    #[step] key: &[T],
    #[step] value: T,
    #[step] query: &[T],
) -> T {
    let mut read = T::from(0.0);
    for ((cell, key), query) in memory.iter_mut().zip(key).zip(query) {
        *cell += *key * value;
        read += (*cell * *query).tanh();
    }
    read
}

/// The same with rows of a constant length.
#[custom_function(scan, outputs(last, read))]
pub fn attention_of_16<T: Real>(
    #[state] memory: [T; 16],
    #[step] key: [T; 16],
    #[step] value: T,
    #[step] query: [T; 16],
) -> ([T; 16], T) {
    let (mut next, mut read) = (memory, T::from(0.0));
    for place in 0..16 {
        next[place] += key[place] * value;
        read += (next[place] * query[place]).tanh();
    }
    (next, read)
}

/// States, steps, shared inputs and outputs of all kinds, from the last step.
#[custom_function(
    scan(reverse),
    outputs(last_mean, last_h, last_pair, y, z),
    gradcheck(w = [1, 2], gain = 0.3, mean = [1], h = [3, 4], pair = [3, 2], x = [3, 3, 4], k = [3, 3], bias = [3, 2])
)]
#[expect(clippy::too_many_arguments, reason = "one of each kind")]
pub fn mixed<T: Real>(
    w: &[T],
    gain: f64,
    #[state] mean: T,
    #[state] h: &mut [T],
    #[state] pair: [T; 2],
    #[step] x: &[T],
    #[step] k: T,
    bias: [T; 2],
) -> (T, [T; 2], T, [T; 2]) {
    let before = h.iter().fold(T::from(0.0), |sum, h| sum + *h);
    for (place, cell) in h.iter_mut().enumerate() {
        *cell = (gain * *cell + x[place] * w[place % w.len()] + k).tanh();
    }
    let next = [pair[1] * bias[0] + h[0], pair[0].sin() + bias[1] * k];
    (
        mean * 0.5 + before,
        next,
        h[1] * mean,
        [next[0] * before, h[0].exp()],
    )
}

/// A branch, which lanes take differently, and as many operations as are wanted.
#[custom_function(
    scan,
    outputs(last, seen),
    gradcheck(h = [3, 2], x = [3, 3, 2], rounds = 1)
)]
pub fn branches<T: Real>(#[state] h: &mut [T], #[step] x: &[T], rounds: usize) -> T {
    let mut seen = T::from(0.0);
    for (h, x) in h.iter_mut().zip(x) {
        for _ in 0..rounds {
            *h = if *x > 0.1 {
                *h * 0.9 + *x * 1e-3
            } else {
                (*h * 0.9).sin()
            };
            seen = seen * 0.5 + *h;
        }
    }
    seen
}

/// The forward variables of a transducer: the logarithms of the probabilities of all alignments of the frames until now
/// with the first labels.
#[custom_function(
    scan,
    outputs(last),
    gradcheck(alpha = [2, 4], blank = [5, 2, 4], label = [5, 2, 4])
)]
pub fn transducer<T: Real>(#[state] alpha: &mut [T], #[step] blank: &[T], #[step] label: &[T]) {
    alpha[0] += blank[0];
    for place in 1..alpha.len() {
        let waits = alpha[place] + blank[place];
        let emits = alpha[place - 1] + label[place - 1];
        alpha[place] = waits.max(emits) + (-(waits - emits).abs()).exp().ln_1p();
    }
}

/// −ln of the probability of the labels, with those of waiting and of emitting the next label, [frames, labels + 1].
fn transducer_loss(blank: &Tensor2<f64>, label: &Tensor2<f64>) -> Tensor0<f64> {
    let [frames, places] = [0, 1].map(|axis| blank.shape()[axis]);
    let first = label.slice(s![0, ..places - 1]).cumsum(Axis(0));
    let alpha = Tensor::concat(Axis(0), &[&Tensor::from(array![0.0]), &first]);
    let last = transducer(
        &alpha,
        &blank.slice(s![..frames - 1, ..]),
        &label.slice(s![1.., ..]),
    );
    -(last + blank.slice(s![frames - 1, ..])).slice(s![places - 1])
}

#[test]
fn a_transducer_sums_over_all_alignments() {
    // The probability of the labels from one on, by all paths.
    fn probability(blank: &Array2<f64>, label: &Array2<f64>, frame: usize, place: usize) -> f64 {
        let (frames, places) = blank.dim();
        let emits = if place + 1 < places {
            label[[frame, place]].exp() * probability(blank, label, frame, place + 1)
        } else {
            0.0
        };
        let waits = match (frame + 1 < frames, place + 1 < places) {
            (true, _) => probability(blank, label, frame + 1, place),
            (false, true) => 0.0,
            (false, false) => 1.0,
        };
        emits + blank[[frame, place]].exp() * waits
    }
    let (blank, label) = (leaf(numbers([5, 4], 1.0)), leaf(numbers([5, 4], 2.0)));
    let loss = transducer_loss(&blank, &label);
    let of_paths = -probability(&blank.to_array(), &label.to_array(), 0, 0).ln();
    assert!((loss.item() - of_paths).abs() < 1e-12);
    Gradcheck::new()
        .second_order()
        .run(
            |(blank, label)| transducer_loss(blank, label),
            (&blank, &label),
        )
        .unwrap();
}

type OfTensors =
    fn(&TensorD<f64>, &TensorD<f64>, &TensorD<f64>, &TensorD<f64>) -> [TensorD<f64>; 2];

/// Returns the results, the derivatives of both orders and those of forward mode, also of its own.
fn derivatives(function: OfTensors, inputs: &[TensorD<f64>; 4]) -> Vec<ArrayD<f64>> {
    let [memory, key, value, query] = inputs;
    let leaves = (memory, key, value, query);
    let [last, read] = function(memory, key, value, query);
    let loss = (&read * &read).sum() + last.sum();
    let first = Grad::of(&loss).create_graph(true).run(leaves).unwrap();
    let of_first = first.0.square().sum() + first.1.sin().sum() + first.2.square().sum();
    let second = grad(&(of_first + first.3.square().sum()), leaves).unwrap();
    let along = |(memory, key, value, query): (
        &TensorD<f64>,
        &TensorD<f64>,
        &TensorD<f64>,
        &TensorD<f64>,
    )| {
        let function = |(memory, key, value, query): (
            &TensorD<f64>,
            &TensorD<f64>,
            &TensorD<f64>,
            &TensorD<f64>,
        )| {
            let [last, read] = function(memory, key, value, query);
            (last, read)
        };
        // The tangents of the inputs are others.
        let directions = (memory, key, value, query);
        jvp(function, directions, leaves).unwrap().1
    };
    let tangents = along(leaves);
    let (_, second_tangents) = jvp(along, leaves, leaves).unwrap();
    let mut all = vec![last, read, first.0, first.1, first.2, first.3];
    all.extend([second.0, second.1, second.2, second.3]);
    all.extend([tangents.0, tangents.1, second_tangents.0, second_tangents.1]);
    all.iter().map(Tensor::to_array).collect()
}

#[test]
fn slices_are_rows_of_any_length() {
    let leaf = |shape: &[usize], seed| {
        let numbers: ArrayD<f64> = numbers(IxDyn(shape), seed);
        Tensor::from(numbers).set_requires_grad(true)
    };
    let inputs = [
        leaf(&[40, 16], 1.0),
        leaf(&[9, 1, 16], 2.0),
        leaf(&[9, 40], 3.0),
        leaf(&[9, 1, 16], 4.0),
    ];
    let of_slices = derivatives(
        |memory, key, value, query| attention(memory, key, value, query).into(),
        &inputs,
    );
    let of_rows = derivatives(
        |memory, key, value, query| attention_of_16(memory, key, value, query).into(),
        &inputs,
    );
    for (of_slices, of_rows) in of_slices.iter().zip(&of_rows) {
        assert_close(of_slices, of_rows);
    }
}

#[test]
fn examples_of_a_map_are_those_of_a_loop() {
    let memory = Tensor::from(numbers([3, 2, 4], 1.0));
    let key = Tensor::from(numbers([3, 5, 1, 4], 2.0));
    let (value, query) = (
        Tensor::from(numbers([5, 2], 3.0)),
        Tensor::from(numbers([5, 1, 4], 4.0)),
    );
    let function =
        |(memory, key): (&Tensor2<f64>, &Tensor3<f64>)| attention(memory, key, &value, &query);
    let (last, read) = pullback::functional::vmap(function, Axis(0), (&memory, &key)).unwrap();
    for example in 0..3 {
        let (memory, key) = (
            memory.slice(s![example, .., ..]),
            key.slice(s![example, .., .., ..]),
        );
        let (of_last, of_read) = attention(&memory, &key, &value, &query);
        assert_eq!(
            last.slice(s![example, .., ..]).to_array(),
            of_last.to_array()
        );
        assert_eq!(
            read.slice(s![example, .., ..]).to_array(),
            of_read.to_array()
        );
    }
}

#[test]
fn without_steps_the_states_come_back() {
    let (memory, query) = (
        leaf(numbers([2, 3], 1.0)),
        Tensor::from(Array::zeros([0, 2, 3])),
    );
    let value = Tensor::from(Array2::zeros([0, 2]));
    let (last, read) = attention(&memory, &query, &value, &query);
    assert_eq!(
        (last.to_array(), read.shape()),
        (memory.to_array(), &[0, 2][..])
    );
    last.sum().backward().unwrap();
    assert_eq!(memory.grad().unwrap(), Array2::<f64>::ones([2, 3]));
}

#[test]
fn the_signature_says_which_outputs_are_states() {
    use pullback::ndarray::Ix1;
    let signature = Mixed::<f64, Ix1>::SIGNATURE;
    let inputs: Vec<_> = signature.inputs.iter().map(|input| input.row).collect();
    assert_eq!(
        inputs,
        [
            Some(0),
            None,
            None,
            Some(0),
            Some(2),
            Some(0),
            None,
            Some(2)
        ]
    );
    let outputs: Vec<_> = signature
        .outputs
        .iter()
        .map(|output| (output.row, output.state))
        .collect();
    assert_eq!(
        outputs,
        [
            (None, Some("mean")),
            (Some(0), Some("h")),
            (Some(2), Some("pair")),
            (None, None),
            (Some(2), None)
        ]
    );
}

#[test]
fn rows_that_do_not_fit_are_named() {
    let of = |shape: &[usize]| Tensor::from(ArrayD::<f64>::zeros(shape));
    let message = panicked(|| drop(transducer(&of(&[2, 0]), &of(&[5, 2, 0]), &of(&[5, 2, 0]))));
    assert_eq!(
        message,
        "`transducer` of `alpha` of shape [2, 0], `blank` of shape [5, 2, 0] and `label` of shape [5, 2, 0]: \
         the rows of `alpha` have no numbers"
    );
    // The formula compares lengths, by its indices if in no other way.
    let message = panicked(|| drop(transducer(&of(&[2, 4]), &of(&[5, 2, 3]), &of(&[5, 2, 4]))));
    assert!(
        message.contains("forward of `transducer`")
            && message.contains("`blank` of shape [5, 2, 3]")
            && message.ends_with("index out of bounds: the len is 3 but the index is 3"),
        "{message}"
    );
}

#[test]
fn more_operations_than_are_recorded_have_derivatives() {
    let (h, x) = (leaf(array![[0.3, 0.0]]), leaf(array![[[0.4, -0.2]]]));
    let rounds = 20_000;
    let (last, seen) = branches(&h, &x, rounds);
    let (of_h, of_x) = grad(&(last.sum() + seen.sum()), (&h, &x)).unwrap();
    // Of the first number: h ← 0.9 h + x/1000, and twice the sum of all h with weights of 2⁻ᵏ from the last.
    assert!((last.to_array()[[0, 0]] - 0.004).abs() < 1e-12);
    assert!(of_h.to_array()[[0, 0]].abs() < 1e-12);
    assert!((of_x.to_array()[[0, 0, 0]] - 0.01).abs() < 1e-12);
    assert_eq!(of_x.to_array()[[0, 0, 1]], 0.0);
}

#[test]
fn slices_have_the_same_bits_on_any_number_of_threads() {
    let number = |place: usize| (place as f32 * 0.37).sin();
    same_on_any_number_of_threads(|| {
        let h = Tensor::from(Array2::from_shape_fn([1000, 5], |(i, j)| number(i * 5 + j)));
        // Lanes of some rows take both branches.
        let x = Array::from_shape_fn([30, 1000, 5], |(t, i, j)| match (t, i % 3) {
            (3, 0) => -0.5,
            _ => 0.5 + 0.1 * number(t + i + j),
        });
        let (h, x) = (
            h.set_requires_grad(true),
            Tensor::from(x).set_requires_grad(true),
        );
        let (last, seen) = branches(&h, &x, 2);
        (last.sum() + seen.sum()).backward().unwrap();
        (last.to_array(), seen.to_array(), h.grad(), x.grad())
    });
}

/// In `f32`, replays have one row of 32 lanes or two, and the last one may not be whole.
#[test]
fn lanes_in_rows_are_those_of_one_by_one() {
    let number = |place: usize| (place as f32 * 0.37).sin();
    let steps = 20;
    let gradients = |lanes: Range<usize>| {
        let memory = |(lane, place): (usize, usize)| number((lanes.start + lane) * 16 + place);
        let value = |(step, lane): (usize, usize)| number(step * 7 + (lanes.start + lane) * 3);
        // The same in all lanes, so that their derivatives are sums.
        let row = |factor| {
            move |(step, _, place): (usize, usize, usize)| number(step * factor + place * 5)
        };
        let memory = Tensor::from(Array::from_shape_fn((lanes.len(), 16), memory));
        let value = Tensor::from(Array::from_shape_fn((steps, lanes.len()), value));
        let [key, query] =
            [11, 13].map(|factor| Tensor::from(Array::from_shape_fn((steps, 1, 16), row(factor))));
        let leaves = (
            memory.set_requires_grad(true),
            key.set_requires_grad(true),
            value.set_requires_grad(true),
            query.set_requires_grad(true),
        );
        let (last, read) = attention_of_16(&leaves.0, &leaves.1, &leaves.2, &leaves.3);
        (last.sum() + (&read * &read).sum()).backward().unwrap();
        let own = (leaves.0.grad().unwrap(), leaves.2.grad().unwrap());
        let sums = [leaves.1, leaves.3].map(|leaf| leaf.grad().unwrap());
        (last.to_array(), read.to_array(), own, sums)
    };
    for lanes in [31, 33, 64, 70, 96, 129, 160] {
        let (last, read, (of_memory, of_value), sums) = gradients(0..lanes);
        let mut of_all = [0, 1].map(|_| Array3::<f64>::zeros((steps, 1, 16)));
        for lane in 0..lanes {
            let alone = gradients(lane..lane + 1);
            let rows = s![lane..=lane, ..];
            let columns = s![.., lane..=lane];
            assert_eq!(alone.0, last.slice(rows), "{lanes}: {lane}");
            assert_eq!(alone.1, read.slice(columns), "{lanes}: {lane}");
            assert_eq!(alone.2.0, of_memory.slice(rows), "{lanes}: {lane}");
            assert_eq!(alone.2.1, of_value.slice(columns), "{lanes}: {lane}");
            for (sum, alone) in of_all.iter_mut().zip(alone.3) {
                *sum += &alone.mapv(f64::from);
            }
        }
        for (found, expected) in sums.iter().zip(&of_all) {
            let largest = expected
                .iter()
                .fold(0.0, |most: f64, sum| most.max(sum.abs()));
            let near = |(x, y): (&f32, &f64)| (f64::from(*x) - y).abs() < 1e-6 * largest;
            let are_near = found.iter().zip(expected).all(near);
            assert!(are_near, "{lanes}: {found} for {expected}");
        }
    }
}
