//! The nodes that a pass visits, and their gradients.

use std::collections::BinaryHeap;

use crate::tape::{AnyGradient, Node};

/// In place of a slot: the node has no gradient yet, or has run.
pub(super) const NO_SLOT: u32 = u32::MAX;

/// A visit of one node.
pub(super) struct Visit<'g> {
    pub(super) node: &'g Node,
    pub(super) slot: u32,
    pub(super) outputs: u32,
    /// In a pruned pass: whether this node, or one that it depends on, is a target.
    pub(super) needed: bool,
    /// Whether a gradient of one of this node's outputs is a target.
    pub(super) target: bool,
    pub(super) ran: bool,
}

/// The gradients of nodes that have not run; those of one node are contiguous.
#[derive(Default)]
pub(super) struct Slots {
    grads: Vec<Option<AnyGradient>>,
    /// Free slots for nodes of one output, as most are.
    free: Vec<u32>,
}

impl Slots {
    /// Returns a slot for the gradients of a node with this number of outputs.
    #[inline]
    pub(super) fn take(&mut self, outputs: u32) -> u32 {
        if outputs == 1
            && let Some(slot) = self.free.pop()
        {
            return slot;
        }
        let slot = to_u32(self.grads.len());
        for _ in 0..outputs {
            self.grads.push(None);
        }
        slot
    }

    #[inline]
    pub(super) fn give_back(&mut self, slot: u32, outputs: u32) {
        self.get(slot, outputs).fill_with(|| None);
        if outputs == 1 {
            self.free.push(slot);
        }
    }

    /// Returns the gradients of a node's outputs.
    #[inline]
    pub(super) fn get(&mut self, slot: u32, outputs: u32) -> &mut [Option<AnyGradient>] {
        &mut self.grads[slot as usize..][..outputs as usize]
    }
}

/// The queue of nodes to run: sequence number and index of the visit, largest number first.
#[derive(Default)]
pub(super) struct Ready {
    /// The first of all, if it is known: in a chain there is no other. Its number is 0, which no node in the queue has,
    /// if it is not known. Not an `Option` of the pair, which is copied in halves that were not written together.
    first: (u64, u32),
    others: BinaryHeap<(u64, u32)>,
}

impl Ready {
    #[inline]
    pub(super) fn push(&mut self, node: (u64, u32)) {
        debug_assert_ne!(node.0, 0);
        if self.first.0 == 0 {
            if self.others.peek().is_none_or(|other| *other < node) {
                self.first = node;
            } else {
                self.others.push(node);
            }
        } else if self.first > node {
            self.others.push(node);
        } else {
            self.others.push(std::mem::replace(&mut self.first, node));
        }
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<(u64, u32)> {
        if self.first.0 == 0 {
            return self.others.pop();
        }
        Some(std::mem::take(&mut self.first))
    }
}

/// Converts an index of a visit or a slot.
#[inline]
pub(super) fn to_u32(index: usize) -> u32 {
    // INVARIANT: visits of this many nodes would take more than 100 GB.
    u32::try_from(index).expect("fewer than 2^32 nodes in one pass")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_number_is_first() {
        let mut ready = Ready::default();
        let mut model = BinaryHeap::new();
        // A mixture of pushes and pops without a pattern.
        let mut state = 1_u64;
        for index in 0..10_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            if state >> 62 == 0 {
                assert_eq!(ready.pop(), model.pop());
            } else {
                ready.push(((state >> 50) + 1, index));
                model.push(((state >> 50) + 1, index));
            }
        }
        while let Some(node) = model.pop() {
            assert_eq!(ready.pop(), Some(node));
        }
        assert_eq!(ready.pop(), None);
    }
}
