//! Loops on arrays, for authors of functions: no tape, no tensor.
//!
//! ndarray's own `mapv` and `Zip` do the same; these take contiguous data, which is nearly all data,
//! through plain slices. On an array of one element that is some ten times faster.

pub(crate) mod checks;
mod elementwise;
mod indices;
mod movement;
mod reduce;

pub use crate::array::row_major;
pub use elementwise::{map, zip};
pub use indices::{gather, index_add, index_select, scatter_add};
pub use movement::{concat, filled, pad};
pub use reduce::{sum, sum_to};
