//! Elementwise functions on tensors, as `#[custom_function(elementwise)]` generates them.
//!
//! The loops of a formula, and what an *order*, a *component* and the *pairing* are, are in `elementwise` of the crate
//! `autograd-kernels`. [`apply`] is one use of an elementwise function, with its node. Its derivatives are functions of
//! tensors too: `partials` has those of the pairing, `directional` those of the formula along tangents. Both are
//! differentiated by `partials` of the next order. A `plan` lists the derivatives that are wanted, and their tensors.
//!
//! `pairs` has functions of each row with each column of two tensors, which are elementwise functions whose results are
//! summed before they are anywhere in memory.
//!
//! A tensor with rows has their axis last. The others are those that broadcast; [`ranks`] has the types.

mod apply;
mod arrays;
mod directional;
mod forward;
mod over;
mod pairs;
mod partials;
mod plan;
mod ranks;
mod shared;
mod short;

pub(crate) use apply::{Derivable, Held, follow};
pub use apply::{Derivatives, Elementwise};
pub(crate) use arrays::{common, of_items, placed};
pub(crate) use forward::each;
pub use forward::values;
pub use pairs::Pairs;
pub(crate) use plan::{Plan, lifted, requires_grad};
pub use ranks::{dynamic, ranked, ranked_array};
pub(crate) use shared::if_differentiable;
