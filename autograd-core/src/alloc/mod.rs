//! Counted handles for buffers and nodes, and their memory.
//!
//! `counted` is a handle on a value, `thin` a handle on a trait object; both use `count` for the number of handles and
//! `blocks` for memory. `brief` is a lock.

#![allow(unsafe_code, reason = "each block has its argument")]

mod blocks;
mod brief;
mod count;
mod counted;
mod thin;

pub(crate) use brief::Brief;
pub(crate) use counted::Counted;
pub(crate) use thin::Thin;
