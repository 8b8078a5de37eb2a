//! Factorizations of dense matrices, and systems of equations solved with them.
//!
//! Each factorization halves the matrix until blocks are small, so that nearly all arithmetic is in products of
//! matrices. A small block is computed in a [`tile`], whose rows are vector registers.

#![allow(
    clippy::inline_always,
    reason = "a loop is compiled for an instruction set if it is inlined into a function that is"
)]
#![allow(
    clippy::needless_range_loop,
    reason = "rows and columns of several matrices, as the formulas have them"
)]

mod bidiagonal;
pub(crate) mod cholesky;
pub(crate) mod eigh;
pub(crate) mod lu;
pub(crate) mod qr;
mod reflectors;
mod rotations;
pub(crate) mod svd;
mod tile;
pub(crate) mod triangular;

use std::error::Error;
use std::fmt;

use ndarray::{Array, Array2, ArrayView, ArrayView2, ArrayViewMut2, Dimension, s};

use self::tile::SIZE;
use crate::checks::counted;
use crate::element::Element;
use crate::loops::row_major::row_major;

/// The reason why a matrix has no factorization.
///
/// ```
/// use pullback::kernels::{FactorError, Lu};
/// use pullback::ndarray::array;
///
/// let error = Lu::new(&array![[1.0, 2.0], [2.0, 4.0]].view()).unwrap_err();
/// assert_eq!(error, FactorError::Singular { pivot: 1 });
/// assert_eq!(error.to_string(), "the matrix is singular: pivot 1 of the elimination is 0");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorError {
    /// The matrix is singular.
    Singular {
        /// The index on the diagonal of the pivot that is 0.
        pivot: usize,
    },
    /// The matrix is not positive definite.
    NotPositiveDefinite {
        /// The index on the diagonal of the pivot that is not positive.
        pivot: usize,
    },
    /// The iteration for eigenvalues or singular values did not converge, as where an element is infinite or NaN.
    NotConverged,
}

impl fmt::Display for FactorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Singular { pivot } => write!(
                f,
                "the matrix is singular: pivot {pivot} of the elimination is 0"
            ),
            Self::NotPositiveDefinite { pivot } => write!(
                f,
                "the matrix is not positive definite: pivot {pivot} is not positive"
            ),
            Self::NotConverged => f.write_str(
                "the iteration did not converge, as where an element is infinite or NaN",
            ),
        }
    }
}

impl Error for FactorError {}

/// Returns a copy of a right side that `solve` has replaced by the solution.
///
/// # Panics
/// If the right side does not have one or two axes, or another number of rows.
#[track_caller]
fn solved<T: Element, E: Dimension>(
    b: &ArrayView<'_, T, E>,
    size: usize,
    solve: impl FnOnce(ArrayViewMut2<'_, T>),
) -> Array<T, E> {
    assert!(
        (1..=2).contains(&b.ndim()) && b.shape()[0] == size,
        "a system of {} with a right side of shape {:?}",
        counted(size, "row", "rows"),
        b.shape()
    );
    let mut x = row_major(b);
    solve(as_matrix(&mut x));
    x
}

/// Returns a matrix or a vector, in row-major order, as a matrix. A vector is a matrix of one column.
fn as_matrix<T, E: Dimension>(x: &mut Array<T, E>) -> ArrayViewMut2<'_, T> {
    let rows = x.shape()[0];
    let columns = x.shape().get(1).copied().unwrap_or(1);
    let matrix = x
        .as_slice_mut()
        .and_then(|elements| ArrayViewMut2::from_shape((rows, columns), elements).ok());
    // INVARIANT: the elements are contiguous, and as many as these rows and columns have.
    matrix.expect("a matrix")
}

#[track_caller]
fn square<T>(a: &ArrayView2<'_, T>) {
    assert!(
        a.is_square(),
        "a matrix of shape {:?} is not square",
        a.shape()
    );
}

/// Replaces a matrix by (A + Aᵀ)/2.
fn symmetric_part<T: Element>(a: &mut Array2<T>) {
    let half = T::from_f64(0.5);
    let size = a.nrows();
    let range = |from: usize| from..(from + SIZE).min(size);
    let mut tiles = [[[T::zero(); SIZE]; SIZE]; 2];
    for i in (0..size).step_by(SIZE) {
        for j in (0..=i).step_by(SIZE) {
            let [tile, other] = &mut tiles;
            tile::load(&a.slice(s![range(i), range(j)]), tile);
            tile::load(&a.slice(s![range(j), range(i)]).t(), other);
            let others = other.as_flattened();
            for (x, y) in tile.as_flattened_mut().iter_mut().zip(others) {
                *x = (*x + *y) * half;
            }
            tile::store(tile, a.slice_mut(s![range(i), range(j)]));
            tile::store(tile, a.slice_mut(s![range(j), range(i)]).reversed_axes());
        }
    }
}

/// Returns a power of 2 whose product with the largest magnitude is near 1, so that no square is too large or too small.
///
/// # Errors
/// If an element is infinite or NaN: no iteration would converge.
fn scale<T: Element>(a: &ArrayView2<'_, T>) -> Result<T, FactorError> {
    let largest = a.iter().fold(T::zero(), |largest, x| {
        if x.is_finite() && !largest.is_nan() {
            largest.max(x.abs())
        } else {
            T::nan()
        }
    });
    if largest.is_nan() {
        return Err(FactorError::NotConverged);
    }
    let most = exponent(T::max_value()) - 1;
    Ok(power_of_two((-exponent(largest)).clamp(-most, most)))
}

/// Returns the exponent of the largest power of 2 that is not above a positive number, or −1023 if it is smaller.
fn exponent<T: Element>(x: T) -> i32 {
    let bits = x.as_f64().to_bits() >> (f64::MANTISSA_DIGITS - 1);
    // Eleven bits of the exponent, and none of the sign.
    bits as i32 - 1023
}

/// Returns a power of 2 whose exponent is that of a normal number.
fn power_of_two<T: Element>(exponent: i32) -> T {
    T::from_f64(f64::from_bits(
        u64::from((exponent + 1023).unsigned_abs()) << (f64::MANTISSA_DIGITS - 1),
    ))
}
