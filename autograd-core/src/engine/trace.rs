//! What a pass does when, written down for those who ask for it.
//!
//! A pass looks once whether anybody does; without, each node costs it one branch. Passes inside of passes
//! write into the same record, on whatever threads they run: the outer ones wait for them meanwhile.

use std::cell::Cell;
use std::cmp::Reverse;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::tape::{AnyGradient, Node};
use crate::thread::{Scoped, current};

/// One node's turn in a backward pass.
///
/// ```
/// use pullback::{Tensor, inspect};
/// use pullback::ndarray::array;
///
/// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
/// let y = x.exp();
/// let (_, events) = inspect::trace(|| y.backward_with(array![1.0, 1.0]));
/// let [event] = &events[..] else { panic!("one node") };
/// assert_eq!((event.name, event.bytes), ("Exp", 16));
/// assert_eq!(Some(event.sequence_nr), y.grad_fn().map(|node| node.sequence_nr()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// The function's name.
    pub name: &'static str,
    /// The line that applied it.
    pub applied_at: &'static Location<'static>,
    /// The node's number: see [`Node::sequence_nr`].
    pub sequence_nr: u64,
    /// When the node's backward began, counted from the beginning of the trace.
    pub start: Duration,
    /// How long it took, with its hooks.
    pub duration: Duration,
    /// The part of [`duration`](Self::duration) without the nodes of passes that ran inside of it.
    pub own: Duration,
    /// The size of the gradients that it gave, in bytes.
    pub bytes: usize,
}

/// What was written down so far.
#[derive(Debug)]
pub(crate) struct Recorder {
    begun: Instant,
    turns: Mutex<Turns>,
}

#[derive(Debug, Default)]
struct Turns {
    done: Vec<TraceEvent>,
    /// For each node whose turn it is, the outermost first, what the nodes inside of it took.
    open: Vec<Duration>,
}

thread_local! {
    /// The trace that passes on this thread are recorded in.
    pub(super) static RECORDER: Cell<Option<Arc<Recorder>>> = const { Cell::new(None) };
}

/// Runs `body` and records what each node of the backward passes in it did: when its backward functions ran,
/// for how long, and the size of the gradients that they gave. The events are in the order in which they began.
///
/// Passes that `body` starts on this thread are traced, with the passes that their backward functions
/// start. That costs about a tenth of a microsecond a node; outside of a trace nothing is measured.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::{Tensor, inspect};
///
/// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
/// let loss = x.exp().sum();
/// let (result, events) = inspect::trace(|| loss.backward());
/// result?;
/// let names: Vec<&str> = events.iter().map(|event| event.name).collect();
/// assert_eq!(names, ["Sum", "Exp"]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn trace<R>(body: impl FnOnce() -> R) -> (R, Vec<TraceEvent>) {
    let recorder = Arc::new(Recorder {
        begun: Instant::now(),
        turns: Mutex::default(),
    });
    let scope = Scoped::set(&RECORDER, Some(Arc::clone(&recorder)));
    let result = body();
    drop(scope);
    let mut events = std::mem::take(&mut recorder.turns().done);
    sort(&mut events);
    (result, events)
}

/// A node is recorded when it has run, after those of passes inside of its backward. Where a clock gives both
/// the same time, the longer is the outer one: viewers take events of one time in their order.
fn sort(events: &mut [TraceEvent]) {
    events.sort_by_key(|event| (event.start, Reverse(event.duration)));
}

/// Returns the trace that passes which start on this thread are recorded in.
pub(super) fn recorder() -> Option<Arc<Recorder>> {
    current(&RECORDER)
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
        turns.done.push(TraceEvent {
            name: self.node.name(),
            applied_at: self.node.applied_at(),
            sequence_nr: self.node.sequence_nr(),
            start: self.start,
            duration,
            own: duration.saturating_sub(inside),
            bytes: self.bytes,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_before_those_inside_of_it_even_if_the_clock_did_not_move() {
        let event = |name, duration| TraceEvent {
            name,
            applied_at: Location::caller(),
            sequence_nr: 0,
            start: Duration::ZERO,
            duration: Duration::from_nanos(duration),
            own: Duration::ZERO,
            bytes: 0,
        };
        let mut events = [event("inner", 41), event("outer", 82)];
        sort(&mut events);
        assert_eq!(events.map(|event| event.name), ["outer", "inner"]);
    }
}
