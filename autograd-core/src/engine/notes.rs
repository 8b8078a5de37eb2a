//! What a pass notes on the nodes that it meets.

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
    /// Places that are not in use any more, all without a gradient, by the number of outputs less one.
    free: Vec<Vec<u32>>,
}

impl Slots {
    /// Room for the gradients of a node of so many outputs.
    #[inline]
    pub(super) fn take(&mut self, outputs: u32) -> u32 {
        let free = self.free.get_mut(outputs as usize - 1);
        if let Some(slot) = free.and_then(Vec::pop) {
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
        let size = outputs as usize;
        if self.free.len() < size {
            self.free.resize_with(size, Vec::new);
        }
        self.free[size - 1].push(slot);
    }

    /// The gradients of a node's outputs.
    #[inline]
    pub(super) fn of(&mut self, slot: u32, outputs: u32) -> &mut [Option<AnyGradient>] {
        &mut self.grads[slot as usize..][..outputs as usize]
    }
}

pub(super) fn index(place: usize) -> u32 {
    // Notes on this many nodes would take more than 100 GB.
    u32::try_from(place).expect("fewer than 2^32 nodes in one pass")
}
