//! What a thread is in, for others that work in its stead.

use std::sync::Arc;

use super::anomaly;
use super::trace::{self, Recorder};
use crate::grad_mode::{is_grad_enabled, with_grad_mode};
use crate::replay::{self, Running};
use crate::saved::{SavedHooks, saved_hooks, with_all_saved_hooks};

/// The modes of a thread: what it records, watches for, traces, packs and replays.
pub(crate) struct Modes {
    records: bool,
    watching: bool,
    recorder: Option<Arc<Recorder>>,
    running: Vec<Running>,
    hooks: Vec<Arc<dyn SavedHooks>>,
}

impl Modes {
    pub(crate) fn of_this_thread() -> Self {
        Self {
            records: is_grad_enabled(),
            watching: anomaly::is_watching(),
            recorder: trace::recorder(),
            running: replay::running(),
            hooks: saved_hooks(),
        }
    }

    /// Whether others depend on the order in which things happen: the trace that is written, where each turn is
    /// inside of another or after it, and checkpoints, whose second call has to do the same.
    pub(crate) fn are_ordered(&self) -> bool {
        self.recorder.is_some() || !self.running.is_empty()
    }

    /// Runs `body` in these modes, on a thread that is in none.
    pub(crate) fn on_new_thread<R>(&self, body: impl FnOnce() -> R) -> R {
        let body = || with_grad_mode(self.records, body);
        let body = || anomaly::watching(self.watching, body);
        let body = || trace::with_recorder(self.recorder.clone(), body);
        let body = || replay::with_running(self.running.clone(), body);
        with_all_saved_hooks(self.hooks.clone(), body)
    }
}
