//! The end of a pass: its gradients are accumulated.

use super::pass::Pass;
use crate::tape::{AnyGradient, Node, Retained, Undo};

pub(super) fn accumulate_leaf(node: &Node, grad: AnyGradient) {
    if let Some(accumulated) = node.0.accumulated() {
        accumulated.accumulate(grad);
    }
}

/// Accumulates the gradients and calls the hooks after it. If a hook panics, the pass's gradients are removed again.
#[cold]
pub(super) fn accumulate_and_call_hooks(pass: &mut Pass<'_>, retained: Retained) {
    let mut leaves = Vec::new();
    pass.take_leaves(|node, grad| leaves.push((node, grad)));
    let retained = retained.into_iter();
    let mut undo: Vec<Undo> = retained
        .map(|(accumulated, grad)| accumulated.accumulate_unsettled(grad))
        .collect();
    for (node, mut grad) in leaves {
        let accumulated = node.0.accumulated();
        undo.extend(accumulated.map(|accumulated| accumulated.accumulate_unsettled(grad.share())));
        if let Some(hooks) = node.0.hooks() {
            hooks.after_accumulation(node, grad);
        }
    }
    undo.into_iter().for_each(Undo::settle);
}
