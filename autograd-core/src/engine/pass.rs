//! One backward pass: from the roots, in falling order of sequence numbers, to the leaves.
//!
//! # Note [Failure]
//! A pass changes nothing until it has succeeded: nodes lend copies of their saved values, gradients
//! of leaves wait here. A pass that fails or panics is dropped, and everything is as it was.

use std::collections::BinaryHeap;

use super::anomaly;
use crate::error::Error;
use crate::tape::{AnyGradient, BackwardCall, Edge, Node, Places, accumulate};

const NO_SLOT: u32 = u32::MAX;

pub(super) struct Pass<'g> {
    create_graph: bool,
    /// Whether gradients that are not numbers are errors.
    watching: bool,
    /// Whether [`Pass::prune`] has been through: then only needed nodes are visited.
    pruned: bool,
    visits: Vec<Visit<'g>>,
    /// Where in `visits` each node's notes are. See Note [Marks] in `tape::mark`.
    places: Places,
    /// Gradients of nodes that wait for their turn; places are reused.
    slots: Vec<Slot>,
    free_slots: Vec<u32>,
    /// Sequence number and place in `visits` of each node that waits, largest number first.
    ready: BinaryHeap<(u64, u32)>,
    scratch: Scratch,
}

/// The notes on one node.
struct Visit<'g> {
    node: &'g Node,
    slot: u32,
    /// In a pruned pass: a gradient is wanted for this node, or for one behind it.
    needed: bool,
    /// A gradient is wanted for one of this node's outputs.
    target: bool,
    ran: bool,
}

/// The gradients of one node's outputs.
enum Slot {
    One([Option<AnyGradient>; 1]),
    Many(Vec<Option<AnyGradient>>),
}

impl Slot {
    #[inline]
    fn for_outputs(count: usize) -> Self {
        if count == 1 {
            Self::One([None])
        } else {
            Self::Many((0..count).map(|_| None).collect())
        }
    }

    #[inline]
    fn grads(&mut self) -> &mut [Option<AnyGradient>] {
        match self {
            Self::One(grad) => grad,
            Self::Many(grads) => grads,
        }
    }
}

/// Reused from node to node.
#[derive(Default)]
struct Scratch {
    needs: Vec<bool>,
    results: Vec<Option<AnyGradient>>,
}

impl<'g> Pass<'g> {
    pub(super) fn new(create_graph: bool) -> Self {
        Self {
            create_graph,
            watching: anomaly::is_watching(),
            pruned: false,
            visits: Vec::new(),
            places: Places::new(),
            slots: Vec::new(),
            free_slots: Vec::new(),
            ready: BinaryHeap::new(),
            scratch: Scratch::default(),
        }
    }

    /// Restricts the pass, before anything is seeded, to what leads from `roots` to `targets`.
    pub(super) fn prune(&mut self, roots: impl Iterator<Item = &'g Edge>, targets: &[&Edge]) {
        self.pruned = true;
        let mut found: Vec<&'g Node> = roots.map(|edge| &edge.node).collect();
        let mut order = Vec::new();
        while let Some(node) = found.pop() {
            if self.find(node).is_none() {
                order.push((node.sequence_nr(), self.visit(node)));
                found.extend(node.0.edges().iter().flatten().map(|edge| &edge.node));
            }
        }
        for target in targets {
            if let Some(place) = self.find(&target.node) {
                self.visits[place as usize].needed = true;
                self.visits[place as usize].target = true;
            }
        }
        // Whatever a node points to has a smaller number and is decided before it.
        order.sort_unstable();
        for (_, place) in order {
            let node = self.visits[place as usize].node;
            if node
                .0
                .edges()
                .iter()
                .flatten()
                .any(|edge| self.needs(&edge.node))
            {
                self.visits[place as usize].needed = true;
            }
        }
    }

    /// Hands in a gradient for `edge`.
    pub(super) fn deliver(&mut self, edge: &'g Edge, grad: AnyGradient) {
        let node = &edge.node;
        let place = match self.find(node) {
            Some(place) => place,
            None => self.visit(node),
        };
        let visit = &mut self.visits[place as usize];
        if visit.slot == NO_SLOT {
            let slot = Slot::for_outputs(node.0.outputs().len());
            if let Some(reused) = self.free_slots.pop() {
                self.slots[reused as usize] = slot;
                visit.slot = reused;
            } else {
                visit.slot = index(self.slots.len());
                self.slots.push(slot);
            }
            if node.0.as_leaf().is_none() {
                self.ready.push((node.sequence_nr(), place));
            }
        }
        let grads = self.slots[visit.slot as usize].grads();
        accumulate(&mut grads[edge.output_nr as usize], grad);
    }

    /// Runs every node that waits. `capture` gets the gradients of targets that are not leaves.
    pub(super) fn run(
        &mut self,
        mut capture: impl FnMut(&Node, &mut [Option<AnyGradient>]),
    ) -> Result<(), Error> {
        while let Some((_, place)) = self.ready.pop() {
            let Visit {
                node, slot, target, ..
            } = self.visits[place as usize];
            if target {
                capture(node, self.slots[slot as usize].grads());
            }
            self.scratch.results.clear();
            if self.choose(node) {
                self.call(node, slot)?;
                self.visits[place as usize].ran = true;
            }
            self.unmark(node);
            self.visits[place as usize].slot = NO_SLOT;
            self.free_slots.push(slot);
            for input in 0..self.scratch.results.len() {
                if let (Some(grad), Some(edge)) =
                    (self.scratch.results[input].take(), &node.0.edges()[input])
                {
                    check(node, input, edge, &grad)?;
                    if self.watching {
                        anomaly::check(node, input, &grad)?;
                    }
                    self.deliver(edge, grad);
                }
            }
        }
        Ok(())
    }

    /// Notes which inputs of `node` this pass wants gradients of; whether there are any.
    #[inline]
    fn choose(&mut self, node: &'g Node) -> bool {
        let mut needs = std::mem::take(&mut self.scratch.needs);
        needs.clear();
        needs.extend(node.0.edges().iter().map(|edge| {
            edge.as_ref()
                .is_some_and(|edge| !self.pruned || self.needs(&edge.node))
        }));
        let any = needs.contains(&true);
        self.scratch.needs = needs;
        any
    }

    #[inline]
    fn call(&mut self, node: &'g Node, slot: u32) -> Result<(), Error> {
        let Scratch { needs, results } = &mut self.scratch;
        results.resize_with(needs.len(), || None);
        node.0.backward(BackwardCall {
            node,
            grads: self.slots[slot as usize].grads(),
            needs,
            create_graph: self.create_graph,
            results,
        })
    }

    /// Calls `take` with each leaf that a gradient has arrived for.
    pub(super) fn leaves(&mut self, mut take: impl FnMut(&'g Node, AnyGradient)) {
        for visit in &mut self.visits {
            if visit.slot != NO_SLOT
                && let Some(grad) = self.slots[visit.slot as usize].grads()[0].take()
            {
                take(visit.node, grad);
            }
        }
    }

    /// The gradient that has arrived for a leaf.
    pub(super) fn of_leaf(&mut self, leaf: &Node) -> Option<AnyGradient> {
        let slot = self.visits[self.find(leaf)? as usize].slot;
        if slot == NO_SLOT {
            return None;
        }
        self.slots[slot as usize].grads()[0]
            .as_mut()
            .map(AnyGradient::share)
    }

    /// Frees what the nodes that ran had saved.
    pub(super) fn free(&mut self) {
        for visit in self.visits.iter().filter(|visit| visit.ran) {
            visit.node.0.free();
        }
    }

    /// Leaves `node` to other passes: all that lead to it have run.
    #[inline]
    fn unmark(&self, node: &Node) {
        self.places.remove(&node.0.header().mark);
    }

    fn needs(&self, node: &Node) -> bool {
        self.find(node)
            .is_some_and(|place| self.visits[place as usize].needed)
    }

    /// The place of the notes on `node`, if it has been met.
    #[inline]
    fn find(&self, node: &Node) -> Option<u32> {
        self.places.find(&node.0.header().mark, || address(node))
    }

    /// Starts notes on a node that was not met before.
    #[inline]
    fn visit(&mut self, node: &'g Node) -> u32 {
        let place = index(self.visits.len());
        self.visits.push(Visit {
            node,
            slot: NO_SLOT,
            needed: false,
            target: false,
            ran: false,
        });
        self.places
            .set(&node.0.header().mark, || address(node), place);
        place
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        for visit in self.visits.iter().filter(|visit| !visit.ran) {
            self.unmark(visit.node);
        }
    }
}

/// A gradient has its input's lengths, to the letter: nothing is broadcast or summed to fit.
#[inline]
fn check(node: &Node, input: usize, edge: &Edge, grad: &AnyGradient) -> Result<(), Error> {
    let expected = &edge.node.0.outputs()[edge.output_nr as usize];
    if *expected == *grad.shape() {
        return Ok(());
    }
    Err(Error::GradientShape {
        function: node.name(),
        input: node.0.input_name(input),
        expected: expected.unpack(),
        found: grad.shape().clone(),
        applied_at: node.applied_at(),
    })
}

fn address(node: &Node) -> usize {
    std::sync::Arc::as_ptr(&node.0).addr()
}

fn index(place: usize) -> u32 {
    // Notes on this many nodes would take more than 100 GB.
    u32::try_from(place).expect("fewer than 2^32 nodes in one pass")
}
