//! Loops on arrays, for authors of functions: no tape, no tensor.
//!
//! Read first [`map`] and [`zip`], loops over elements, with functions such as [`exp()`]; [`matmul`] and [`gemm()`];
//! [`map_lanes`] with [`softmax()`], along an axis; and [`split_mut`], for loops of your own on several threads.
//!
//! ndarray's own `mapv` and `Zip` do the same; these take contiguous data, which is nearly all data,
//! through plain slices. On an array of one element that is some ten times faster.
//!
//! `pullback` re-exports this crate as `pullback::kernels`. What its documentation does not show belongs to the
//! built-in functions of `autograd-core`, and may change with any version.

#[cfg(feature = "ops")]
mod attention;
#[cfg(feature = "ops")]
mod channels;
#[doc(hidden)]
pub mod checks;
#[cfg(feature = "ops")]
mod contract;
#[cfg(feature = "ops")]
mod conv;
#[cfg(feature = "ops")]
mod dropout;
mod element;
mod elementwise;
mod extremes;
mod gemm;
#[cfg(feature = "ops")]
mod indices;
mod lanes;
#[cfg(feature = "ops")]
mod linalg;
mod math;
pub mod memory;
mod moments;
mod movement;
mod over;
mod parallel;
#[cfg(feature = "ops")]
mod pool;
mod reduce;
mod row_major;
mod shape;
mod slices;
mod softmax;
mod wide;
mod words;

#[cfg(feature = "ops")]
pub use attention::{AttentionOptions, attention, attention_gradients};
#[cfg(feature = "ops")]
pub use channels::{Channels, channel_sums, map_channels, normalise, normalise_gradient};
#[cfg(feature = "ops")]
pub use contract::{Subscripts, contract};
#[cfg(feature = "ops")]
pub use conv::{ConvOptions, col2im, conv2d, conv2d_transposed, conv2d_weight, im2col};
#[cfg(feature = "ops")]
pub use dropout::dropout;
pub use element::Element;
#[doc(hidden)]
pub use element::Family;
pub use elementwise::{map, zip};
pub use extremes::{largest, place_of_largest, place_of_smallest, smallest};
pub use gemm::{affine, gemm, matmul};
#[cfg(feature = "ops")]
pub use indices::{gather, index_add, index_select, scatter_add};
pub use lanes::{map_lanes, reduce, zip_lanes};
#[cfg(feature = "ops")]
pub use linalg::{Lu, cholesky, solve_triangular};
#[doc(hidden)]
pub use math::activations;
pub use math::{erf, exp, exp_m1, gelu, gelu_slope, ln, ln_1p, sigmoid, tanh};
pub use moments::{moments, norm};
pub use movement::{concat, filled, pad};
pub use ndarray;
pub use over::Over;
pub use parallel::{set_threads, split, split_mut, threads};
#[cfg(feature = "ops")]
pub use pool::{Windows, largest_of_windows, means, pick, put, shares};
pub use reduce::{dot_over, dot_slices, sum, sum_over, sum_slice, sum_to};
#[doc(hidden)]
pub use row_major::in_row_major;
pub use row_major::row_major;
pub use shape::Shape;
pub use slices::{Slices, zip_slices_in_place};
#[doc(hidden)]
pub use softmax::softmax_and_log_sum;
pub use softmax::{log_softmax, log_sum_exp, softmax};
pub use wide::{map_in_place, zip_in_place};
#[doc(hidden)]
pub use words::counted;

// Named for its feature alone: see `[workspace.dependencies]`.
use matrixmultiply as _;
