//! Contractions against sums that are written down.

use ndarray::{ArrayD, Axis, IxDyn};

use super::*;

fn numbers(shape: &[usize], seed: f64) -> ArrayD<f64> {
    crate::testing::numbers(shape, seed)
}

/// Names, lengths of the names 0 to 4 and where an operand is repeated.
fn by_definition(
    x: &ArrayD<f64>,
    y: &ArrayD<f64>,
    subscripts: &Subscripts,
    lengths: [usize; 5],
    shape: &[usize],
) -> ArrayD<f64> {
    let mut output = ArrayD::zeros(shape);
    for index in ndarray::indices(lengths) {
        let index = [index.0, index.1, index.2, index.3, index.4];
        let at = |names: &[u8], shape: &[usize]| {
            let axes = names.iter().zip(shape);
            let indices = axes.map(|(&name, &length)| index[usize::from(name)].min(length - 1));
            IxDyn(&indices.collect::<Vec<_>>())
        };
        let product = x[at(&subscripts.x, x.shape())] * y[at(&subscripts.y, y.shape())];
        output[at(&subscripts.output, shape)] += product;
    }
    output
}

/// Names of the first, the second and the output; lengths of all names.
type Case = (&'static [u8], &'static [u8], &'static [u8], [usize; 5]);

const CASES: [Case; 16] = [
    (&[0, 1], &[1, 2], &[0, 2], [3, 4, 5, 1, 1]),
    (&[1, 0], &[2, 1], &[2, 0], [3, 4, 5, 1, 1]),
    (&[0, 1, 2], &[0, 2, 3], &[0, 1, 3], [2, 3, 4, 5, 1]),
    (&[0, 1, 2], &[2, 3], &[0, 1, 3], [2, 3, 4, 5, 1]),
    (&[0, 1, 2], &[0, 1, 3], &[2, 3], [2, 3, 4, 5, 1]),
    (&[0, 1], &[0, 1], &[0, 1], [3, 4, 1, 1, 1]),
    (&[0, 1], &[0, 1], &[1], [3, 4, 1, 1, 1]),
    (&[0, 1], &[1, 0], &[], [3, 4, 1, 1, 1]),
    (&[0, 1], &[], &[1], [3, 4, 1, 1, 1]),
    (&[0, 0], &[], &[], [3, 1, 1, 1, 1]),
    (&[0], &[], &[0, 0], [3, 1, 1, 1, 1]),
    (&[0, 0, 1], &[1, 2], &[0, 2], [3, 4, 2, 1, 1]),
    (&[0], &[1], &[1, 0, 2], [3, 4, 2, 1, 1]),
    (&[0, 1, 2, 3], &[1, 3, 4], &[4, 2, 0], [2, 3, 2, 3, 2]),
    (&[3, 1, 0, 2], &[3, 4, 1], &[2, 3, 4, 0], [2, 3, 2, 3, 2]),
    (&[], &[], &[], [1; 5]),
];

#[test]
fn contractions_are_sums_of_products() {
    for (x, y, output, lengths) in CASES {
        let subscripts = Subscripts::new(x, y, output);
        let shape = |names: &[u8]| -> Vec<usize> {
            names
                .iter()
                .map(|&name| lengths[usize::from(name)])
                .collect()
        };
        // Lengths of 1 in place of each of an array's are repeated, or summed.
        for ones in 0..4 {
            let with_one = |names: &[u8], which: usize| {
                let mut shape = shape(names);
                if ones == which + 1 && names.len() > 1 && names[0] != names[1] {
                    shape[0] = 1;
                }
                shape
            };
            let (a, b) = (numbers(&with_one(x, 0), 0.0), numbers(&with_one(y, 1), 0.4));
            let shape = with_one(output, 2);
            let mut lengths = lengths;
            for name in 0_u8..5 {
                let arrays = [(x, a.shape()), (y, b.shape()), (output, &shape)];
                let axes = arrays
                    .iter()
                    .flat_map(|(names, shape)| names.iter().zip(*shape));
                let known = axes.filter(|(known, _)| **known == name);
                lengths[usize::from(name)] = known.map(|(_, &length)| length).max().unwrap_or(1);
            }
            let found = contract(&a.view(), &b.view(), &subscripts, &shape);
            let expected = by_definition(&a, &b, &subscripts, lengths, &shape);
            let is_close = (&found - &expected).iter().all(|off| off.abs() < 1e-13);
            assert!(is_close, "{subscripts:?}: {found} is not {expected}");
        }
    }
}

#[test]
fn views_of_every_layout_give_the_same() {
    let (a, b) = (numbers(&[2, 3, 4], 0.0), numbers(&[2, 4, 5], 0.4));
    let subscripts = Subscripts::new([0, 1, 2], [0, 2, 3], [0, 1, 3]);
    let expected = contract(&a.view(), &b.view(), &subscripts, &[2, 3, 5]);
    let (mut a, mut b) = (a, b);
    for axis in 0..3 {
        for array in [&mut a, &mut b] {
            // The same elements, backwards in memory.
            let mut reversed = array.clone();
            reversed.invert_axis(Axis(axis));
            reversed = reversed.as_standard_layout().into_owned();
            reversed.invert_axis(Axis(axis));
            *array = reversed;
        }
        let found = contract(&a.view(), &b.view(), &subscripts, &[2, 3, 5]);
        assert!((found - &expected).iter().all(|off| off.abs() < 1e-14));
    }
    let row = numbers(&[4], 0.2);
    let repeated = row.broadcast(IxDyn(&[2, 3, 4])).unwrap();
    let found = contract(&repeated, &b.view(), &subscripts, &[2, 3, 5]);
    let in_full = contract(
        &repeated.to_owned().view(),
        &b.view(),
        &subscripts,
        &[2, 3, 5],
    );
    assert!((found - in_full).iter().all(|off| off.abs() < 1e-14));
}

#[test]
fn sums_of_nothing_are_zero() {
    let (a, b) = (numbers(&[3, 0], 0.0), numbers(&[0, 2], 0.0));
    let product = Subscripts::new([0, 1], [1, 2], [0, 2]);
    assert_eq!(
        contract(&a.view(), &b.view(), &product, &[3, 2]),
        ArrayD::<f64>::zeros(vec![3, 2])
    );
    let empty = contract(&b.view(), &numbers(&[2, 0], 0.0).view(), &product, &[0, 0]);
    assert_eq!(empty.shape(), [0, 0]);
}

#[test]
#[should_panic(expected = "have lengths 3 and 4")]
fn lengths_that_do_not_fit_are_refused() {
    let product = Subscripts::new([0, 1], [1, 2], [0, 2]);
    contract(
        &numbers(&[2, 3], 0.0).view(),
        &numbers(&[4, 5], 0.0).view(),
        &product,
        &[2, 5],
    );
}
