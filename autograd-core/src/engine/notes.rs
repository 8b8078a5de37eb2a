//! What a pass notes on the nodes that it meets.

use std::collections::BinaryHeap;

use crate::tape::{AnyGradient, Node};

/// In place of a slot: no gradient has arrived, or the node has run.
pub(super) const NO_SLOT: u32 = u32::MAX;

/// The notes on one node.
pub(super) struct Visit<'g> {
    pub(super) node: &'g Node,
    pub(super) slot: u32,
    pub(super) outputs: u32,
    /// In a pruned pass: a gradient is wanted for this node, or for one behind it.
    pub(super) needed: bool,
    /// A gradient is wanted for one of this node's outputs.
    pub(super) target: bool,
    pub(super) ran: bool,
}

/// The gradients that wait for their nodes' turns: those of one node side by side.
#[derive(Default)]
pub(super) struct Slots {
    grads: Vec<Option<AnyGradient>>,
    /// Places that are not in use any more, each without its gradient: of nodes of one output, as most are.
    free: Vec<u32>,
}

impl Slots {
    /// Room for the gradients of a node of so many outputs.
    #[inline]
    pub(super) fn take(&mut self, outputs: u32) -> u32 {
        if outputs == 1
            && let Some(slot) = self.free.pop()
        {
            return slot;
        }
        let slot = index(self.grads.len());
        for _ in 0..outputs {
            self.grads.push(None);
        }
        slot
    }

    #[inline]
    pub(super) fn give_back(&mut self, slot: u32, outputs: u32) {
        self.of(slot, outputs).fill_with(|| None);
        if outputs == 1 {
            self.free.push(slot);
        }
    }

    /// The gradients of a node's outputs.
    #[inline]
    pub(super) fn of(&mut self, slot: u32, outputs: u32) -> &mut [Option<AnyGradient>] {
        &mut self.grads[slot as usize..][..outputs as usize]
    }
}

/// The nodes that wait: sequence number and place of the notes, largest number first.
#[derive(Default)]
pub(super) struct Ready {
    /// The first of all, if it is known: in a chain no other ever waits.
    first: Option<(u64, u32)>,
    others: BinaryHeap<(u64, u32)>,
}

impl Ready {
    #[inline]
    pub(super) fn push(&mut self, node: (u64, u32)) {
        match self.first {
            Some(first) if first > node => self.others.push(node),
            Some(first) => {
                self.others.push(first);
                self.first = Some(node);
            }
            None if self.others.peek().is_none_or(|other| *other < node) => self.first = Some(node),
            None => self.others.push(node),
        }
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<(u64, u32)> {
        self.first.take().or_else(|| self.others.pop())
    }
}

pub(super) fn index(place: usize) -> u32 {
    // Notes on this many nodes would take more than 100 GB.
    u32::try_from(place).expect("fewer than 2^32 nodes in one pass")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_those_that_wait_comes_first() {
        let mut ready = Ready::default();
        let mut model = BinaryHeap::new();
        // A mixture of pushes and pops without a pattern.
        let mut state = 1_u64;
        for place in 0..10_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            if state >> 62 == 0 {
                assert_eq!(ready.pop(), model.pop());
            } else {
                ready.push((state >> 50, place));
                model.push((state >> 50, place));
            }
        }
        while let Some(node) = model.pop() {
            assert_eq!(ready.pop(), Some(node));
        }
        assert_eq!(ready.pop(), None);
    }
}
