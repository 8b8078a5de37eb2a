//! Loops on arrays, for authors of functions: no tape, no tensor.
//!
//! ndarray's own `mapv` and `Zip` do the same; these take contiguous data, which is nearly all data,
//! through plain slices. On an array of one element that is some ten times faster.

mod elementwise;
mod lanes;
mod over;
mod reduce;

pub use elementwise::{map, zip};
pub use lanes::{map_lanes, reduce, zip_lanes};
pub use over::Over;
pub use reduce::{dot_over, dot_slices, sum, sum_over, sum_slice, sum_to};
