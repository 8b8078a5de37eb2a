//! Systems of equations and factorizations of dense matrices.

mod cholesky;
mod det;
mod eigh;
mod inverse;
mod pairs;
mod qr;
mod solve;
mod svd;
mod triangular;

pub use cholesky::Cholesky;
pub use det::{Det, LogDet};
pub use eigh::Eigh;
pub use inverse::Inverse;
pub use pairs::{OverPairs, Pairs};
pub use qr::Qr;
pub use solve::Solve;
pub use svd::Svd;
pub use triangular::{SolveTriangular, TriangularPart};

use std::panic::Location;

use ndarray::ArrayView2;

use crate::error::{Error, ErrorKind};
use crate::kernels::{FactorError, Lu};
use crate::{Element, Shape};

#[track_caller]
fn square<T: Element>(function: &str, a: &ArrayView2<'_, T>) {
    let shape = a.shape();
    assert!(
        a.is_square(),
        "{function} of a tensor of shape {shape:?}: it is not square"
    );
}

#[track_caller]
fn factors<T: Element>(function: &'static str, a: &ArrayView2<'_, T>) -> Result<Lu<T>, Error> {
    square(function, a);
    Lu::new(a).map_err(failed(function, a))
}

/// Returns the conversion of the error of a factorization to that of a function.
#[track_caller]
fn failed<T>(function: &'static str, a: &ArrayView2<'_, T>) -> impl FnOnce(FactorError) -> Error {
    let applied_at = Location::caller();
    move |error| {
        let shape = Shape::from(a.shape());
        let kind = match error {
            FactorError::Singular { pivot } => ErrorKind::Singular { shape, pivot },
            FactorError::NotPositiveDefinite { pivot } => {
                ErrorKind::NotPositiveDefinite { shape, pivot }
            }
            FactorError::NotConverged => ErrorKind::NotConverged { shape },
        };
        kind.of(function, applied_at)
    }
}

/// Returns the error, relative to the largest value, up to which values count as equal or as 0: that of a few operations.
fn rounding<T: Element>() -> T {
    T::epsilon() * T::from_f64(16.0)
}

/// The reason why a gradient may expect a solution: forward has factored the same matrix.
const SOLVED: &str = "a matrix that was factored once";
