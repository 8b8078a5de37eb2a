//! Normalization: elements less their mean and over their deviation, then scaled and shifted.
//!
//! [`Normalize`] and [`ScaleShift`] do it for all: what a layer, a batch or a group normalizes together is a
//! matter of how the array is seen as [`Channels`](crate::kernels::Channels).

mod batch_norm;
mod channels;
mod group_norm;
mod layer_norm;
mod normalize;

pub use batch_norm::Statistics;
pub use channels::{ChannelRepeat, ChannelSum, ScaleShift};
pub use normalize::{Normalize, NormalizeBackward};
