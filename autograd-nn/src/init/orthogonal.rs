//! Matrices with orthogonal rows or columns.

use rand_core::Rng;

use autograd_core::Element;
use autograd_core::ndarray::{Array, IntoDimension};

use crate::init::{draw, lengths};

/// Draws a matrix from the uniform distribution over matrices with orthogonal rows, or columns if they are fewer, of
/// length `gain` (Saxe and others, 2014). If the shape has more than two axes, the first counts the rows, as in
/// PyTorch's `orthogonal_`.
///
/// Normal vectors are orthogonalized by the process of Gram and Schmidt, twice each, which makes them orthogonal to
/// the last digits (Giraud and others, 2005). n vectors of m numbers take 4 n² m operations.
///
/// # Panics
/// If the shape has fewer than two axes, `gain` is not finite, or the generator repeats the same numbers.
///
/// ```
/// use pullback::nn::{Generator, init};
///
/// let q = init::orthogonal::<f64, _>((3, 5), 1.0, &mut Generator::seed(7));
/// let products = q.dot(&q.t());
/// assert!((products[[0, 0]] - 1.0).abs() < 1e-15 && products[[0, 1]].abs() < 1e-15);
/// ```
#[track_caller]
pub fn orthogonal<T: Element, S: IntoDimension>(
    shape: S,
    gain: f64,
    generator: &mut impl Rng,
) -> Array<T, S::Dim> {
    let shape = shape.into_dimension();
    let [rows, rest @ ..] = lengths(&shape) else {
        panic!("orthogonal of rank 0: there are no rows and columns")
    };
    assert!(
        !rest.is_empty() && gain.is_finite(),
        "orthogonal of shape {:?} with the gain {gain}: it needs two axes and a finite gain",
        lengths(&shape)
    );
    let (rows, columns) = (*rows, rest.iter().product::<usize>());
    let (count, length) = (rows.min(columns), rows.max(columns));
    let vectors = vectors(count, length, generator);
    // The vectors are the rows of a wide matrix, and the columns of a tall one.
    let element = |place: usize| {
        let (row, column) = (place / columns, place % columns);
        let (vector, element) = if rows <= columns {
            (row, column)
        } else {
            (column, row)
        };
        T::from_f64(vectors[vector * length + element] * gain)
    };
    let elements = (0..rows * columns).map(element).collect();
    // INVARIANT: one element for each place in the matrix.
    Array::from_shape_vec(shape, elements).expect("as many elements")
}

/// Draws `count` orthogonal vectors of this length and of norm 1, and concatenates them.
#[track_caller]
fn vectors(count: usize, length: usize, generator: &mut impl Rng) -> Vec<f64> {
    let mut vectors: Vec<f64> = Vec::with_capacity(count * length);
    for _ in 0..count {
        let vector = (0..ATTEMPTS).find_map(|_| {
            let drawn = (0..length).map(|_| draw::standard_normal(generator));
            at_right_angles(drawn.collect(), &vectors)
        });
        let Some(vector) = vector else {
            panic!("orthogonal: the generator repeats the same numbers")
        };
        vectors.extend(vector);
    }
    vectors
}

/// The largest number of draws of a vector: one that depends on the others is drawn again. Random vectors do not.
const ATTEMPTS: usize = 8;

/// Removes the components of `vector` along the others, and scales the rest to norm 1; `None` if the rest is a
/// rounding error.
fn at_right_angles(mut vector: Vec<f64>, others: &[f64]) -> Option<Vec<f64>> {
    let before = dot(&vector, &vector).sqrt();
    for _ in 0..2 {
        for other in others.chunks_exact(vector.len().max(1)) {
            let share = dot(&vector, other);
            for (element, other) in vector.iter_mut().zip(other) {
                *element -= share * other;
            }
        }
    }
    let left = dot(&vector, &vector).sqrt();
    if left <= 1e-12 * before {
        return None;
    }
    for element in &mut vector {
        *element /= left;
    }
    Some(vector)
}

/// Returns the sum of products, in eight partial sums that are added at the end: this fixes the order, and lets the
/// compiler use vector registers.
fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (xs, ys) = (x.chunks_exact(8), y.chunks_exact(8));
    let rest = xs.remainder().iter().zip(ys.remainder());
    for (x, y) in xs.zip(ys) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum += x * y;
        }
    }
    let rest = rest.map(|(x, y)| x * y);
    sums.into_iter().chain(rest).fold(0.0, |sum, x| sum + x)
}
