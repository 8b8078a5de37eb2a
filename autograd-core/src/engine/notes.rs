//! What a pass notes on the nodes that it meets.

use crate::tape::{AnyGradient, Node};

/// In place of a slot: no gradient has arrived, or the node has run.
pub(super) const NO_SLOT: u32 = u32::MAX;

/// The notes on one node.
pub(super) struct Visit<'g> {
    pub(super) node: &'g Node,
    pub(super) slot: u32,
    /// In a pruned pass: a gradient is wanted for this node, or for one behind it.
    pub(super) needed: bool,
    /// A gradient is wanted for one of this node's outputs.
    pub(super) target: bool,
    pub(super) ran: bool,
}

/// The gradients of one node's outputs.
pub(super) enum Slot {
    One([Option<AnyGradient>; 1]),
    Many(Vec<Option<AnyGradient>>),
}

impl Slot {
    #[inline]
    pub(super) fn for_outputs(count: usize) -> Self {
        if count == 1 {
            Self::One([None])
        } else {
            Self::Many((0..count).map(|_| None).collect())
        }
    }

    #[inline]
    pub(super) fn grads(&mut self) -> &mut [Option<AnyGradient>] {
        match self {
            Self::One(grad) => grad,
            Self::Many(grads) => grads,
        }
    }
}

pub(super) fn index(place: usize) -> u32 {
    // Notes on this many nodes would take more than 100 GB.
    u32::try_from(place).expect("fewer than 2^32 nodes in one pass")
}
