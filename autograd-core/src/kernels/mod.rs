//! Loops on arrays, for authors of functions: no tape, no tensor.
//!
//! Read first [`map`] and [`zip`], loops over elements, with functions such as [`exp()`]; [`matmul`] and [`gemm()`];
//! [`map_lanes`] with [`softmax()`], along an axis; and [`split_mut`], for loops of your own on several threads.
//!
//! ndarray's own `mapv` and `Zip` do the same; these take contiguous data, which is nearly all data,
//! through plain slices. On an array of one element that is some ten times faster.

mod attention;
mod channels;
pub(crate) mod checks;
mod contract;
mod conv;
mod dropout;
mod elementwise;
mod extremes;
mod gemm;
mod indices;
mod lanes;
mod linalg;
mod math;
mod moments;
mod movement;
mod over;
mod parallel;
mod pool;
mod reduce;
mod slices;
mod softmax;
mod wide;

pub use crate::array::row_major;
pub use attention::{AttentionOptions, attention, attention_gradients};
pub use channels::{Channels, channel_sums, map_channels, normalise, normalise_gradient};
pub use contract::{Subscripts, contract};
pub use conv::{ConvOptions, col2im, conv2d, conv2d_transposed, conv2d_weight, im2col};
pub use dropout::dropout;
pub use elementwise::{map, zip};
pub use extremes::{largest, place_of_largest, place_of_smallest, smallest};
pub use gemm::{affine, gemm, matmul};
pub use indices::{gather, index_add, index_select, scatter_add};
pub use lanes::{map_lanes, reduce, zip_lanes};
pub use linalg::{Lu, cholesky, solve_triangular};
pub(crate) use math::activations;
pub use math::{erf, exp, exp_m1, gelu, gelu_slope, ln, ln_1p, sigmoid, tanh};
pub use moments::{moments, norm};
pub use movement::{concat, filled, pad};
pub use over::Over;
pub use parallel::{set_threads, split, split_mut, threads};
pub use pool::{Windows, largest_of_windows, means, pick, put, shares};
pub use reduce::{dot_over, dot_slices, sum, sum_over, sum_slice, sum_to};
pub use slices::{Slices, zip_slices_in_place};
pub(crate) use softmax::softmax_and_log_sum;
pub use softmax::{log_softmax, log_sum_exp, softmax};
pub use wide::{map_in_place, zip_in_place};
