//! Letting a graph go without recursion.
//!
//! A node that drops its edges drops the nodes behind them, which drop theirs: a chain of some ten
//! thousand nodes would overflow a thread's stack. Every node therefore hands its edges over here.

use std::any::Any;
use std::cell::{Cell, RefCell};

use crate::tape::{Edge, Node};
use crate::thread::Scoped;

/// Drops `edges` and all that nothing else holds behind them, in a loop.
#[inline]
pub(crate) fn drop_edges(edges: &mut [Option<Edge>]) {
    // A chain needs no more than `next`; only where nodes have several inputs is memory allocated.
    let mut next = None;
    let mut pending = Vec::new();
    take(edges, &mut next, &mut pending);
    while let Some(mut node) = next.take().or_else(|| pending.pop()) {
        // When two threads drop the last two references at once, neither may see itself as the last
        // here. The one that is then drops the node in the ordinary way, which starts a loop anew.
        if let Some(node) = node.0.get_mut() {
            take(node.edges_mut(), &mut next, &mut pending);
        }
    }
}

#[inline]
fn take(edges: &mut [Option<Edge>], next: &mut Option<Node>, pending: &mut Vec<Node>) {
    for Edge { node, .. } in edges.iter_mut().filter_map(Option::take) {
        // Others hold it: letting go of it is all there is to do.
        if !node.0.is_only() {
            continue;
        }
        match next {
            None => *next = Some(node),
            Some(_) => pending.push(node),
        }
    }
}

/// How many values may be dropped one inside the other: some hundred bytes of stack each, and what the
/// user's own types take.
const DEPTH: u32 = 32;

thread_local! {
    static DROPPING: Cell<u32> = const { Cell::new(0) };
    /// Values that were met too deep, for the outermost to drop.
    static LATER: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

/// Drops a user's value that a node held: a value, a hook, what was packed. It may hold tensors,
/// and so the nodes before, which hold such things in turn: a chain of another kind, that edges do not show.
pub(crate) fn drop_held<V: 'static>(value: V) {
    let depth = DROPPING.get();
    if depth >= DEPTH {
        // Once a thread has no list any more, it is about to end: there is nothing left that could be deep.
        let mut value = Some(value);
        let kept = LATER.try_with(|later| {
            later
                .borrow_mut()
                .extend(value.take().map(|value| Box::new(value) as Box<dyn Any>));
        });
        debug_assert!(kept.is_err() || value.is_none());
        return;
    }
    let _scope = Scoped::set(&DROPPING, depth + 1);
    drop(value);
    while depth == 0
        && let Some(next) = LATER
            .try_with(|later| later.borrow_mut().pop())
            .ok()
            .flatten()
    {
        drop(next);
    }
}
