//! Counted handles, and the memory behind them: what buffers and nodes are held by.
//!
//! `counted` is a handle on a value, `thin` one on a value behind a trait; `count` is what both count with,
//! `blocks` where their memory comes from.

#![allow(unsafe_code, reason = "each block has its argument")]

mod blocks;
mod count;
mod counted;
mod thin;

pub(crate) use counted::Counted;
pub(crate) use thin::Thin;
