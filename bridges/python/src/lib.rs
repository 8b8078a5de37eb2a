#![doc = include_str!("../README.md")]

mod argument;
mod array;
mod export;
mod function;
mod output;
mod panics;
mod stub;

pub use pullback_python_macros::module;
pub use pyo3;

/// What the code that [`module!`] writes is made of.
#[doc(hidden)]
pub mod __private {
    pub use crate::argument::Argument;
    pub use crate::export::{ByElement, ByRank, Call, Neither, Probe, Variant};
    pub use crate::function::Functions;
    pub use crate::output::Output;
}
