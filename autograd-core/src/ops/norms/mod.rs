//! Normalization: (x − mean) / deviation, then scaled and shifted.
//!
//! All are made of [`Normalize`] and [`ScaleShift`]. Layers, batches and groups differ in the
//! [`Channels`](crate::kernels::Channels) that are normalized together.

mod batch_norm;
mod channels;
mod group_norm;
mod layer_norm;
mod normalize;

pub use batch_norm::Statistics;
pub use channels::{ChannelRepeat, ChannelSum, ScaleShift};
pub use normalize::{Normalize, NormalizeBackward};
