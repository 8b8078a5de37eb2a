//! Products of matrices, contractions of arrays, and linear algebra.

#[cfg(feature = "ops")]
pub(crate) mod contract;
pub(crate) mod gemm;
pub(crate) mod linalg;
