//! Loops on arrays, for authors of functions: no tape, no tensor.
//!
//! ndarray's own `mapv` and `Zip` do the same; these take contiguous data, which is nearly all data,
//! through plain slices. On an array of one element that is some ten times faster.

mod attention;
pub(crate) mod checks;
mod contract;
mod conv;
mod elementwise;
mod gemm;
mod indices;
mod linalg;
mod math;
mod movement;
mod parallel;
mod pool;
mod reduce;
mod wide;

pub use crate::array::row_major;
pub use attention::{AttentionOptions, attention, attention_gradients};
pub use contract::{Subscripts, contract};
pub use conv::{ConvOptions, conv2d, conv2d_transposed, conv2d_weight};
pub use elementwise::{map, zip};
pub use gemm::{affine, gemm, matmul};
pub use indices::{gather, index_add, index_select, scatter_add};
pub use linalg::{Lu, cholesky, solve_triangular};
pub(crate) use math::activations;
pub use math::{erf, exp, exp_m1, gelu, gelu_slope, ln, ln_1p, sigmoid, tanh};
pub use movement::{concat, filled, pad};
pub use parallel::{set_threads, split, split_mut, threads};
pub use pool::{Windows, largest, means, pick, put, shares};
pub use reduce::{sum, sum_to};
pub use wide::{map_in_place, zip_in_place};
