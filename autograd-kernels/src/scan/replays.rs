//! The replays of a pass.

use crate::elementwise::recorded::Replay;

/// The replays of a formula, which all blocks of lanes use.
#[derive(Debug)]
pub(super) struct Replays<T> {
    /// Of the results, and of the states alone.
    pub(super) forward: [Option<Replay<T>>; 2],
    pub(super) backward: Option<Replay<T>>,
}

impl<T> Replays<T> {
    pub(super) fn new() -> Self {
        Self {
            forward: [None, None],
            backward: None,
        }
    }
}
