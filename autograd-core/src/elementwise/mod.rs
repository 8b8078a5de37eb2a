//! Elementwise functions on tensors, as `#[custom_function(elementwise)]` generates them.
//!
//! The loops of a formula, and what an *order*, a *component* and the *pairing* are, are in `elementwise` of the crate
//! `autograd-kernels`. [`apply`] is one use of an elementwise function, with its node. Its derivatives are functions of
//! tensors too: `partials` has those of the pairing, `directional` those of the formula along tangents. Both are
//! differentiated by `partials` of the next order. A `plan` lists the derivatives that are wanted, and their tensors.

mod apply;
mod arrays;
mod directional;
mod forward;
mod partials;
mod plan;
mod shared;

pub use apply::{Derivatives, Elementwise};
pub use forward::values;
