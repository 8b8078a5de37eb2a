//! Letting a graph go without recursion.
//!
//! A node that drops its edges drops the nodes behind them, which drop theirs: a chain of some ten
//! thousand nodes would overflow a thread's stack. Every node therefore hands its edges over here.

use crate::tape::{Edge, Node};

/// Drops `edges` and all that nothing else holds behind them, in a loop.
#[inline]
pub(crate) fn release_edges(edges: &mut [Option<Edge>]) {
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
