//! One backward pass: from the roots, in falling order of sequence numbers, to the leaves.
//!
//! # Note [Failure]
//! A pass changes nothing until it has succeeded: it gets copies of the nodes' saved values, and stores the gradients
//! of leaves. A pass that fails or panics is dropped, and leaves the graph and all gradients unchanged.

use std::sync::Arc;

use super::anomaly;
use super::trace::{self, Recorder};
use super::visits::{NO_SLOT, Ready, Slots, Visit, to_u32};
use crate::array::PackedShape;
use crate::error::{Error, ErrorKind};
use crate::tape::{
    AnyGradient, BackwardCall, Edge, HookSlot, Hooking, Marks, Node, Retained, accumulate,
};

#[expect(clippy::struct_excessive_bools, reason = "facts of their own")]
pub(super) struct Pass<'g> {
    create_graph: bool,
    /// Whether a node is freed as soon as it has run.
    free_early: bool,
    /// The pass ends at nodes whose sequence numbers are not above the floor: see Note [Floors] in `tape`. Leaves have
    /// the number 0.
    floor: u64,
    /// Whether gradients that are not numbers are errors.
    watching: bool,
    /// The trace that the nodes' events are recorded in.
    recorder: Option<Arc<Recorder>>,
    /// Whether [`Pass::prune`] was called: then only needed nodes run.
    pruned: bool,
    visits: Vec<Visit<'g>>,
    /// The index in `visits` of each node. See Note [Marks] in `tape::mark`. A node with a single edge to it is
    /// visited once and has no mark.
    marks: Marks,
    slots: Slots,
    /// The indices in `visits` of the leaves that have a gradient.
    leaves: Vec<u32>,
    ready: Ready,
    /// The gradients for `retain_grad`.
    retained: Retained,
    scratch: Scratch,
}

/// Reused from node to node: an entry for each edge of a node, and unused ones. Their number is not changed for each
/// node: the slice that a node gets would be loaded at once after its length was stored, which stalls.
#[derive(Default)]
struct Scratch {
    needs: Vec<bool>,
    results: Vec<Option<AnyGradient>>,
}

impl Scratch {
    /// Makes entries for this number of edges.
    #[inline]
    fn make_room(&mut self, edges: usize) {
        if self.needs.len() < edges {
            self.needs.resize(edges, false);
            self.results.resize_with(edges, || None);
        }
    }
}

impl<'g> Pass<'g> {
    pub(super) fn new(create_graph: bool, free_early: bool) -> Self {
        Self {
            create_graph,
            free_early,
            floor: 0,
            watching: anomaly::is_watching(),
            recorder: trace::recorder(),
            pruned: false,
            visits: Vec::new(),
            marks: Marks::new(),
            slots: Slots::default(),
            leaves: Vec::new(),
            ready: Ready::default(),
            retained: Vec::new(),
            scratch: Scratch::default(),
        }
    }

    /// Starts a pass through the nodes above `floor`: see Note [Floors] in `tape`.
    pub(super) fn above(floor: u64, create_graph: bool) -> Self {
        let mut pass = Self::new(create_graph, false);
        pass.floor = floor;
        pass
    }

    /// Restricts the pass, before it has gradients, to the nodes on a path from `roots` to `targets`.
    pub(super) fn prune(
        &mut self,
        roots: impl Iterator<Item = &'g Edge>,
        targets: &[&Edge],
    ) -> Result<(), Error> {
        self.pruned = true;
        for root in roots {
            self.index_of(&root.node);
        }
        let (mut order, mut ends) = (Vec::new(), Vec::new());
        let mut index = 0;
        while let Some(&Visit { node, .. }) = self.visits.get(index) {
            if !self.ends_at(node) {
                order.push((node.sequence_nr(), index));
                let mut is_end = true;
                for edge in node.0.edges().iter().flatten() {
                    self.index_of(&edge.node);
                    is_end = false;
                }
                if is_end {
                    ends.push(index);
                }
            }
            index += 1;
        }
        for target in targets {
            if let Some(index) = self.get_index(&target.node) {
                let visit = &mut self.visits[index as usize];
                visit.needed = true;
                visit.target = true;
            }
        }
        for end in ends.into_iter().map(|index| &self.visits[index]) {
            if !end.target {
                end.node.0.check_end(end.node)?;
            }
        }
        // The nodes that a node points to have smaller numbers, so they are decided before it.
        order.sort_unstable();
        for (_, index) in order {
            let mut edges = self.visits[index].node.0.edges().iter().flatten();
            if edges.any(|edge| self.needs(&edge.node)) {
                self.visits[index].needed = true;
            }
        }
        Ok(())
    }

    /// Starts the pass with a gradient at `edge`.
    pub(super) fn seed(&mut self, edge: &'g Edge, grad: AnyGradient) {
        let index = self.index_of(&edge.node);
        self.accumulate(index, edge, edge.node.0.outputs().len(), grad);
    }

    /// Adds a gradient of one of the outputs of a node, and queues the node with its first gradient.
    #[inline]
    fn accumulate(&mut self, index: u32, edge: &Edge, outputs: usize, grad: AnyGradient) {
        let visit = &mut self.visits[index as usize];
        if visit.slot == NO_SLOT {
            visit.outputs = to_u32(outputs);
            visit.slot = self.slots.take(visit.outputs);
            if edge.node.sequence_nr() <= self.floor {
                self.leaves.push(index);
            } else {
                self.ready.push((edge.node.sequence_nr(), index));
            }
        }
        let grads = self.slots.get(visit.slot, visit.outputs);
        let sum = &mut grads[edge.output_nr as usize];
        match sum {
            None => *sum = Some(grad),
            Some(_) => accumulate(sum, grad),
        }
    }

    /// Runs every node that has a gradient. `capture` gets the gradients of targets that are not leaves.
    pub(super) fn run(
        &mut self,
        mut capture: impl FnMut(&Node, &mut [Option<AnyGradient>]),
    ) -> Result<(), Error> {
        let recorder = self.recorder.clone();
        while let Some((_, index)) = self.ready.pop() {
            let Visit {
                node,
                slot,
                outputs,
                target,
                ..
            } = self.visits[index as usize];
            let hooking = if target {
                let grads = self.slots.get(slot, outputs);
                call_tensor_hooks(node, grads, self.create_graph, &mut self.retained)?;
                capture(node, grads);
                Hooking::OfNode
            } else {
                Hooking::All
            };
            let edges = node.0.edges();
            if self.set_needs(edges) {
                let (grads, edges) = ((slot, outputs), edges.len());
                match &recorder {
                    None => self.call(node, grads, edges, hooking)?,
                    Some(recorder) => {
                        recorder.record(node, || {
                            self.call(node, grads, edges, hooking)?;
                            Ok::<_, Error>(&self.scratch.results[..edges])
                        })?;
                    }
                }
                self.visits[index as usize].ran = true;
                if self.free_early {
                    node.0.free();
                }
            } else if !target {
                node.0.check_end(node)?;
            }
            // All nodes with an edge to this one have run.
            self.marks.remove(&node.header().mark);
            self.visits[index as usize].slot = NO_SLOT;
            self.slots.give_back(slot, outputs);
            self.propagate(node, edges)?;
        }
        Ok(())
    }

    /// Checks the gradients that a node computed, and adds them to those of the next nodes.
    #[inline]
    fn propagate(&mut self, node: &Node, edges: &'g [Option<Edge>]) -> Result<(), Error> {
        for (input, edge) in edges.iter().enumerate() {
            let (Some(grad), Some(edge)) = (self.scratch.results[input].take(), edge) else {
                continue;
            };
            let outputs = edge.node.0.outputs();
            check(node, input, &outputs[edge.output_nr as usize], &grad)?;
            if self.watching {
                anomaly::check(node, input, &grad)?;
            }
            let is_sole = !self.pruned && edge.node.0.is_only();
            let index = if is_sole {
                self.insert(&edge.node)
            } else {
                self.index_of(&edge.node)
            };
            self.accumulate(index, edge, outputs.len(), grad);
        }
        Ok(())
    }

    /// Sets which inputs of a node need a gradient in this pass, and returns whether any does. No input has a result.
    #[inline]
    fn set_needs(&mut self, edges: &[Option<Edge>]) -> bool {
        self.scratch.make_room(edges.len());
        let mut any = false;
        for (input, edge) in edges.iter().enumerate() {
            let needed = edge
                .as_ref()
                .is_some_and(|edge| !self.pruned || self.needs(&edge.node));
            self.scratch.needs[input] = needed;
            self.scratch.results[input] = None;
            any |= needed;
        }
        any
    }

    #[inline]
    fn call(
        &mut self,
        node: &'g Node,
        (slot, outputs): (u32, u32),
        edges: usize,
        hooking: Hooking,
    ) -> Result<(), Error> {
        let Scratch { needs, results } = &mut self.scratch;
        node.0.backward(BackwardCall {
            node,
            grads: self.slots.get(slot, outputs),
            needs: &needs[..edges],
            create_graph: self.create_graph,
            results: &mut results[..edges],
            hooking,
            retained: &mut self.retained,
        })
    }

    /// Calls the hooks of leaves before their gradients are accumulated, or returned: then the nodes of the leaves do
    /// not run, and their prehooks are not called. Returns whether there are hooks to call after accumulation. The
    /// hooks of a pass above a floor are called by the pass that contains it.
    pub(super) fn call_leaf_hooks(&mut self, accumulates: bool) -> Result<bool, Error> {
        let mut has_later_hooks = false;
        if !HookSlot::any_in_use() || self.floor > 0 {
            return Ok(has_later_hooks);
        }
        for &index in &self.leaves {
            let Visit { node, slot, .. } = self.visits[index as usize];
            if let Some(hooks) = node.0.hooks() {
                let grads = self.slots.get(slot, 1);
                hooks.call_tensor_hooks(node, grads, self.create_graph)?;
                if accumulates {
                    hooks.call_prehooks(node, grads, self.create_graph)?;
                }
                has_later_hooks |= hooks.follow_accumulation();
            }
        }
        Ok(has_later_hooks)
    }

    /// Copies the gradients of leaves that are in memory of users: no user code runs while they are accumulated, and
    /// what it changes later does not change them.
    pub(super) fn own_leaves(&mut self) {
        for &index in &self.leaves {
            let Visit { slot, .. } = self.visits[index as usize];
            if let Some(grad) = &mut self.slots.get(slot, 1)[0] {
                grad.own_memory();
            }
        }
    }

    /// Takes the gradients for `retain_grad`.
    pub(super) fn take_retained(&mut self) -> Retained {
        std::mem::take(&mut self.retained)
    }

    /// Calls `take` with each leaf that has a gradient.
    pub(super) fn take_leaves(&mut self, mut take: impl FnMut(&'g Node, AnyGradient)) {
        for &index in &self.leaves {
            let Visit { node, slot, .. } = self.visits[index as usize];
            if let Some(grad) = self.slots.get(slot, 1)[0].take() {
                take(node, grad);
            }
        }
    }

    /// Returns whether the pass ends at `node`, as at leaves.
    pub(super) fn ends_at(&self, node: &Node) -> bool {
        node.sequence_nr() <= self.floor
    }

    /// Returns the gradient at an edge to a node at which the pass ends.
    pub(super) fn gradient_at(&mut self, end: &Edge) -> Option<AnyGradient> {
        let Visit { slot, outputs, .. } = self.visits[self.get_index(&end.node)? as usize];
        if slot == NO_SLOT {
            return None;
        }
        let grads = self.slots.get(slot, outputs);
        grads[end.output_nr as usize]
            .as_mut()
            .map(AnyGradient::share)
    }

    /// Frees the saved values of the nodes that ran.
    pub(super) fn free(&mut self) {
        for visit in self.visits.iter().filter(|visit| visit.ran) {
            visit.node.0.free();
        }
    }

    fn needs(&self, node: &Node) -> bool {
        self.get_index(node)
            .is_some_and(|index| self.visits[index as usize].needed)
    }

    /// Returns the index of `node` in `visits`, where it is inserted at the first visit.
    #[inline]
    fn index_of(&mut self, node: &'g Node) -> u32 {
        match self.get_index(node) {
            Some(index) => index,
            None => self.mark(node),
        }
    }

    /// Returns the index of `node` in `visits`, if it was visited.
    #[inline]
    fn get_index(&self, node: &Node) -> Option<u32> {
        self.marks.get(&node.header().mark, || node.0.address())
    }

    /// Inserts a node into `visits`, and marks it with its index.
    #[inline]
    fn mark(&mut self, node: &'g Node) -> u32 {
        let index = self.insert(node);
        self.marks
            .set(&node.header().mark, || node.0.address(), index);
        index
    }

    /// Inserts a node into `visits`.
    #[inline]
    fn insert(&mut self, node: &'g Node) -> u32 {
        let index = to_u32(self.visits.len());
        self.visits.push(Visit {
            node,
            slot: NO_SLOT,
            outputs: 0,
            needed: false,
            target: false,
            ran: false,
        });
        index
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        for visit in self.visits.iter().filter(|visit| !visit.ran) {
            self.marks.remove(&visit.node.header().mark);
        }
    }
}

/// Calls the hooks of the tensors that `node` made, whose gradients are targets.
#[cold]
fn call_tensor_hooks(
    node: &Node,
    grads: &mut [Option<AnyGradient>],
    create_graph: bool,
    retained: &mut Retained,
) -> Result<(), Error> {
    let Some(hooks) = node.0.hooks() else {
        return Ok(());
    };
    hooks.call_tensor_hooks(node, grads, create_graph)?;
    hooks.add_retained(grads, retained);
    Ok(())
}

/// Checks that a gradient has exactly its input's shape: nothing is broadcast or summed to fit.
#[inline]
pub(super) fn check(
    node: &Node,
    input: usize,
    expected: &PackedShape,
    grad: &AnyGradient,
) -> Result<(), Error> {
    if *expected == *grad.shape() {
        return Ok(());
    }
    Err(node.error(ErrorKind::GradientShape {
        input: node.0.input_name(input),
        expected: expected.unpack(),
        found: grad.shape().clone(),
    }))
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use crate::engine::{Backward, Grad};
    use crate::error::ErrorKind;
    use crate::tape::Node;
    use crate::tensor::Tensor;

    /// Returns this node and all nodes that it depends on.
    fn history(node: Node) -> Vec<Node> {
        let next = node.next_functions().into_iter().flatten();
        let mut nodes: Vec<Node> = next.flat_map(history).collect();
        nodes.push(node);
        nodes
    }

    #[test]
    fn a_pass_leaves_no_mark_however_it_ends() -> Result<(), crate::Error> {
        let [x, y] = [2.0, 3.0].map(|value| Tensor::from(array![value]).set_requires_grad(true));
        let z = ((&x * &y) * &x + &y * &y).sum();
        let nodes = z.grad_fn().map(history).unwrap_or_default();
        let all_are_free = || nodes.iter().all(|node| node.header().mark.is_free());
        assert_eq!(nodes.len(), 10);

        Backward::of(&z).retain_graph(true).run()?;
        assert!(all_are_free(), "after a pass to all leaves");
        Grad::of(&z).retain_graph(true).run(&x)?;
        assert!(all_are_free(), "after a pass to one of them");
        z.backward()?;
        assert!(all_are_free(), "after a pass that freed the nodes");
        let error = z.backward().expect_err("the nodes are freed");
        assert!(matches!(error.kind(), ErrorKind::Freed), "{error}");
        assert!(all_are_free(), "after a pass that failed");
        Ok(())
    }
}
