//! Loops on arrays, for authors of functions: no tape, no tensor.
//!
//! ndarray's own `mapv` and `Zip` do the same; these take contiguous data, which is nearly all data,
//! through plain slices. On an array of one element that is some ten times faster.

mod attention;
mod contract;
mod conv;
mod elementwise;
mod gemm;
mod linalg;
mod parallel;
mod pool;
mod reduce;

pub use attention::{AttentionOptions, attention, attention_gradients};
pub use contract::{Subscripts, contract};
pub use conv::{ConvOptions, conv2d, conv2d_transposed, conv2d_weight};
pub use elementwise::{map, zip};
pub use gemm::{affine, gemm, matmul};
pub use linalg::{Lu, cholesky, solve_triangular};
pub use parallel::{set_threads, split, split_mut, threads};
pub use pool::{Windows, largest, means, pick, put, shares};
pub use reduce::{sum, sum_to};
