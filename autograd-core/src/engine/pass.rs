//! One backward pass: from the roots, in falling order of sequence numbers, to the leaves.
//!
//! # Note [Failure]
//! A pass changes nothing until it has succeeded: nodes lend copies of their saved values, gradients
//! of leaves wait here. A pass that fails or panics is dropped, and everything is as it was.

use std::sync::Arc;

use super::anomaly;
use super::notes::{NO_SLOT, Ready, Slots, Visit, index};
use super::trace::{self, Recorder};
use crate::array::PackedShape;
use crate::error::{Error, ErrorKind};
use crate::tape::{
    AnyGradient, BackwardCall, Edge, HookSlot, Hooking, Node, Places, Retained, accumulate,
};

#[expect(clippy::struct_excessive_bools, reason = "facts of their own")]
pub(super) struct Pass<'g> {
    create_graph: bool,
    /// Whether a node is freed as soon as it has run.
    free_early: bool,
    /// The pass ends at nodes whose numbers are not above it, as it does at leaves, whose number is 0.
    floor: u64,
    /// Whether gradients that are not numbers are errors.
    watching: bool,
    /// Who writes down what the nodes do, if anybody does.
    recorder: Option<Arc<Recorder>>,
    /// Whether [`Pass::prune`] has been through: then only needed nodes are visited.
    pruned: bool,
    visits: Vec<Visit<'g>>,
    /// Where in `visits` each node's notes are. See Note [Marks] in `tape::mark`. A node that a single
    /// edge leads to is in no need of it: the pass comes to it once.
    places: Places,
    slots: Slots,
    /// Places in `visits` of the leaves, where the pass ends, that gradients have arrived for.
    leaves: Vec<u32>,
    ready: Ready,
    /// Gradients for `retain_grad`, with where they are to be written.
    retained: Retained,
    scratch: Scratch,
}

/// Reused from node to node.
#[derive(Default)]
struct Scratch {
    needs: Vec<bool>,
    results: Vec<Option<AnyGradient>>,
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
            places: Places::new(),
            slots: Slots::default(),
            leaves: Vec::new(),
            ready: Ready::default(),
            retained: Vec::new(),
            scratch: Scratch::default(),
        }
    }

    /// A pass through what was recorded above `floor`: see Note [Floors] in `tape`.
    pub(super) fn above(floor: u64, create_graph: bool) -> Self {
        let mut pass = Self::new(create_graph, false);
        pass.floor = floor;
        pass
    }

    /// Restricts the pass, before anything is seeded, to what leads from `roots` to `targets`.
    pub(super) fn prune(&mut self, roots: impl Iterator<Item = &'g Edge>, targets: &[&Edge]) {
        self.pruned = true;
        for root in roots {
            self.place(&root.node);
        }
        let mut order = Vec::new();
        let mut place = 0;
        while let Some(&Visit { node, .. }) = self.visits.get(place) {
            if !self.ends_at(node) {
                order.push((node.sequence_nr(), place));
                for edge in node.0.edges().iter().flatten() {
                    self.place(&edge.node);
                }
            }
            place += 1;
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
            let mut edges = self.visits[place].node.0.edges().iter().flatten();
            if edges.any(|edge| self.needs(&edge.node)) {
                self.visits[place].needed = true;
            }
        }
    }

    /// Hands in a gradient for `edge`, to start with.
    pub(super) fn deliver(&mut self, edge: &'g Edge, grad: AnyGradient) {
        let place = self.place(&edge.node);
        self.put(place, edge, edge.node.0.outputs().len(), grad);
    }

    /// Puts a gradient of one of the outputs of a node where it waits for the node's turn.
    #[inline]
    fn put(&mut self, place: u32, edge: &Edge, outputs: usize, grad: AnyGradient) {
        let visit = &mut self.visits[place as usize];
        if visit.slot == NO_SLOT {
            visit.outputs = index(outputs);
            visit.slot = self.slots.take(visit.outputs);
            if edge.node.sequence_nr() <= self.floor {
                self.leaves.push(place);
            } else {
                self.ready.push((edge.node.sequence_nr(), place));
            }
        }
        let grads = self.slots.of(visit.slot, visit.outputs);
        let sum = &mut grads[edge.output_nr as usize];
        match sum {
            None => *sum = Some(grad),
            Some(_) => accumulate(sum, grad),
        }
    }

    /// Runs every node that waits. `capture` gets the gradients of targets that are not leaves.
    pub(super) fn run(
        &mut self,
        mut capture: impl FnMut(&Node, &mut [Option<AnyGradient>]),
    ) -> Result<(), Error> {
        let recorder = self.recorder.clone();
        while let Some((_, place)) = self.ready.pop() {
            let Visit {
                node,
                slot,
                outputs,
                target,
                ..
            } = self.visits[place as usize];
            let hooking = if target {
                let grads = self.slots.of(slot, outputs);
                call_tensor_hooks(node, grads, self.create_graph, &mut self.retained)?;
                capture(node, grads);
                Hooking::OfNode
            } else {
                Hooking::All
            };
            let edges = node.0.edges();
            self.scratch.results.clear();
            if self.choose(edges) {
                match &recorder {
                    None => self.call(node, (slot, outputs), hooking)?,
                    Some(recorder) => {
                        recorder.turn(node, || {
                            self.call(node, (slot, outputs), hooking)?;
                            Ok::<_, Error>(&self.scratch.results)
                        })?;
                    }
                }
                self.visits[place as usize].ran = true;
                if self.free_early {
                    node.0.free();
                }
            }
            // All that lead to it have run.
            self.places.remove(&node.header().mark);
            self.visits[place as usize].slot = NO_SLOT;
            self.slots.give_back(slot, outputs);
            self.pass_on(node, edges)?;
        }
        Ok(())
    }

    /// Delivers what a node gave along its edges.
    #[inline]
    fn pass_on(&mut self, node: &Node, edges: &'g [Option<Edge>]) -> Result<(), Error> {
        for (input, edge) in edges.iter().enumerate() {
            // There are no results where nothing was to be computed.
            let result = self.scratch.results.get_mut(input);
            let (Some(grad), Some(edge)) = (result.and_then(Option::take), edge) else {
                continue;
            };
            let outputs = edge.node.0.outputs();
            check(node, input, &outputs[edge.output_nr as usize], &grad)?;
            if self.watching {
                anomaly::check(node, input, &grad)?;
            }
            let is_sole = !self.pruned && edge.node.0.is_only();
            let place = if is_sole {
                self.note(&edge.node)
            } else {
                self.place(&edge.node)
            };
            self.put(place, edge, outputs.len(), grad);
        }
        Ok(())
    }

    /// Notes which inputs of a node this pass wants gradients of; whether there are any.
    #[inline]
    fn choose(&mut self, edges: &[Option<Edge>]) -> bool {
        let mut needs = std::mem::take(&mut self.scratch.needs);
        needs.clear();
        needs.extend(edges.iter().map(|edge| {
            edge.as_ref()
                .is_some_and(|edge| !self.pruned || self.needs(&edge.node))
        }));
        let any = needs.contains(&true);
        self.scratch.needs = needs;
        any
    }

    #[inline]
    fn call(
        &mut self,
        node: &'g Node,
        (slot, outputs): (u32, u32),
        hooking: Hooking,
    ) -> Result<(), Error> {
        let Scratch { needs, results } = &mut self.scratch;
        results.resize_with(needs.len(), || None);
        node.0.backward(BackwardCall {
            node,
            grads: self.slots.of(slot, outputs),
            needs,
            create_graph: self.create_graph,
            results,
            hooking,
            retained: &mut self.retained,
        })
    }

    /// Calls the hooks of leaves that come before their gradients are accumulated, or handed back: then
    /// the leaves' nodes do not run, and their prehooks are not called. Whether hooks follow accumulation.
    /// A pass above a floor leaves them to the pass that it is a part of.
    pub(super) fn call_leaf_hooks(&mut self, accumulates: bool) -> Result<bool, Error> {
        let mut followed = false;
        if !HookSlot::any_in_use() || self.floor > 0 {
            return Ok(followed);
        }
        for &place in &self.leaves {
            let Visit { node, slot, .. } = self.visits[place as usize];
            if let Some(hooks) = node.0.hooks() {
                let grads = self.slots.of(slot, 1);
                hooks.call_tensor_hooks(node, grads, self.create_graph)?;
                if accumulates {
                    hooks.call_prehooks(node, grads, self.create_graph)?;
                }
                followed |= hooks.follow_accumulation();
            }
        }
        Ok(followed)
    }

    /// What `retain_grad` asks for.
    pub(super) fn retained(&mut self) -> Retained {
        std::mem::take(&mut self.retained)
    }

    /// Calls `take` with each leaf that a gradient has arrived for.
    pub(super) fn leaves(&mut self, mut take: impl FnMut(&'g Node, AnyGradient)) {
        for &place in &self.leaves {
            let Visit { node, slot, .. } = self.visits[place as usize];
            if let Some(grad) = self.slots.of(slot, 1)[0].take() {
                take(node, grad);
            }
        }
    }

    /// Whether the pass ends there, as at leaves.
    pub(super) fn ends_at(&self, node: &Node) -> bool {
        node.sequence_nr() <= self.floor
    }

    /// The gradient that has arrived where the pass ends.
    pub(super) fn arrived(&mut self, end: &Edge) -> Option<AnyGradient> {
        let Visit { slot, outputs, .. } = self.visits[self.find(&end.node)? as usize];
        if slot == NO_SLOT {
            return None;
        }
        let grads = self.slots.of(slot, outputs);
        grads[end.output_nr as usize]
            .as_mut()
            .map(AnyGradient::share)
    }

    /// Frees what the nodes that ran had saved.
    pub(super) fn free(&mut self) {
        for visit in self.visits.iter().filter(|visit| visit.ran) {
            visit.node.0.free();
        }
    }

    fn needs(&self, node: &Node) -> bool {
        self.find(node)
            .is_some_and(|place| self.visits[place as usize].needed)
    }

    /// The place of the notes on `node`, new ones if it was not met before.
    #[inline]
    fn place(&mut self, node: &'g Node) -> u32 {
        match self.find(node) {
            Some(place) => place,
            None => self.visit(node),
        }
    }

    /// The place of the notes on `node`, if it has been met.
    #[inline]
    fn find(&self, node: &Node) -> Option<u32> {
        self.places.find(&node.header().mark, || node.0.address())
    }

    /// Starts notes on a node that was not met before, and marks it.
    #[inline]
    fn visit(&mut self, node: &'g Node) -> u32 {
        let place = self.note(node);
        self.places
            .set(&node.header().mark, || node.0.address(), place);
        place
    }

    /// Starts notes on a node.
    #[inline]
    fn note(&mut self, node: &'g Node) -> u32 {
        let place = index(self.visits.len());
        self.visits.push(Visit {
            node,
            slot: NO_SLOT,
            outputs: 0,
            needed: false,
            target: false,
            ran: false,
        });
        place
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        for visit in self.visits.iter().filter(|visit| !visit.ran) {
            self.places.remove(&visit.node.header().mark);
        }
    }
}

/// Calls the hooks of the tensors that `node` made, whose gradients are asked for.
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
    hooks.note_retained(grads, retained);
    Ok(())
}

/// A gradient has its input's lengths, to the letter: nothing is broadcast or summed to fit.
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

    /// The nodes that lead to this one, and itself.
    fn behind(node: Node) -> Vec<Node> {
        let next = node.next_functions().into_iter().flatten();
        let mut nodes: Vec<Node> = next.flat_map(behind).collect();
        nodes.push(node);
        nodes
    }

    #[test]
    fn a_pass_leaves_no_mark_however_it_ends() -> Result<(), crate::Error> {
        let [x, y] = [2.0, 3.0].map(|value| Tensor::from(array![value]).set_requires_grad(true));
        let z = ((&x * &y) * &x + &y * &y).sum();
        let nodes = z.grad_fn().map(behind).unwrap_or_default();
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
