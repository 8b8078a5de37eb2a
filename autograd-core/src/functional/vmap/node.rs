//! The node of a `vmap`: all its examples as one function.

use std::collections::HashSet;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::collect::{BatchAxis, Results, collect, part};
use super::error::VmapError;
use super::schedule::Schedule;
use crate::array::PackedShape;
use crate::engine::gradients_above;
use crate::erased::AnyTensor;
use crate::error::panic::caught;
use crate::error::{Error, ErrorKind};
use crate::tape::{
    self, BackwardCall, Edge, InternalRule, Node, NoteSaved, Retained, drop_held, internal_node,
    internal_node_with_outputs,
};
use crate::thread::cleanup;
use crate::thread::examples::{ExampleId, in_example, is_in_example};
use autograd_kernels::Shape;

/// The edges into and out of the nodes that one example recorded.
#[derive(Debug)]
pub(super) struct Example {
    /// The edges to the example's own input nodes; `None` for an input that requires no gradient.
    pub(super) inputs: Vec<Option<Edge>>,
    /// The edges to the nodes of its outputs; `None` for constants.
    pub(super) outputs: Vec<Option<Edge>>,
}

impl Example {
    /// Calls `visit` with each node of the example, and returns the edges out of it, to captured tensors.
    fn walk<'e>(&'e self, floor: u64, mut visit: impl FnMut(&'e Node)) -> Vec<&'e Edge> {
        let (mut seen, mut met) = (HashSet::new(), HashSet::new());
        let mut captured = Vec::new();
        let mut pending: Vec<&Edge> = self.outputs.iter().flatten().collect();
        while let Some(edge) = pending.pop() {
            let address = edge.node.0.address();
            if edge.node.sequence_nr() <= floor {
                if met.insert((address, edge.output_nr)) {
                    captured.push(edge);
                }
            } else if seen.insert(address) {
                visit(&edge.node);
                pending.extend(edge.node.0.edges().iter().flatten());
            }
        }
        captured
    }
}

/// Gives a part of the batch a node, at which the history of its example ends. See Note [Maps].
#[inline]
pub(super) fn example_input(
    part: AnyTensor,
    id: ExampleId,
    called_at: &'static Location<'static>,
) -> AnyTensor {
    let edge = internal_node(
        ExampleInput(id),
        [None],
        &Shape::from(part.shape()),
        called_at,
    );
    part.with_edge(Some(edge))
}

struct ExampleInput(ExampleId);

impl InternalRule for ExampleInput {
    const NAME: &'static str = "Input";

    #[inline]
    fn input_name(&self, _edge: usize) -> String {
        "input".to_owned()
    }

    #[inline]
    fn backward(&self, _call: BackwardCall<'_>) -> Result<(), Error> {
        Ok(())
    }

    #[inline]
    fn check_end(&self, node: &Node) -> Result<(), Error> {
        if is_in_example(self.0) {
            return Ok(());
        }
        let example = self.0.example;
        Err(ErrorKind::LeftExample { example }.at(node.applied_at()))
    }
}

/// The examples of a map, each set when it has run.
pub(super) struct ExampleRecords {
    /// The examples' nodes are above this floor. See Note [Floors] in `tape`.
    floor: u64,
    /// Each example with the edges to what it captured.
    each: Vec<OnceLock<(Example, Vec<Edge>)>>,
}

/// The names of a map that is a function's `apply_batch`.
pub(super) struct Names {
    pub(super) function: &'static str,
    /// Those of the mapped inputs.
    pub(super) mapped: Vec<String>,
    /// Those of tensors that the examples share, by the nodes and output numbers of their edges.
    pub(super) shared: Vec<((usize, u32), String)>,
}

impl Names {
    /// Returns what identifies an edge while its tensor is held.
    #[inline]
    pub(super) fn key(edge: &Edge) -> (usize, u32) {
        (edge.node.0.address(), edge.output_nr)
    }

    /// Returns the names of captured tensors.
    fn of_captured<'e>(
        &self,
        edges: impl Iterator<Item = &'e Option<Edge>>,
    ) -> Vec<Option<String>> {
        let name = |edge: &Option<Edge>| {
            let key = Self::key(edge.as_ref()?);
            let named = self.shared.iter().find(|(shared, _)| *shared == key);
            named.map(|(_, name)| name.clone())
        };
        edges.map(name).collect()
    }
}

/// The names of a node.
struct NodeNames {
    function: &'static str,
    mapped: Vec<String>,
    captured: Vec<Option<String>>,
}

/// The parts of a node beside its examples.
pub(super) struct NodeParts {
    /// The mapped inputs, then the `grad_outputs` if this map is a derivative.
    pub(super) inputs: Vec<BatchAxis>,
    /// The number of mapped inputs.
    pub(super) mapped: usize,
    /// The edges of `inputs`.
    pub(super) edges: Vec<Option<Edge>>,
    pub(super) outputs: Vec<BatchAxis>,
    /// Whether examples run in order.
    pub(super) ordered: bool,
    /// `None` for the map of a closure.
    pub(super) names: Option<Names>,
    pub(super) called_at: &'static Location<'static>,
}

impl ExampleRecords {
    #[inline]
    pub(super) fn new(floor: u64, count: usize) -> Self {
        let each = (0..count).map(|_| OnceLock::new()).collect();
        Self { floor, each }
    }

    /// Returns the identity of an example.
    #[inline]
    pub(super) fn id(&self, index: usize) -> ExampleId {
        ExampleId {
            map: self.floor,
            example: index,
        }
    }

    /// Runs an example, or a pass through it, with its nodes above the floor.
    pub(super) fn record<R>(&self, body: impl FnOnce() -> R) -> R {
        tape::above(self.floor, body)
    }

    /// Inserts an example that has run.
    #[inline]
    pub(super) fn insert(&self, index: usize, example: Example) {
        let captured = example.walk(self.floor, |_| {});
        let captured = captured.into_iter().cloned().collect();
        // Each example runs once.
        let _ = self.each[index].set((example, captured));
    }

    /// Makes the node of the map and attaches the values of the outputs to it; those that depend on no leaf stay
    /// constants.
    #[inline]
    pub(super) fn attach(self, parts: NodeParts, values: Results) -> Results {
        let (mut examples, mut edges) = (Vec::new(), parts.edges);
        let mut has_history = vec![false; values.len()];
        let mut met = HashSet::new();
        for (example, captured) in self.each.into_iter().filter_map(OnceLock::into_inner) {
            for (has_history, output) in has_history.iter_mut().zip(&example.outputs) {
                *has_history |= output.is_some();
            }
            for edge in captured {
                if met.insert((edge.node.0.address(), edge.output_nr)) {
                    edges.push(Some(edge));
                }
            }
            examples.push(example);
        }
        if !has_history.contains(&true) {
            return values;
        }
        let shape = |value: &Option<AnyTensor>| {
            let shape = value.as_ref().map_or(&[][..], AnyTensor::shape);
            PackedShape::from(&Shape::from(shape))
        };
        let shapes: Box<[PackedShape]> = values.iter().map(shape).collect();
        let examples = Examples {
            floor: self.floor,
            ordered: parts.ordered,
            each: examples,
        };
        let inputs = parts.inputs.len();
        let names = parts.names.map(|names| NodeNames {
            function: names.function,
            captured: names.of_captured(edges.iter().skip(inputs)),
            mapped: names.mapped,
        });
        let map = VmapNode {
            names,
            inputs: parts.inputs,
            mapped: parts.mapped,
            outputs: parts.outputs,
            examples: Mutex::new(Some(Arc::new(examples))),
        };
        let node =
            internal_node_with_outputs(map, edges.into_boxed_slice(), shapes, parts.called_at);
        let values = (0..).zip(values).zip(has_history);
        values
            .map(|((output_nr, value), has_history)| {
                let node = node.clone();
                let edge = has_history.then_some(Edge { node, output_nr });
                Some(value?.with_edge(edge))
            })
            .collect()
    }
}

#[derive(Debug)]
struct Examples {
    floor: u64,
    ordered: bool,
    each: Vec<Example>,
}

/// One use of a function on each of many examples. Its inputs are `inputs`, which have a batch axis, and then the
/// captured tensors, which all examples share. Its gradient under `create_graph` is such a node again.
struct VmapNode {
    names: Option<NodeNames>,
    inputs: Vec<BatchAxis>,
    mapped: usize,
    outputs: Vec<BatchAxis>,
    /// `None` after they were freed.
    examples: Mutex<Option<Arc<Examples>>>,
}

impl VmapNode {
    #[inline]
    fn examples(&self) -> MutexGuard<'_, Option<Arc<Examples>>> {
        // Nothing panics while the lock is held.
        self.examples.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the name of an input that has one.
    #[inline]
    fn named(&self, edge: usize) -> Option<&String> {
        let names = self.names.as_ref()?;
        if edge < self.mapped {
            return names.mapped.get(edge);
        }
        names
            .captured
            .get(edge.checked_sub(self.inputs.len())?)?
            .as_ref()
    }

    /// Returns the batch axis of the input at an edge.
    #[inline]
    fn axis(&self, edge: usize) -> BatchAxis {
        self.inputs.get(edge).copied().flatten()
    }
}

impl InternalRule for VmapNode {
    const NAME: &'static str = "Vmap";

    #[inline]
    fn name(&self) -> &'static str {
        self.names
            .as_ref()
            .map_or(Self::NAME, |names| names.function)
    }

    #[inline]
    fn input_name(&self, edge: usize) -> String {
        if let Some(name) = self.named(edge) {
            name.clone()
        } else if edge < self.mapped {
            format!("inputs[{edge}]")
        } else if edge < self.inputs.len() {
            format!("grad_outputs[{}]", edge - self.mapped)
        } else {
            format!("captured[{}]", edge - self.inputs.len())
        }
    }

    #[inline]
    fn backward(&self, call: BackwardCall<'_>) -> Result<(), Error> {
        let examples = self.examples().clone();
        let examples = examples.ok_or_else(|| call.node.error(ErrorKind::Freed))?;
        let grads = call.grads.iter_mut();
        let pass = VmapBackward {
            map: self,
            examples: &examples,
            node: call.node,
            wanted: (0..call.needs.len())
                .filter(|&edge| call.needs[edge])
                .collect(),
            seeds: grads
                .map(|grad| Some(AnyTensor::from_grad(grad.take()?)))
                .collect(),
            create_graph: call.create_graph,
        };
        let (found, mut retained) = pass.run().map_err(VmapError::into_error)?;
        for (&edge, found) in pass.wanted.iter().zip(found) {
            call.results[edge] = found.map(AnyTensor::into_grad);
        }
        call.retained.append(&mut retained);
        Ok(())
    }

    #[inline]
    fn free(&self) {
        let examples = self.examples().take();
        drop_held(examples);
    }

    #[inline]
    fn saved(&self, note: &mut NoteSaved<'_>) -> bool {
        let Some(examples) = self.examples().clone() else {
            return false;
        };
        for (index, example) in examples.each.iter().enumerate() {
            example.walk(examples.floor, |node| {
                node.0
                    .saved(&mut |info, name, _| note(info, name, Some(index)));
            });
        }
        true
    }
}

impl Drop for VmapNode {
    #[inline]
    fn drop(&mut self) {
        // The captured tensors may have long histories: see `drop_held`.
        drop_held(self.examples().take());
    }
}

/// One backward pass through a map: a pass through each of its examples.
struct VmapBackward<'a> {
    map: &'a VmapNode,
    examples: &'a Examples,
    node: &'a Node,
    /// The edges whose gradients are needed.
    wanted: Vec<usize>,
    seeds: Results,
    create_graph: bool,
}

impl VmapBackward<'_> {
    /// Returns the needed gradients, and the gradients that tensors within the examples retain.
    #[inline]
    fn run(&self) -> Result<(Results, Retained), VmapError> {
        let count = self.examples.each.len();
        let schedule = Schedule::new(self.examples.ordered);
        let records = ExampleRecords::new(self.examples.floor, count);
        let retained: Vec<OnceLock<Retained>> = (0..count).map(|_| OnceLock::new()).collect();
        let wanted = self.wanted.iter();
        let axes: Vec<BatchAxis> = wanted.map(|&edge| self.map.axis(edge)).collect();
        let axis = |tensor: usize| axes[tensor];
        let found = collect(&schedule, count, &axis, &|index| {
            let pass = || records.record(|| self.example(index, &records));
            // Examples that run in order may share what a checkpoint recomputes: it stays until the pass around
            // them ends.
            let run = || {
                if schedule.ordered {
                    pass()
                } else {
                    cleanup::run_pass(pass)
                }
            };
            let (found, kept) = self.naming(index, run)?;
            if !kept.is_empty() {
                // Each example runs once.
                let _ = retained[index].set(kept);
            }
            Ok(found)
        })?;
        let retained = retained.into_iter().filter_map(OnceLock::into_inner);
        let retained = retained.flatten().collect();
        if !self.create_graph {
            return Ok((found, retained));
        }
        let inputs = [&self.map.inputs[..], &self.map.outputs].concat();
        let own = self.node.0.edges()[..self.map.inputs.len()].iter().cloned();
        let seeds = self.seeds.iter().map(|seed| seed.as_ref()?.edge().cloned());
        let parts = NodeParts {
            inputs,
            mapped: self.map.mapped,
            edges: own.chain(seeds).collect(),
            outputs: axes,
            ordered: self.examples.ordered,
            names: self.names(),
            called_at: self.node.applied_at(),
        };
        Ok((records.attach(parts, found), retained))
    }

    /// Returns the names for the node of the derivative.
    #[inline]
    fn names(&self) -> Option<Names> {
        let names = self.map.names.as_ref()?;
        let captured = self.node.0.edges().iter().skip(self.map.inputs.len());
        let shared = captured.zip(&names.captured);
        let shared = shared.filter_map(|(edge, name)| {
            let key = Names::key(edge.as_ref()?);
            Some((key, name.clone()?))
        });
        Some(Names {
            function: names.function,
            mapped: names.mapped.clone(),
            shared: shared.collect(),
        })
    }

    /// Runs the pass through an example. Its error or panic is passed on with the example, if the map is that of a
    /// function.
    fn naming<R>(&self, index: usize, pass: impl FnOnce() -> Result<R, Error>) -> Result<R, Error> {
        let Some(NodeNames { function, .. }) = self.map.names else {
            return pass();
        };
        match caught(pass) {
            Ok(result) => {
                let at = self.node.applied_at();
                result.map_err(|error| error.of_example(index, function, at))
            }
            Err(panic) => panic.pass_on_later(&format_args!("example {index} of `{function}`")),
        }
    }

    /// Returns the gradients of one example.
    #[inline]
    fn example(
        &self,
        index: usize,
        records: &ExampleRecords,
    ) -> Result<(Results, Retained), Error> {
        let example = &self.examples.each[index];
        let seeds = self.seeds.iter().zip(&self.map.outputs);
        let seeds: Results = seeds
            .map(|(seed, axis)| {
                let seed = seed.as_ref()?;
                let part = part(seed, *axis, index);
                let is_recorded = self.create_graph && seed.edge().is_some();
                Some(if is_recorded {
                    example_input(part, records.id(index), self.node.applied_at())
                } else {
                    part
                })
            })
            .collect();
        let roots = example.outputs.iter().zip(&seeds);
        let roots =
            roots.filter_map(|(edge, seed)| Some((edge.as_ref()?, seed.clone()?.into_grad())));
        let targets: Vec<&Edge> = self
            .wanted
            .iter()
            .filter_map(|&edge| match example.inputs.get(edge) {
                Some(input) => input.as_ref(),
                None => self.node.0.edges()[edge].as_ref(),
            })
            .collect();
        let roots = roots.collect();
        let (found, retained) = in_example(records.id(index), || {
            gradients_above(self.examples.floor, roots, &targets, self.create_graph)
        })?;
        // INVARIANT: an input whose gradient is needed has an edge, in each example too.
        debug_assert_eq!(found.len(), self.wanted.len());
        let found = found.into_iter();
        let found: Results = found.map(|grad| grad.map(AnyTensor::from_grad)).collect();
        if self.create_graph {
            let of_seeds = seeds.iter().map(|seed| seed.as_ref()?.edge().cloned());
            let outputs = found.iter().map(|grad| grad.as_ref()?.edge().cloned());
            let derivative = Example {
                inputs: example.inputs.iter().cloned().chain(of_seeds).collect(),
                outputs: outputs.collect(),
            };
            records.insert(index, derivative);
        }
        let found = found
            .into_iter()
            .map(|grad| grad.map(AnyTensor::into_constant));
        Ok((found.collect(), retained))
    }
}
