//! Sums and other reductions over pairs, against the whole matrix.

use ndarray::{Array1, Array2, ArrayD, ArrayViewD, Axis};

use super::{FIRST, TWO, bits};
use crate::elementwise::{Evaluation, evaluate, evaluate_reduced, evaluate_sums};
use crate::loops::reductions::Reduction;
use crate::loops::sum::sum_to;
use crate::testing::numbers;

type Views<'a> = [Option<ArrayViewD<'a, f64>>];
type Targets = [Option<[usize; 2]>];

/// The evaluations, with the tensors that each has and what its results are summed to: x has rows, y columns, z neither,
/// and the gradients of the outputs have rows.
fn sums([n, m]: [usize; 2], found: &mut dyn FnMut(Evaluation, &Views<'_>, &Targets)) {
    let of = |shape, seed| numbers(shape, seed).into_dyn() + 0.6;
    let both = |seed: f64| {
        let shapes = [[n, 1], [1, m], [1, 1], [n, 1], [n, 1]];
        [0_u8, 1, 2, 3, 4].map(|at| of(shapes[usize::from(at)], seed + f64::from(at)))
    };
    let (own, directions) = (both(1.0), both(7.0));
    let views = |arrays: &[ArrayD<f64>]| arrays.to_vec();
    let (rows, columns, all) = (Some([n, 1]), Some([1, m]), Some([1, 1]));
    let inputs: Vec<ArrayD<f64>> = views(&own);
    let all_inputs: Vec<ArrayD<f64>> = [&own[..], &directions[..]].concat();
    let view = |arrays: &[ArrayD<f64>], call: &mut dyn FnMut(&Views<'_>)| {
        let views: Vec<_> = arrays.iter().map(|array| Some(array.view())).collect();
        call(&views);
    };
    view(&inputs[..3], &mut |x| {
        found(Evaluation::Values, x, &[rows, rows]);
    });
    let tangents = [&inputs[..3], &directions[..3]].concat();
    view(&tangents, &mut |x| {
        found(Evaluation::Tangents, x, &[rows, rows]);
    });
    let first = Evaluation::Partials { order: 1 };
    view(&inputs, &mut |x| {
        found(first, x, &[rows, columns, all, None, None]);
        found(first, x, &[None, columns, None, None, None]);
    });
    let second = Evaluation::Partials { order: 2 };
    view(&all_inputs, &mut |x| {
        let of_own = [rows, columns, all, rows, rows];
        let of_directions = [rows, columns, all, None, None];
        found(second, x, &[of_own, of_directions].concat());
    });
}

pub(super) fn all_sums(shape: [usize; 2]) -> Vec<Vec<Option<Vec<u64>>>> {
    let mut all = Vec::new();
    sums(shape, &mut |evaluation, inputs, targets| {
        let found = evaluate_sums(&TWO, evaluation, inputs, shape, targets).into_iter();
        let found = found.map(|found| found.map(|found| found.into_iter().collect()));
        all.push(bits(found.collect()));
    });
    all
}

#[test]
fn sums_are_those_of_the_whole_matrix() {
    for shape in [
        [5, 7],
        [70, 3],
        [3, 2000],
        [300, 1100],
        [1, 5],
        [6, 1],
        [0, 4],
        [4, 0],
    ] {
        sums(shape, &mut |evaluation, inputs, targets| {
            let wanted: Vec<bool> = targets.iter().map(Option::is_some).collect();
            let whole = evaluate(&TWO, evaluation, inputs, &shape, &wanted).into_iter();
            let found = evaluate_sums(&TWO, evaluation, inputs, shape, targets);
            for ((whole, found), target) in whole.zip(found).zip(targets) {
                let (Some(whole), Some(found), Some(target)) = (whole, found, target) else {
                    assert!(target.is_none());
                    continue;
                };
                let whole = Array2::from_shape_vec(shape, whole).unwrap();
                let expected: Array2<f64> = sum_to(&whole.view(), target);
                let largest = whole.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
                assert_eq!(found.shape(), expected.shape());
                for (found, expected) in found.iter().zip(&expected) {
                    let error = (found - expected).abs() / (largest * whole.len().max(1) as f64);
                    assert!(
                        error < 1e-15,
                        "{evaluation:?} {shape:?}: {found} {expected}"
                    );
                }
            }
        });
    }
}

#[test]
fn reductions_are_those_of_the_whole_matrix() {
    for shape in [[5, 7], [40, 1], [3, 2500], [300, 1100], [0, 3]] {
        let [n, m] = shape;
        let x = numbers([n, 1], 1.0).into_dyn() + 0.6;
        let y = numbers([1, m], 2.0).into_dyn() * 3.0;
        let z = numbers([1, 1], 3.0).into_dyn();
        let f = |i: usize, j: usize| x[[i, 0]] * y[[0, j]].powi(2) + z[[0, 0]].sin();
        let whole = Array2::from_shape_fn(shape, |(i, j)| f(i, j));
        let inputs = [Some(x.view()), Some(y.view()), Some(z.view())];
        let (found, _) = evaluate_reduced(&FIRST, Reduction::LogSumExp, &inputs, shape);
        let expected = whole.map_axis(Axis(1), |row| {
            let most = row.fold(f64::NEG_INFINITY, |most, x| most.max(*x));
            most + row.mapv(|x| (x - most).exp()).sum().ln()
        });
        assert!(
            (Array1::from(found) - expected)
                .iter()
                .all(|error| error.abs() < 1e-12)
        );
        for (reduction, sign) in [(Reduction::Max, 1.0), (Reduction::Min, -1.0)] {
            let (found, places) = evaluate_reduced(&FIRST, reduction, &inputs, shape);
            for (row, (found, place)) in found.iter().zip(&places).enumerate() {
                let best = (0..m).rev().fold(0, |best, j| {
                    if sign * whole[[row, j]] >= sign * whole[[row, best]] {
                        j
                    } else {
                        best
                    }
                });
                assert!((found - whole[[row, best]]).abs() < 1e-13);
                assert!((whole[[row, *place]] - whole[[row, best]]).abs() < 1e-13);
            }
            assert_eq!(places.len(), n);
        }
    }
}

#[test]
fn the_first_nan_is_an_extreme() {
    let x = Array2::from_elem([3, 1], 1.0).into_dyn();
    let mut y = Array2::from_elem([1, 3000], 1.0).into_dyn();
    (y[[0, 2000]], y[[0, 2500]]) = (f64::NAN, f64::NAN);
    let z = Array2::zeros([1, 1]).into_dyn();
    let inputs = [Some(x.view()), Some(y.view()), Some(z.view())];
    let (found, places) = evaluate_reduced(&FIRST, Reduction::Max, &inputs, [3, 3000]);
    assert!(found.iter().all(|x| x.is_nan()));
    assert_eq!(places, [2000; 3]);
}
