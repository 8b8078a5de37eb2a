//! Recurrences over time on tensors, as `#[custom_function(scan)]` generates them.
//!
//! The passes through time are in `scan` of the crate `autograd-kernels`. [`apply`] is one use of a scan, with the node
//! that elementwise functions have too. Its derivatives are functions of tensors: `partials` has those of the pairing,
//! `along` those along tangents, of every order, so that each is differentiated by the next order. `extent` has the
//! steps and the lanes that tensors broadcast to. Inside, tensors have ranks that are known at run time: those of steps
//! have an axis more than states have.

mod along;
mod apply;
mod extent;
mod function;
mod partials;

pub use apply::{Scan, scan_values};
