//! The node of a map: all examples as one function.

use std::collections::HashSet;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::Stopped;
use super::collect::{Given, Role, gather};
use super::schedule::Turns;
use crate::array::PackedShape;
use crate::engine::gradients_above;
use crate::erased::AnyTensor;
use crate::error::{Error, ErrorKind};
use crate::recorded::set_apart;
use crate::tape::{
    self, BackwardCall, Edge, InternalRule, Node, NoteSaved, Retained, drop_held,
    internal_node_with_outputs,
};
use crate::thread::cleanup;
use autograd_kernels::Shape;

/// What one example recorded.
#[derive(Debug)]
pub(super) struct Example {
    /// The nodes of its inputs, set apart; `None` for one that requires no gradient.
    pub(super) inputs: Vec<Option<Edge>>,
    /// Where gradients of its outputs go; `None` for constants.
    pub(super) outputs: Vec<Option<Edge>>,
}

impl Example {
    /// Calls `visit` with each node of the example, and returns where it leads to beyond: what its function captured.
    fn walk<'e>(&'e self, floor: u64, mut visit: impl FnMut(&'e Node)) -> Vec<&'e Edge> {
        let (mut seen, mut met) = (HashSet::new(), HashSet::new());
        let mut captured = Vec::new();
        let mut pending: Vec<&Edge> = self.outputs.iter().flatten().collect();
        while let Some(edge) = pending.pop() {
            let place = (edge.node.0.address(), edge.output_nr);
            if edge.node.sequence_nr() <= floor {
                if met.insert(place) {
                    captured.push(edge);
                }
            } else if seen.insert(place.0) {
                visit(&edge.node);
                pending.extend(edge.node.0.edges().iter().flatten());
            }
        }
        captured
    }
}

/// The examples of a map while they run.
pub(super) struct Recording {
    /// Their nodes are above it. See Note [Floors] in `tape`.
    floor: u64,
    /// With what each captured.
    each: Vec<OnceLock<(Example, Vec<Edge>)>>,
}

/// What a map of recorded examples is made of.
pub(super) struct Parts {
    /// The inputs that have a part of their own in each example, then the gradients that this map is the derivative
    /// by.
    pub(super) inputs: Vec<Role>,
    /// How many of them are not gradients.
    pub(super) mapped: usize,
    /// Where the gradients of the inputs go.
    pub(super) edges: Vec<Option<Edge>>,
    pub(super) outputs: Vec<Role>,
    /// Whether examples run in order.
    pub(super) ordered: bool,
    pub(super) called_at: &'static Location<'static>,
}

impl Recording {
    pub(super) fn new(floor: u64, count: usize) -> Self {
        let each = (0..count).map(|_| OnceLock::new()).collect();
        Self { floor, each }
    }

    /// Runs an example, or a pass through it.
    pub(super) fn run<R>(&self, body: impl FnOnce() -> R) -> R {
        tape::above(self.floor, body)
    }

    /// Notes what an example recorded.
    pub(super) fn note(&self, place: usize, example: Example) {
        let captured = example.walk(self.floor, |_| {});
        let captured = captured.into_iter().cloned().collect();
        // Each example runs once.
        let _ = self.each[place].set((example, captured));
    }

    /// Attaches the values of the outputs to the node of the map, if they depend on something.
    pub(super) fn attach(self, parts: Parts, values: Given) -> Given {
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
        let map = Map {
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

/// One use of a function on each of many examples. Its inputs are those that have parts of their own and those that
/// the function captured, which all share. Its gradient, where that is recorded, is such a map again.
struct Map {
    inputs: Vec<Role>,
    mapped: usize,
    outputs: Vec<Role>,
    /// `None` once they were freed.
    examples: Mutex<Option<Arc<Examples>>>,
}

impl Map {
    fn examples(&self) -> MutexGuard<'_, Option<Arc<Examples>>> {
        // Nothing panics while the lock is held.
        self.examples.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn input(&self, edge: usize) -> Role {
        self.inputs.get(edge).copied().unwrap_or(Role::Shared)
    }
}

impl InternalRule for Map {
    const NAME: &'static str = "Vmap";

    fn input_name(&self, edge: usize) -> String {
        if edge < self.mapped {
            format!("inputs[{edge}]")
        } else if edge < self.inputs.len() {
            format!("grad_outputs[{}]", edge - self.mapped)
        } else {
            format!("captured[{}]", edge - self.inputs.len())
        }
    }

    fn backward(&self, call: BackwardCall<'_>) -> Result<(), Error> {
        let examples = self.examples().clone();
        let examples = examples.ok_or_else(|| call.node.error(ErrorKind::Freed))?;
        let grads = call.grads.iter_mut();
        let pull = Pull {
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
        let (found, mut retained) = pull.run().map_err(Stopped::into_error)?;
        for (&edge, found) in pull.wanted.iter().zip(found) {
            call.results[edge] = found.map(AnyTensor::into_grad);
        }
        call.retained.append(&mut retained);
        Ok(())
    }

    fn free(&self) {
        let examples = self.examples().take();
        drop_held(examples);
    }

    fn saved(&self, note: &mut NoteSaved<'_>) -> bool {
        let Some(examples) = self.examples().clone() else {
            return false;
        };
        for (place, example) in examples.each.iter().enumerate() {
            example.walk(examples.floor, |node| {
                node.0
                    .saved(&mut |info, name, _| note(info, name, Some(place)));
            });
        }
        true
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // What the examples captured is before them: see `drop_held`.
        drop_held(self.examples().take());
    }
}

/// One backward pass through a map: a pass through each of its examples.
struct Pull<'a> {
    map: &'a Map,
    examples: &'a Examples,
    node: &'a Node,
    /// The edges whose gradients are needed.
    wanted: Vec<usize>,
    seeds: Given,
    create_graph: bool,
}

impl Pull<'_> {
    /// The gradients that are needed, and what tensors within the examples retain.
    fn run(&self) -> Result<(Given, Retained), Stopped> {
        let count = self.examples.each.len();
        let turns = Turns::new(self.examples.ordered);
        let recording = Recording::new(self.examples.floor, count);
        let retained: Vec<OnceLock<Retained>> = (0..count).map(|_| OnceLock::new()).collect();
        let roles: Vec<Role> = self
            .wanted
            .iter()
            .map(|&edge| self.map.input(edge))
            .collect();
        let found = gather(
            &turns,
            count,
            |tensor| roles[tensor],
            |place| {
                let pass = || recording.run(|| self.example(place, &recording));
                // Where examples run in order, what is computed again for one may be for all: it stays until the
                // pass around them ends.
                let (found, kept) = if turns.ordered {
                    pass()?
                } else {
                    cleanup::run_pass(pass)?
                };
                if !kept.is_empty() {
                    // Each example runs once.
                    let _ = retained[place].set(kept);
                }
                Ok(found)
            },
        )?;
        let retained = retained.into_iter().filter_map(OnceLock::into_inner);
        let retained = retained.flatten().collect();
        if !self.create_graph {
            return Ok((found, retained));
        }
        let inputs = [&self.map.inputs[..], &self.map.outputs].concat();
        let own = self.node.0.edges()[..self.map.inputs.len()].iter().cloned();
        let seeds = self.seeds.iter().map(|seed| seed.as_ref()?.edge().cloned());
        let parts = Parts {
            inputs,
            mapped: self.map.mapped,
            edges: own.chain(seeds).collect(),
            outputs: roles,
            ordered: self.examples.ordered,
            called_at: self.node.applied_at(),
        };
        Ok((recording.attach(parts, found), retained))
    }

    /// The gradients of one example.
    fn example(&self, place: usize, recording: &Recording) -> Result<(Given, Retained), Error> {
        let example = &self.examples.each[place];
        let seeds = self.seeds.iter().zip(&self.map.outputs);
        let seeds: Given = seeds
            .map(|(seed, role)| {
                let seed = seed.as_ref()?;
                let part = role.of(seed, place);
                let is_recorded = self.create_graph && seed.edge().is_some();
                Some(if is_recorded {
                    set_apart(&part, false, self.node.applied_at())
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
        let (found, retained) = gradients_above(
            self.examples.floor,
            roots.collect(),
            &targets,
            self.create_graph,
        )?;
        // INVARIANT: an input whose gradient is needed has an edge, in each example too.
        debug_assert_eq!(found.len(), self.wanted.len());
        let found = found.into_iter();
        let found: Given = found.map(|grad| grad.map(AnyTensor::from_grad)).collect();
        if self.create_graph {
            let of_seeds = seeds.iter().map(|seed| seed.as_ref()?.edge().cloned());
            let outputs = found.iter().map(|grad| grad.as_ref()?.edge().cloned());
            let derivative = Example {
                inputs: example.inputs.iter().cloned().chain(of_seeds).collect(),
                outputs: outputs.collect(),
            };
            recording.note(place, derivative);
        }
        let found = found
            .into_iter()
            .map(|grad| Some(Role::Shared.of(&grad?, place)));
        Ok((found.collect(), retained))
    }
}
