//! A pass through one node, as a framework's backward of a call of one function is. There is nothing to order, and a
//! [`Pass`](super::pass::Pass) would take longer than most functions on short tensors.

use super::pass::check;
use super::{anomaly, trace};
use crate::error::Error;
use crate::tape::{AnyGradient, BackwardCall, Edge, HookSlot, Hooking, Node, accumulate};

/// Returns the node of all roots if a pass from there to `targets` runs this node alone: it is no target, each of its edges
/// leads to a node of its own without edges, and nothing follows what happens.
pub(super) fn node_of<'g>(
    roots: &[(&'g Edge, AnyGradient)],
    targets: &[&Edge],
) -> Option<&'g Node> {
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
        && targets.iter().all(|target| target.node != *node)
        && !HookSlot::any_in_use()
        && !anomaly::is_watching()
        && trace::recorder().is_none();
    is_alone.then_some(node)
}

/// Runs `node`, and returns its gradients at `targets`.
pub(super) fn run(
    node: &Node,
    roots: Vec<(&Edge, AnyGradient)>,
    targets: &[&Edge],
    create_graph: bool,
) -> Result<Vec<Option<AnyGradient>>, Error> {
    let mut grads: Vec<_> = node.0.outputs().iter().map(|_| None).collect();
    for (root, grad) in roots {
        accumulate(&mut grads[root.output_nr as usize], grad);
    }
    let edges = node.0.edges();
    let is_target = |edge: &Option<Edge>| edge.as_ref().is_some_and(|edge| targets.contains(&edge));
    let needs: Vec<bool> = edges.iter().map(is_target).collect();
    for (edge, is_needed) in edges.iter().zip(&needs) {
        if let Some(edge) = edge.as_ref().filter(|_| !is_needed) {
            edge.node.0.check_end(&edge.node)?;
        }
    }
    if !needs.contains(&true) {
        node.0.check_end(node)?;
        return Ok(targets.iter().map(|_| None).collect());
    }
    let mut results = backward(node, &mut grads, &needs, create_graph, Hooking::All)?;
    for (input, (edge, grad)) in edges.iter().zip(&results).enumerate() {
        if let (Some(edge), Some(grad)) = (edge, grad) {
            let outputs = edge.node.0.outputs();
            check(node, input, &outputs[edge.output_nr as usize], grad)?;
        }
    }
    let found = targets.iter().map(|target| {
        let place = edges
            .iter()
            .position(|edge| edge.as_ref() == Some(target))?;
        results[place].as_mut().map(AnyGradient::share)
    });
    Ok(found.collect())
}

/// Runs the backward of one node, and returns a result for each of its edges.
pub(super) fn backward(
    node: &Node,
    grads: &mut [Option<AnyGradient>],
    needs: &[bool],
    create_graph: bool,
    hooking: Hooking,
) -> Result<Vec<Option<AnyGradient>>, Error> {
    let mut results: Vec<_> = needs.iter().map(|_| None).collect();
    node.0.backward(BackwardCall {
        node,
        grads,
        needs,
        create_graph,
        results: &mut results,
        hooking,
        retained: &mut Vec::new(),
    })?;
    Ok(results)
}
