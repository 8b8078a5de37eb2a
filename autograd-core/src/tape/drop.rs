//! Dropping a graph without recursion.
//!
//! A node that drops its edges drops the nodes that they lead to, which drop their edges: a chain of some ten thousand
//! nodes would overflow a thread's stack. Every node therefore drops its edges by [`drop_edges`].

use std::any::Any;
use std::cell::{Cell, RefCell};

use crate::tape::{Edge, Node};
use crate::thread::Scoped;

/// Drops `edges` and all nodes that nothing else holds, in a loop.
#[inline]
pub(crate) fn drop_edges(edges: &mut [Option<Edge>]) {
    // A chain needs no more than `next`; only nodes with several inputs need memory.
    let mut next = None;
    let mut pending = Vec::new();
    take(edges, &mut next, &mut pending);
    while let Some(mut node) = next.take().or_else(|| pending.pop()) {
        // When two threads drop the last two handles at once, `get_mut` may fail on both. Dropping the handle then
        // drops the node, which starts a new loop.
        if let Some(node) = node.0.get_mut() {
            take(node.edges_mut(), &mut next, &mut pending);
        }
    }
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "a fifth of dropping a chain")]
fn take(edges: &mut [Option<Edge>], next: &mut Option<Node>, pending: &mut Vec<Node>) {
    for Edge { node, .. } in edges.iter_mut().filter_map(Option::take) {
        // Another handle holds the node.
        if !node.0.is_only() {
            continue;
        }
        match next {
            None => *next = Some(node),
            Some(_) => pending.push(node),
        }
    }
}

/// The largest number of nested drops: each takes some hundred bytes of stack, and what the user's types take.
const DEPTH: u32 = 32;

thread_local! {
    static DROPPING: Cell<u32> = const { Cell::new(0) };
    /// Values below that depth, for the outermost call to drop.
    static LATER: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

/// Drops an object of a user that a node held: a value, a hook, a packed tensor. Such an object may hold tensors, whose
/// nodes hold such objects: a chain without edges.
pub(crate) fn drop_held<V: 'static>(value: V) {
    let depth = DROPPING.get();
    if depth >= DEPTH {
        // Without a list the thread is ending, and nothing is nested any more.
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
