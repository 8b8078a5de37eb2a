//! A pass through one node, as a framework's backward of a call of one function is. There is nothing to order, and a
//! [`Pass`](super::pass::Pass) would take longer than most functions on short tensors.

use super::anomaly;
use super::pass::check;
use super::trace;
use crate::error::Error;
use crate::tape::{AnyGradient, BackwardCall, Edge, HookSlot, Hooking, Node, accumulate};

/// Returns the node of all roots if a pass that starts there runs this node alone: each of its edges leads to a node of its
/// own without edges, and nothing follows what happens.
pub(super) fn node_of<'g>(roots: &[(&'g Edge, AnyGradient)]) -> Option<&'g Node> {
    let node = &roots.first()?.0.node;
    let edges = node.0.edges();
    let leads_to_ends = edges.iter().enumerate().all(|(place, edge)| {
        let Some(edge) = edge else { return true };
        let mut before = edges[..place].iter().flatten();
        edge.node.0.edges().iter().all(Option::is_none)
            && before.all(|other| other.node != edge.node)
    });
    let is_alone = leads_to_ends
        && edges.iter().any(Option::is_some)
        && roots.iter().all(|(root, _)| root.node == *node)
        && !HookSlot::any_in_use()
        && !anomaly::is_watching()
        && trace::recorder().is_none();
    is_alone.then_some(node)
}

/// Runs `node`, and returns its gradients at `targets`, which are nodes without edges.
pub(super) fn run(
    node: &Node,
    roots: Vec<(&Edge, AnyGradient)>,
    targets: &[&Edge],
    create_graph: bool,
) -> Result<Vec<Option<AnyGradient>>, Error> {
    let none = || None;
    let mut grads = Vec::new();
    grads.resize_with(node.0.outputs().len(), none);
    for (root, grad) in roots {
        match &mut grads[root.output_nr as usize] {
            sum @ None => *sum = Some(grad),
            sum => accumulate(sum, grad),
        }
    }
    let edges = node.0.edges();
    let mut needs = Vec::with_capacity(edges.len());
    for edge in edges {
        let is_target = |edge: &Edge| targets.iter().any(|target| is_same(edge, target));
        let needed = edge.as_ref().is_some_and(is_target);
        if let Some(edge) = edge.as_ref().filter(|_| !needed) {
            edge.node.0.check_end(&edge.node)?;
        }
        needs.push(needed);
    }
    let mut results = Vec::new();
    results.resize_with(edges.len(), none);
    if needs.contains(&true) {
        node.0.backward(BackwardCall {
            node,
            grads: &mut grads,
            needs: &needs,
            create_graph,
            results: &mut results,
            hooking: Hooking::All,
            retained: &mut Vec::new(),
        })?;
    } else {
        node.0.check_end(node)?;
    }
    for (input, (edge, grad)) in edges.iter().zip(&results).enumerate() {
        if let (Some(edge), Some(grad)) = (edge, grad) {
            let outputs = edge.node.0.outputs();
            check(node, input, &outputs[edge.output_nr as usize], grad)?;
        }
    }
    let found = targets.iter().map(|target| {
        let leads_there =
            |edge: &Option<Edge>| edge.as_ref().is_some_and(|edge| is_same(edge, target));
        let place = edges.iter().position(leads_there)?;
        results[place].as_mut().map(AnyGradient::share)
    });
    Ok(found.collect())
}

fn is_same(edge: &Edge, other: &Edge) -> bool {
    edge.node == other.node && edge.output_nr == other.output_nr
}
