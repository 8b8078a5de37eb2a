//! Loops on arrays, for authors of functions: no tape, no tensor.
//!
//! ndarray's own `mapv` and `Zip` do the same; these take contiguous data, which is nearly all data,
//! through plain slices. On an array of one element that is some ten times faster.

mod channels;
mod dropout;
mod elementwise;
mod extremes;
mod lanes;
mod math;
mod moments;
mod over;
mod parallel;
mod reduce;
mod softmax;
mod wide;

pub use channels::{Channels, channel_sums, normalise, normalise_gradient, zip_channels};
pub use dropout::dropout;
pub use elementwise::{map, zip};
pub use extremes::{largest, place_of_largest, place_of_smallest, smallest};
pub use lanes::{map_lanes, reduce, zip_lanes};
pub(crate) use math::activations;
pub use math::{erf, exp, exp_m1, gelu, gelu_slope, ln, ln_1p, sigmoid, tanh};
pub use moments::{moments, norm};
pub use over::Over;
pub use parallel::{set_threads, split, split_mut, threads};
pub use reduce::{dot_over, dot_slices, sum, sum_over, sum_slice, sum_to};
pub(crate) use softmax::softmax_and_log_sum;
pub use softmax::{log_softmax, log_sum_exp, softmax};
pub use wide::{map_in_place, zip_in_place};
