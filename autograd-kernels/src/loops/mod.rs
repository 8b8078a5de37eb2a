//! Loops over elements and along axes.

pub(crate) mod along;
pub(crate) mod axes;
pub(crate) mod broadcast;
mod each_lane;
pub(crate) mod lanes;
pub(crate) mod map;
pub(crate) mod max;
pub(crate) mod mean_var;
pub(crate) mod movement;
pub(crate) mod pairwise;
pub(crate) mod prefetch;
mod product_of_others;
pub(crate) mod reductions;
pub(crate) mod row_major;
pub(crate) mod rows;
pub(crate) mod slices;
pub(crate) mod softmax;
pub(crate) mod sum;
pub(crate) mod wide;
