//! What a pass does when, written down for those who ask for it.
//!
//! A pass looks once whether anybody does; without, each node costs it one branch. Passes inside of passes
//! write into the same record, on whatever threads they run: the outer ones wait for them meanwhile.

use std::cell::RefCell;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::tape::{AnyGradient, Node};

/// One node's turn in a pass.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) name: &'static str,
    pub(crate) applied_at: &'static Location<'static>,
    pub(crate) sequence_nr: u64,
    /// Since the record was begun.
    pub(crate) start: Duration,
    pub(crate) duration: Duration,
    /// The part of `duration` that nodes of passes inside of this node's backward took.
    pub(crate) inside: Duration,
    /// The gradients that it gave.
    pub(crate) bytes: usize,
}

/// What was written down so far.
#[derive(Debug)]
pub(crate) struct Recorder {
    begun: Instant,
    turns: Mutex<Turns>,
}

#[derive(Debug, Default)]
struct Turns {
    done: Vec<Turn>,
    /// For each node whose turn it is, the outermost first, what the nodes inside of it took.
    open: Vec<Duration>,
}

thread_local! {
    static RECORDER: RefCell<Option<Arc<Recorder>>> = const { RefCell::new(None) };
}

/// Runs `body` and says what the nodes did in the passes that it ran.
pub(crate) fn recorded<R>(body: impl FnOnce() -> R) -> (R, Vec<Turn>) {
    let recorder = Arc::new(Recorder {
        begun: Instant::now(),
        turns: Mutex::default(),
    });
    let result = with_recorder(Some(Arc::clone(&recorder)), body);
    let turns = std::mem::take(&mut recorder.turns().done);
    (result, turns)
}

/// Runs `body`, whose passes write into `recorder`.
pub(super) fn with_recorder<R>(recorder: Option<Arc<Recorder>>, body: impl FnOnce() -> R) -> R {
    /// The recorder to go back to, in a panic too.
    struct Former(Option<Arc<Recorder>>);
    impl Drop for Former {
        fn drop(&mut self) {
            RECORDER.set(self.0.take());
        }
    }
    let _former = Former(RECORDER.replace(recorder));
    body()
}

/// Where passes that start on this thread now write, if anywhere.
pub(super) fn recorder() -> Option<Arc<Recorder>> {
    RECORDER.with_borrow(Clone::clone)
}

impl Recorder {
    fn turns(&self) -> MutexGuard<'_, Turns> {
        // Nothing panics while the lock is held but a failed allocation; what is there is then whole.
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a node, whose gradients are what `run` gives.
    #[cold]
    pub(super) fn turn<R: AsRef<[Option<AnyGradient>]>, E>(
        &self,
        node: &Node,
        run: impl FnOnce() -> Result<R, E>,
    ) -> Result<R, E> {
        let mut open = Open {
            recorder: self,
            node,
            start: self.begun.elapsed(),
            bytes: 0,
        };
        self.turns().open.push(Duration::ZERO);
        let results = run()?;
        let gradients = results.as_ref().iter().flatten();
        open.bytes = gradients.map(AnyGradient::bytes).sum();
        Ok(results)
    }
}

/// A turn that is written down when it ends, by an error or a panic too.
struct Open<'a> {
    recorder: &'a Recorder,
    node: &'a Node,
    start: Duration,
    bytes: usize,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let duration = self.recorder.begun.elapsed().saturating_sub(self.start);
        let mut turns = self.recorder.turns();
        let inside = turns.open.pop().unwrap_or_default();
        if let Some(outer) = turns.open.last_mut() {
            *outer += duration;
        }
        turns.done.push(Turn {
            name: self.node.name(),
            applied_at: self.node.applied_at(),
            sequence_nr: self.node.sequence_nr(),
            start: self.start,
            duration,
            inside,
            bytes: self.bytes,
        });
    }
}
