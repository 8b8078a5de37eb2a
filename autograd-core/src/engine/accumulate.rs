//! The end of a pass: gradients go to where they are accumulated.

use super::pass::Pass;
use crate::tape::{AnyGradient, Node, Retained, Undo};

pub(super) fn accumulate_leaf(node: &Node, grad: AnyGradient) {
    if let Some(place) = node.0.accumulated() {
        place.accumulate(grad);
    }
}

/// Writes the gradients and calls the hooks that follow. If one panics, what the pass has written is taken back.
#[cold]
pub(super) fn accumulate_and_follow(pass: &mut Pass<'_>, retained: Retained) {
    let mut arrived = Vec::new();
    pass.leaves(|node, grad| arrived.push((node, grad)));
    let retained = retained.into_iter();
    let mut undo: Vec<Undo> = retained
        .map(|(place, grad)| place.accumulate_unsettled(grad))
        .collect();
    for (node, mut grad) in arrived {
        let place = node.0.accumulated();
        undo.extend(place.map(|place| place.accumulate_unsettled(grad.share())));
        if let Some(hooks) = node.0.hooks() {
            hooks.after_accumulation(node, grad);
        }
    }
    undo.into_iter().for_each(Undo::settle);
}
