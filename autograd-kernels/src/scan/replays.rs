//! The replays of a pass.

use crate::elementwise::recorded::{Kept, Replay};

/// The replays of a formula, which all blocks of lanes use.
#[derive(Debug)]
pub(super) struct Replays<T> {
    /// How many rows each number has.
    pub(super) depth: usize,
    /// Of the results, and of the states alone.
    pub(super) forward: [Option<Replay<T>>; 2],
    pub(super) backward: Option<Replay<T>>,
    /// Those of a segment that runs again and then backward, if the formula has them; with room for the states before each
    /// step and what is kept of it.
    pub(super) kept: Option<Kept<T>>,
    /// Whether it is known if the formula has them.
    pub(super) is_kept_known: bool,
}

impl<T> Replays<T> {
    pub(super) fn new(depth: usize) -> Self {
        Self {
            depth,
            forward: [None, None],
            backward: None,
            kept: None,
            is_kept_known: false,
        }
    }
}
