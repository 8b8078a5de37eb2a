//! Traces: the times at which a pass runs its nodes.
//!
//! Without a trace, each node costs a pass one branch. Passes inside passes add to the same trace, on whatever threads
//! they run: the outer passes are blocked meanwhile.

use std::cell::Cell;
use std::cmp::Reverse;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::tape::{AnyGradient, Node};
use crate::thread::{Scoped, current};

/// The run of one node in a backward pass.
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
    /// The node's [`sequence_nr`](Node::sequence_nr).
    pub sequence_nr: u64,
    /// The time from the start of the trace to the start of the node's backward.
    pub start: Duration,
    /// The time that the node took, with its hooks.
    pub duration: Duration,
    /// [`duration`](Self::duration) without nested passes.
    pub own: Duration,
    /// The size of the gradients that the node computed, in bytes.
    pub bytes: usize,
}

/// The events recorded so far.
#[derive(Debug)]
pub(crate) struct Recorder {
    start: Instant,
    events: Mutex<Events>,
}

#[derive(Debug, Default)]
struct Events {
    done: Vec<TraceEvent>,
    /// For each node that runs, the outermost first, the time of the nodes inside it.
    open: Vec<Duration>,
}

thread_local! {
    /// The trace that passes on this thread are recorded in.
    pub(super) static RECORDER: Cell<Option<Arc<Recorder>>> = const { Cell::new(None) };
}

/// Runs `body` and records each node that a backward pass runs in it: when and how long its backward functions ran, and
/// the size of the gradients. The events are in the order of their start.
///
/// Traced are the passes that `body` starts on this thread, and the passes that their backward functions start. This
/// costs about a tenth of a microsecond for each node; outside a trace nothing is measured.
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
        start: Instant::now(),
        events: Mutex::default(),
    });
    let scope = Scoped::set(&RECORDER, Some(Arc::clone(&recorder)));
    let result = body();
    drop(scope);
    let mut events = std::mem::take(&mut recorder.events().done);
    sort(&mut events);
    (result, events)
}

/// Sorts events by their start. An event is recorded when its node has run, after the nodes inside it; of two events
/// with the same start, the longer is the outer one, and viewers need it first.
fn sort(events: &mut [TraceEvent]) {
    events.sort_by_key(|event| (event.start, Reverse(event.duration)));
}

/// Returns the trace that passes which start on this thread are recorded in.
pub(super) fn recorder() -> Option<Arc<Recorder>> {
    current(&RECORDER)
}

impl Recorder {
    fn events(&self) -> MutexGuard<'_, Events> {
        // Only a failed allocation panics while the lock is held; the events are then complete.
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a node, and records it with the gradients that `run` returns.
    #[cold]
    pub(super) fn record<R: AsRef<[Option<AnyGradient>]>, E>(
        &self,
        node: &Node,
        run: impl FnOnce() -> Result<R, E>,
    ) -> Result<R, E> {
        let mut open = Open {
            recorder: self,
            node,
            start: self.start.elapsed(),
            bytes: 0,
        };
        self.events().open.push(Duration::ZERO);
        let results = run()?;
        let gradients = results.as_ref().iter().flatten();
        open.bytes = gradients.map(AnyGradient::bytes).sum();
        Ok(results)
    }
}

/// An event that is recorded when it ends, by an error or a panic too.
struct Open<'a> {
    recorder: &'a Recorder,
    node: &'a Node,
    start: Duration,
    bytes: usize,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let duration = self.recorder.start.elapsed().saturating_sub(self.start);
        let mut events = self.recorder.events();
        let inside = events.open.pop().unwrap_or_default();
        if let Some(outer) = events.open.last_mut() {
            *outer += duration;
        }
        events.done.push(TraceEvent {
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
