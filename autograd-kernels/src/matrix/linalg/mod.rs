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

pub(crate) mod cholesky;
pub(crate) mod lu;
mod tile;
pub(crate) mod triangular;

use std::error::Error;
use std::fmt;

use ndarray::{Array, ArrayView, ArrayView2, ArrayViewMut2, Dimension};

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
        }
    }
}

impl Error for FactorError {}

/// Returns a copy of a right side that `solve` has replaced by the solution. A vector is a matrix of one column.
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
    let columns = b.shape().get(1).copied().unwrap_or(1);
    let matrix = x
        .as_slice_mut()
        .and_then(|elements| ArrayViewMut2::from_shape((size, columns), elements).ok());
    // INVARIANT: the copy is in row-major order, and has these rows and columns.
    solve(matrix.expect("a matrix"));
    x
}

#[track_caller]
fn square<T>(a: &ArrayView2<'_, T>) {
    assert!(
        a.is_square(),
        "a matrix of shape {:?} is not square",
        a.shape()
    );
}
