use std::thread::available_parallelism;

use ndarray::{ArrayD, ArrayViewD, Axis, IxDyn};

use super::*;
use crate::element::real::{Literal, Real};
use crate::elementwise::{Elements, Formula, Item, Place};
use crate::loops::sum::sum_to;
use crate::parallel::set_threads;
use crate::testing::numbers;

/// Two states, two numbers of each step, two that are shared, and an output.
struct Mixed;

impl Formula<6, 3> for Mixed {
    type Entries = ();

    const IS_OPTIMIZED: bool = true;

    fn entries(&self, _: Elements) {}

    #[inline(always)]
    fn at<R: Real>(&self, (): &(), _: Place, [u, v, x, y, a, b]: [R; 6]) -> [R; 3]
    where
        f64: Literal<R>,
    {
        let next = a * u + 0.3 * x * v.sin();
        let other = b * v.tanh() + y * u * 0.2;
        [next, other, next * v + x.square() * b]
    }
}

const MIXED: Scans<Mixed, 6, 3, 2, 2> = Scans(Mixed);

/// A state that is summed up, without shared numbers and outputs.
struct Sum;

impl Formula<2, 1> for Sum {
    type Entries = ();

    fn entries(&self, _: Elements) {}

    #[inline(always)]
    fn at<R: Real>(&self, (): &(), _: Place, [sum, x]: [R; 2]) -> [R; 1]
    where
        f64: Literal<R>,
    {
        [sum + x * x]
    }
}

/// [`Mixed`] with its states and steps as rows.
struct Rows;

impl Formula<6, 3> for Rows {
    type Entries = ();

    const INPUTS: &'static [Item] = &[Item::Row(2), Item::Row(2), Item::Number, Item::Number];
    const OUTPUTS: &'static [Item] = &[Item::Row(2), Item::Number];

    fn entries(&self, _: Elements) {}

    #[inline(always)]
    fn at<R: Real>(&self, (): &(), at: Place, inputs: [R; 6]) -> [R; 3]
    where
        f64: Literal<R>,
    {
        Mixed.at(&(), at, inputs)
    }
}

/// [`Mixed`] with a branch.
struct Branched;

impl Formula<6, 3> for Branched {
    type Entries = ();

    fn entries(&self, _: Elements) {}

    #[inline(always)]
    fn at<R: Real>(&self, (): &(), at: Place, [u, v, x, y, a, b]: [R; 6]) -> [R; 3]
    where
        f64: Literal<R>,
    {
        let u = if u > 0.4 { 0.9 * u } else { u * u };
        Mixed.at(&(), at, [u, v, x, y, a, b])
    }
}

/// [`Branched`] with the sums of so many numbers that the formula is replayed.
struct Many;

impl Formula<14, 3> for Many {
    type Entries = ();

    const INPUTS: &'static [Item] = &[
        Item::Number,
        Item::Number,
        Item::Row(5),
        Item::Row(5),
        Item::Number,
        Item::Number,
    ];

    fn entries(&self, _: Elements) {}

    #[inline(always)]
    fn at<R: Real>(&self, (): &(), at: Place, inputs: [R; 14]) -> [R; 3]
    where
        f64: Literal<R>,
    {
        let [u, v, x @ .., a, b] = inputs;
        let sum = |numbers: &[R]| numbers.iter().copied().sum();
        Branched.at(&(), at, [u, v, sum(&x[..5]), sum(&x[5..]), a, b])
    }
}

fn mixed(steps: usize, lanes: &[usize], is_reversed: bool) -> Recurrence<'_, f64> {
    Recurrence {
        loops: &MIXED,
        steps,
        lanes,
        is_reversed,
    }
}

/// Returns the inputs, of whole lanes.
fn inputs(steps: usize, lanes: &[usize], seed: f64) -> Vec<ArrayD<f64>> {
    let with_steps = [&[steps], lanes].concat();
    let shapes = [lanes, lanes, &with_steps, &with_steps, lanes, lanes];
    let arrays = shapes.into_iter().zip(1_u8..);
    arrays
        .map(|(shape, index)| numbers(IxDyn(shape), seed + f64::from(index)) + 0.2)
        .collect()
}

/// Returns gradients for the results.
fn gradients(steps: usize, lanes: &[usize], seed: f64) -> Vec<ArrayD<f64>> {
    let with_steps = [&[steps], lanes].concat();
    let shapes = [lanes, lanes, &with_steps];
    let arrays = shapes.into_iter().zip(7_u8..);
    arrays
        .map(|(shape, index)| numbers(IxDyn(shape), seed + f64::from(index)))
        .collect()
}

fn views(arrays: &[ArrayD<f64>]) -> Vec<Option<ArrayViewD<'_, f64>>> {
    arrays.iter().map(|array| Some(array.view())).collect()
}

/// Returns the last states and the outputs, one number at a time.
fn naive(
    steps: usize,
    lanes: &[usize],
    is_reversed: bool,
    inputs: &[ArrayD<f64>],
) -> Vec<ArrayD<f64>> {
    let whole = |array: &ArrayD<f64>, shape: &[usize]| array.broadcast(shape).unwrap().to_owned();
    let with_steps = [&[steps], lanes].concat();
    let (mut u, mut v) = (whole(&inputs[0], lanes), whole(&inputs[1], lanes));
    let (x, y) = (
        whole(&inputs[2], &with_steps),
        whole(&inputs[3], &with_steps),
    );
    let (a, b) = (whole(&inputs[4], lanes), whole(&inputs[5], lanes));
    let mut outputs = ArrayD::zeros(with_steps);
    for index in 0..steps {
        let step = if is_reversed {
            steps - 1 - index
        } else {
            index
        };
        let (x, y) = (x.index_axis(Axis(0), step), y.index_axis(Axis(0), step));
        let mut output = outputs.index_axis_mut(Axis(0), step);
        for (lane, output) in output.iter_mut().enumerate() {
            let of = |array: &ArrayViewD<'_, f64>| *array.iter().nth(lane).unwrap();
            let numbers = [&u.view(), &v.view(), &x, &y, &a.view(), &b.view()].map(of);
            let [next, other, result] = Mixed.once(numbers);
            *u.iter_mut().nth(lane).unwrap() = next;
            *v.iter_mut().nth(lane).unwrap() = other;
            *output = result;
        }
    }
    vec![u, v, outputs]
}

impl Mixed {
    fn once(&self, numbers: [f64; 6]) -> [f64; 3] {
        Formula::at(self, &(), Place(0), numbers)
    }
}

fn values(recurrence: &Recurrence<'_, f64>, inputs: &[ArrayD<f64>]) -> Vec<ArrayD<f64>> {
    let (results, _) = recurrence.forward(1, &views(inputs), &[true; 3], false);
    results.into_iter().flatten().collect()
}

/// Returns Σ gradient · result.
fn paired(results: &[ArrayD<f64>], gradients: &[ArrayD<f64>]) -> f64 {
    let pairs = results.iter().zip(gradients);
    pairs
        .map(|(result, gradient)| (result * gradient).sum())
        .sum()
}

fn assert_close(found: f64, expected: f64, what: &str) {
    let size = 1.0 + expected.abs();
    assert!(
        (found - expected).abs() < 1e-6 * size,
        "{what}: {found} and {expected}"
    );
}

const CASES: [(usize, &[usize]); 9] = [
    (0, &[3]),
    (1, &[2, 3]),
    (2, &[]),
    (3, &[17]),
    (5, &[0]),
    (10, &[5]),
    (37, &[4, 5]),
    (101, &[33]),
    (7, &[2, 300]),
];

#[test]
fn values_are_those_of_a_loop() {
    for (steps, lanes) in CASES {
        for is_reversed in [false, true] {
            let inputs = inputs(steps, lanes, 0.0);
            let found = values(&mixed(steps, lanes, is_reversed), &inputs);
            let expected = naive(steps, lanes, is_reversed, &inputs);
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found.shape(), expected.shape());
                let pairs = found.iter().zip(expected);
                for (found, expected) in pairs {
                    assert!((found - expected).abs() <= 1e-13 * (1.0 + expected.abs()));
                }
            }
        }
    }
}

#[test]
fn inputs_are_broadcast() {
    let (steps, lanes) = (11, &[3, 20][..]);
    let shapes: [&[usize]; 6] = [&[1, 20], &[3, 1], &[11, 1, 1], &[1, 3, 20], &[20], &[]];
    let short: Vec<ArrayD<f64>> = shapes
        .iter()
        .map(|shape| numbers(IxDyn(shape), 4.0))
        .collect();
    for is_reversed in [false, true] {
        let found = values(&mixed(steps, lanes, is_reversed), &short);
        let expected = naive(steps, lanes, is_reversed, &short);
        for (found, expected) in found.iter().zip(&expected) {
            assert!(
                (found - expected)
                    .iter()
                    .all(|difference| difference.abs() < 1e-13)
            );
        }
    }
}

#[test]
fn tangents_are_slopes() {
    let (steps, lanes) = (23, &[5][..]);
    let recurrence = mixed(steps, lanes, false);
    let (x, d) = (inputs(steps, lanes, 0.0), inputs(steps, lanes, 30.0));
    let both = [x.clone(), d.clone()].concat();
    let wanted = [false, false, false, true, true, true];
    let (found, _) = recurrence.forward(2, &views(&both), &wanted, false);
    let moved = |by: f64| -> Vec<_> { x.iter().zip(&d).map(|(x, d)| x + &(d * by)).collect() };
    let (above, below) = (
        values(&recurrence, &moved(1e-6)),
        values(&recurrence, &moved(-1e-6)),
    );
    for (index, found) in found[3..].iter().enumerate() {
        let slope = (&above[index] - &below[index]) / 2e-6;
        for (found, slope) in found.as_ref().unwrap().iter().zip(&slope) {
            assert_close(*found, *slope, "a tangent");
        }
    }
}

/// Returns the derivatives of order 1, from the checkpoints of forward if they are `saved`.
fn first(
    recurrence: &Recurrence<'_, f64>,
    inputs: &[ArrayD<f64>],
    gradients: &[ArrayD<f64>],
    saved: bool,
) -> Vec<ArrayD<f64>> {
    let (_, checkpoints) = recurrence.forward(1, &views(inputs), &[true; 3], saved);
    let all = [inputs, gradients].concat();
    let wanted = [&[true; 6][..], &[false; 3]].concat();
    let found = recurrence.backward(1, &views(&all), &wanted, checkpoints.as_ref());
    found.into_iter().flatten().collect()
}

/// Checks that derivatives along directions are those of `of`.
fn check_along(
    derivatives: &[ArrayD<f64>],
    directions: &[ArrayD<f64>],
    of: impl Fn(f64) -> f64,
    what: &str,
) {
    let slope = (of(1e-5) - of(-1e-5)) / 2e-5;
    assert_close(paired(derivatives, directions), slope, what);
}

#[test]
fn first_derivatives_are_slopes() {
    for (steps, lanes) in CASES {
        for is_reversed in [false, true] {
            let recurrence = mixed(steps, lanes, is_reversed);
            let (x, g) = (inputs(steps, lanes, 0.0), gradients(steps, lanes, 1.0));
            let found = first(&recurrence, &x, &g, true);
            assert_eq!(
                found,
                first(&recurrence, &x, &g, false),
                "without checkpoints"
            );
            for index in 0..6 {
                let d = &inputs(steps, lanes, 20.0)[index..=index];
                let of = |by: f64| {
                    let mut x = x.clone();
                    x[index] = &x[index] + &(&d[0] * by);
                    paired(&values(&recurrence, &x), &g)
                };
                let what = format!("{steps} {lanes:?} {is_reversed} {index}");
                check_along(&found[index..=index], d, of, &what);
            }
        }
    }
}

#[test]
fn each_derivative_alone_is_that_of_all() {
    let (steps, lanes) = (30, &[20][..]);
    let recurrence = mixed(steps, lanes, false);
    let all = [inputs(steps, lanes, 0.0), gradients(steps, lanes, 1.0)].concat();
    let both = [
        all.clone(),
        inputs(steps, lanes, 5.0),
        gradients(steps, lanes, 9.0),
    ]
    .concat();
    for (order, all, count) in [(1, all, 6), (2, both, 15)] {
        let wanted: Vec<bool> = (0..all.len()).map(|place| place < count).collect();
        let whole = recurrence.backward(order, &views(&all), &wanted, None);
        for alone in 0..count {
            let wanted: Vec<bool> = (0..all.len()).map(|place| place == alone).collect();
            let found = recurrence.backward(order, &views(&all), &wanted, None);
            assert_eq!(found[alone], whole[alone]);
            assert_eq!(found.iter().flatten().count(), 1);
        }
    }
}

#[test]
fn second_derivatives_are_slopes() {
    for (steps, lanes) in CASES {
        let recurrence = mixed(steps, lanes, steps % 2 == 0);
        let (x, g) = (inputs(steps, lanes, 0.0), gradients(steps, lanes, 1.0));
        let (d, h) = (inputs(steps, lanes, 10.0), gradients(steps, lanes, 11.0));
        let all = [x.clone(), g.clone(), d.clone(), h.clone()].concat();
        let mut wanted = [true; 18];
        wanted[15..].fill(false);
        let found = recurrence.backward(2, &views(&all), &wanted, None);
        // The pairing of order 2: the derivative along d and h of that of order 1.
        let pairing = |all: &[ArrayD<f64>]| {
            let derivatives = first(&recurrence, &all[..6], &all[6..9], true);
            paired(&derivatives, &all[9..15]) + paired(&values(&recurrence, &all[..6]), &all[15..])
        };
        for index in 0..15 {
            let size = all[index].raw_dim();
            let direction = [numbers(size, 50.0)];
            let of = |by: f64| {
                let mut all = all.clone();
                all[index] = &all[index] + &(&direction[0] * by);
                pairing(&all)
            };
            let found = [found[index].clone().unwrap()];
            check_along(
                &found,
                &direction,
                of,
                &format!("{steps} {lanes:?} {index}"),
            );
        }
    }
}

#[test]
fn a_recurrence_without_shared_numbers_and_outputs() {
    let recurrence = Recurrence {
        loops: &Scans::<_, 2, 1, 1, 1>(Sum),
        steps: 100,
        lanes: &[3],
        is_reversed: false,
    };
    let start = numbers(IxDyn(&[3]), 1.0);
    let x = numbers(IxDyn(&[100, 3]), 2.0);
    let g = numbers(IxDyn(&[3]), 3.0);
    let all = [start.clone(), x.clone(), g.clone()];
    let (last, _) = recurrence.forward(1, &views(&all[..2]), &[true], false);
    let expected = &start + &(&x * &x).sum_axis(Axis(0));
    let found = last[0].as_ref().unwrap();
    assert!(
        (found - &expected)
            .iter()
            .all(|difference| difference.abs() < 1e-12)
    );
    let found = recurrence.backward(1, &views(&all), &[true, true, false], None);
    assert_eq!(found[0].as_ref(), Some(&g));
    assert_eq!(found[1].as_ref(), Some(&(&x * 2.0 * &g)));
}

#[test]
fn rows_are_numbers() {
    for (steps, lanes) in CASES {
        for is_reversed in [false, true] {
            let plain = mixed(steps, lanes, is_reversed);
            let rows = Recurrence {
                loops: &Scans::<_, 6, 3, 2, 2>(Rows),
                ..plain
            };
            let all = [inputs(steps, lanes, 0.0), gradients(steps, lanes, 1.0)].concat();
            let stack = |pair: &[ArrayD<f64>]| {
                let axis = Axis(pair[0].ndim());
                ndarray::stack(axis, &[pair[0].view(), pair[1].view()]).unwrap()
            };
            let rows_of = |all: &[ArrayD<f64>]| -> Vec<ArrayD<f64>> {
                vec![
                    stack(&all[..2]),
                    stack(&all[2..4]),
                    all[4].clone(),
                    all[5].clone(),
                    stack(&all[6..8]),
                    all[8].clone(),
                ]
            };
            let (found, _) = rows.forward(1, &views(&rows_of(&all)[..4]), &[true; 2], false);
            let expected = values(&plain, &all[..6]);
            assert_eq!(found[0].as_ref(), Some(&stack(&expected[..2])));
            assert_eq!(found[1].as_ref(), Some(&expected[2]));
            let wanted = [true, true, true, true, false, false];
            let found = rows.backward(1, &views(&rows_of(&all)), &wanted, None);
            let expected = first(&plain, &all[..6], &all[6..], false);
            assert_eq!(found[0].as_ref(), Some(&stack(&expected[..2])));
            assert_eq!(found[1].as_ref(), Some(&stack(&expected[2..4])));
            assert_eq!(found[3].as_ref(), Some(&expected[5]));
            let second = [
                all.clone(),
                inputs(steps, lanes, 5.0),
                gradients(steps, lanes, 9.0),
            ]
            .concat();
            let both = [rows_of(&second[..9]), rows_of(&second[9..])].concat();
            let of_plain: Vec<bool> = (0..18).map(|place| place < 15).collect();
            let of_rows: Vec<bool> = (0..12).map(|place| place < 10).collect();
            let found = rows.backward(2, &views(&both), &of_rows, None);
            let expected: Vec<_> = plain.backward(2, &views(&second), &of_plain, None);
            let expected: Vec<_> = expected.into_iter().flatten().collect();
            assert_eq!(found[4].as_ref(), Some(&stack(&expected[6..8])));
            assert_eq!(found[6].as_ref(), Some(&stack(&expected[9..11])));
        }
    }
}

/// Returns the inputs of [`Many`], and those of [`Branched`]; those of steps are broadcast from these lanes.
fn many(steps: usize, lanes: &[usize], of_steps: [&[usize]; 2]) -> [Vec<ArrayD<f64>>; 2] {
    let mut few = inputs(steps, lanes, 0.0);
    let mut many = few.clone();
    for (index, own) in of_steps.into_iter().enumerate() {
        let shape = [&[steps], own, &[5]].concat();
        let rows = numbers(IxDyn(&shape), index as f64) * 0.3;
        few[2 + index] = rows.sum_axis(Axis(rows.ndim() - 1));
        many[2 + index] = rows;
    }
    [many, few]
}

#[test]
fn what_is_replayed_is_what_dual_numbers_compute() {
    let of_steps: [([usize; 2], [&[usize]; 2]); 6] = [
        ([1, 33], [&[1, 33], &[33]]),
        ([5, 20], [&[1, 1], &[1]]),
        ([3, 64], [&[3, 1], &[64]]),
        ([3, 60], [&[3, 1], &[1, 60]]),
        ([4, 75], [&[4, 75], &[1, 1]]),
        ([2, 0], [&[2, 1], &[1, 1]]),
    ];
    for ((lanes, of_steps), steps) in of_steps.into_iter().zip([1, 2, 40, 23, 101, 3]) {
        for is_reversed in [false, true] {
            let few = Recurrence {
                loops: &Scans::<_, 6, 3, 2, 2>(Branched),
                steps,
                lanes: &lanes,
                is_reversed,
            };
            let replayed = Recurrence {
                loops: &Scans::<_, 14, 3, 2, 10>(Many),
                ..few
            };
            let gradients = gradients(steps, &lanes, 1.0);
            let [x, x_few] = many(steps, &lanes, of_steps);
            let found = values(&replayed, &x);
            let expected = values(&few, &x_few);
            assert_eq!(found, expected);
            let found = first(&replayed, &x, &gradients, true);
            assert_eq!(found, first(&replayed, &x, &gradients, false));
            let expected = first(&few, &x_few, &gradients, true);
            for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
                let is_row = (2..4).contains(&index);
                let found = if is_row {
                    found.index_axis(Axis(3), 4)
                } else {
                    found.view()
                };
                // Summed to the same lanes.
                let expected: ArrayD<f64> = sum_to(&expected.view(), found.shape());
                for (found, expected) in found.iter().zip(&expected) {
                    assert_close(*found, *expected, &format!("{lanes:?} {index}"));
                }
            }
        }
    }
}

#[test]
fn replayed_derivatives_of_what_is_broadcast_are_summed() {
    let lanes = [4, 64];
    let [x, _] = many(7, &lanes, [&[4, 1], &[1, 64]]);
    let replayed = Recurrence {
        loops: &Scans::<_, 14, 3, 2, 10>(Many),
        steps: 7,
        lanes: &lanes,
        is_reversed: false,
    };
    let found = first(&replayed, &x, &gradients(7, &lanes, 1.0), true);
    assert_eq!(found[2].shape(), [7, 4, 1, 5]);
    assert_eq!(found[3].shape(), [7, 4, 64, 5]);
}

#[test]
fn at_most_two_roots_of_states() {
    for steps in 0..2000_usize {
        let length = segments::segment(steps);
        let saved = steps.div_ceil(length).saturating_sub(1);
        assert!((saved + length.min(steps)).pow(2) <= 4 * steps, "{steps}");
    }
}

/// No other test of scans depends on the number of threads.
#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let (steps, lanes) = (400, &[1003][..]);
    let recurrence = mixed(steps, lanes, false);
    let all = [inputs(steps, lanes, 0.0), gradients(steps, lanes, 1.0)].concat();
    let replayed = Recurrence {
        loops: &Scans::<_, 14, 3, 2, 10>(Many),
        ..recurrence
    };
    let [many, _] = many(steps, lanes, [lanes, &[1]]);
    let mut found = Vec::new();
    for threads in 1..=3 {
        set_threads(threads);
        let gradients = &all[6..];
        let wanted = [&[true; 6][..], &[false; 3]].concat();
        let both = [&all[..], &all].concat();
        let of_both = [&[true; 9][..], &wanted].concat();
        found.push([
            values(&recurrence, &all[..6])
                .into_iter()
                .map(Some)
                .collect(),
            recurrence.backward(1, &views(&all), &wanted, None),
            recurrence.backward(2, &views(&both), &of_both, None),
            first(&replayed, &many, gradients, true)
                .into_iter()
                .map(Some)
                .collect(),
        ]);
    }
    set_threads(available_parallelism().map_or(1, usize::from));
    assert!(found[1] == found[0] && found[2] == found[0]);
}
