//! Where gradients arrive: in leaves, and in computed tensors that retain theirs.

use super::pass::Pass;
use crate::tape::{AnyGradient, Node, accumulate};
use crate::tape::{Retained, lock_retained};

pub(super) fn accumulate_leaf(node: &Node, grad: AnyGradient) {
    if let Some(leaf) = node.0.as_leaf() {
        leaf.accumulate(grad);
    }
}

pub(super) fn accumulate_retained((place, grad): (Retained, AnyGradient)) {
    accumulate(&mut lock_retained(&place), grad);
}

/// Writes the gradients and calls the hooks that follow. If one panics, all gradients are as they were.
#[cold]
pub(super) fn accumulate_and_follow(pass: &mut Pass<'_>, retained: Vec<(Retained, AnyGradient)>) {
    let mut arrived = Vec::new();
    pass.leaves(|node, grad| arrived.push((node, grad)));
    let mut undo = Undo {
        leaves: arrived.iter().map(|(node, _)| former(node)).collect(),
        retained: retained
            .iter()
            .map(|(place, _)| (place.clone(), lock_retained(place).clone()))
            .collect(),
    };
    retained.into_iter().for_each(accumulate_retained);
    for (node, mut grad) in arrived {
        accumulate_leaf(node, grad.share());
        if let Some(hooks) = node.0.hooks() {
            hooks.after_accumulation(node, grad);
        }
    }
    undo.leaves.clear();
    undo.retained.clear();
}

/// Puts gradients back when it is dropped.
struct Undo {
    leaves: Vec<(Node, Option<AnyGradient>)>,
    retained: Vec<(Retained, Option<AnyGradient>)>,
}

fn former(node: &Node) -> (Node, Option<AnyGradient>) {
    let grad = match node.0.as_leaf() {
        Some(leaf) => leaf.accumulated(),
        None => None,
    };
    (node.clone(), grad)
}

impl Drop for Undo {
    fn drop(&mut self) {
        for (node, former) in self.leaves.drain(..) {
            if let Some(leaf) = node.0.as_leaf() {
                leaf.restore(former);
            }
        }
        for (place, former) in self.retained.drain(..) {
            let replaced = std::mem::replace(&mut *lock_retained(&place), former);
            drop(replaced);
        }
    }
}
