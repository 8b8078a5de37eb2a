//! Thread-local values set for a scope: the modes of a thread, and its cleanup at the end of a pass.
//!
//! `scoped` has the one guard for all of them; `modes` takes them over to helper threads.

pub(crate) mod cleanup;
pub(crate) mod examples;
mod grad_mode;
mod modes;
pub(crate) mod replay;
mod scoped;

pub(crate) use grad_mode::{RECORDING, with_grad_mode};
pub use grad_mode::{enable_grad, is_grad_enabled, no_grad, unrecorded};
pub(crate) use modes::{Mode, Modes};
pub use replay::{is_recomputing, replayed};
pub(crate) use scoped::{Scoped, current};
