//! One recorded run of a function, and its derivatives by backward passes.

use std::collections::HashSet;
use std::panic::Location;

use super::stack::{Layout, assemble};
use crate::engine::{gradients, lost_tangent, without_tangents};
use crate::erased::AnyTensor;
use crate::error::{Derivative, Error};
use crate::grad_mode::{enable_grad, with_grad_mode};
use crate::tape::{BackwardCall, Edge, Node, OwnRule, own_node};
use autograd_kernels::Shape;

pub(super) struct Recorded {
    /// What the function was called with: the caller's tensors, set apart.
    pub(super) inputs: Vec<AnyTensor>,
    pub(super) outputs: Vec<AnyTensor>,
    pub(super) called_at: &'static Location<'static>,
}

impl Recorded {
    pub(super) fn run(
        function: impl FnOnce(&[AnyTensor]) -> Result<Vec<AnyTensor>, Error>,
        inputs: &[AnyTensor],
        create_graph: bool,
        called_at: &'static Location<'static>,
    ) -> Result<Self, Error> {
        let inputs: Vec<AnyTensor> = inputs
            .iter()
            .map(|input| set_apart(input, create_graph, called_at))
            .collect();
        let outputs = enable_grad(|| function(&inputs))?;
        Ok(Self {
            inputs,
            outputs,
            called_at,
        })
    }

    /// What arrives at each input when each output that has a seed starts with it.
    pub(super) fn pull(
        &self,
        seeds: Vec<Option<AnyTensor>>,
        create_graph: bool,
    ) -> Result<Vec<Option<AnyTensor>>, Error> {
        let roots = self.outputs.iter().zip(seeds);
        let roots = roots.filter_map(|(output, seed)| Some((output, seed?)));
        self.pass(roots.collect(), &self.inputs, create_graph)
    }

    /// The derivative of each output along `tangents`, one for each input: what a backward pass gives is
    /// linear in its seeds, and the derivative of that by the seeds, started with the tangents, is the
    /// product of the Jacobian with them.
    pub(super) fn push(
        &self,
        tangents: &[AnyTensor],
        create_graph: bool,
    ) -> Result<Vec<Option<AnyTensor>>, Error> {
        let outputs = self.outputs.iter();
        let seeds: Vec<AnyTensor> = outputs
            .map(|output| set_apart(&output.zeros(), false, self.called_at))
            .collect();
        let gradients = self.pull(seeds.iter().cloned().map(Some).collect(), true)?;
        let roots = gradients.iter().zip(tangents);
        let roots = roots.filter_map(|(grad, tangent)| Some((grad.as_ref()?, tangent.clone())));
        self.pass(roots.collect(), &seeds, create_graph)
    }

    /// For each output and input, the block of the Jacobian: by one pass for each entry of the output.
    pub(super) fn jacobian(&self, create_graph: bool) -> Result<Vec<Vec<AnyTensor>>, Error> {
        self.outputs
            .iter()
            .map(|output| {
                let rows = (0..output.len()).map(|entry| {
                    let root = vec![(output, output.one_hot(entry))];
                    self.pass(root, &self.inputs, create_graph)
                });
                let rows = rows.collect::<Result<_, _>>()?;
                Ok(row_blocks(rows, output.shape(), &self.inputs, create_graph))
            })
            .collect()
    }

    /// What arrives at `targets` when each root starts with its seed. Nodes save no tangents, so in an
    /// outer run of forward mode what arrives has none.
    fn pass(
        &self,
        roots: Vec<(&AnyTensor, AnyTensor)>,
        targets: &[AnyTensor],
        create_graph: bool,
    ) -> Result<Vec<Option<AnyTensor>>, Error> {
        let levels = roots
            .iter()
            .map(|(root, seed)| root.level().max(seed.level()));
        let level = levels.max().unwrap_or(0);
        let failures = roots
            .iter()
            .flat_map(|(root, seed)| [root, seed].map(|of| of.failure(level)));
        let failure = failures.fold(lost_tangent(create_graph, self.called_at), |one, other| {
            one.and(other)
        });
        let roots = roots
            .into_iter()
            .filter_map(|(root, seed)| Some((root.edge()?, seed.without_tangents().into_grad())));
        let targets: Vec<&Edge> = targets.iter().filter_map(AnyTensor::edge).collect();
        let mut found = gradients(roots.collect(), &targets, create_graph)?;
        if level > 0 {
            found = without_tangents(found, level, &failure);
        }
        let found = found.into_iter();
        Ok(found.map(|grad| grad.map(AnyTensor::from_grad)).collect())
    }

    /// Refuses an output that depends on no input, and an input that no output depends on.
    pub(super) fn check_any(&self, derivative: Derivative) -> Result<(), Error> {
        let depends = self.depends();
        let output = depends.iter().position(|inputs| !inputs.contains(&true));
        let mut inputs = 0..self.inputs.len();
        let input = inputs.find(|&input| !depends.iter().any(|inputs| inputs[input]));
        let (output, input) = match (output, input) {
            (None, None) => return Ok(()),
            (Some(output), _) => (Some(output), None),
            (None, input) => (None, input),
        };
        Err(Error::Independent {
            derivative,
            output,
            input,
        })
    }

    /// Refuses an output that does not depend on each of the inputs.
    pub(super) fn check_each(&self, derivative: Derivative) -> Result<(), Error> {
        for (output, depends) in self.depends().iter().enumerate() {
            if let Some(input) = depends.iter().position(|depends| !depends) {
                return Err(Error::Independent {
                    derivative,
                    output: Some(output),
                    input: Some(input),
                });
            }
        }
        Ok(())
    }

    /// For each output and input, whether a way leads from the one back to the other.
    fn depends(&self) -> Vec<Vec<bool>> {
        let inputs = self.inputs.iter().filter_map(AnyTensor::edge);
        let inputs: Vec<&Node> = inputs.map(|edge| &edge.node).collect();
        let outputs = self.outputs.iter().map(|output| {
            let mut depends = vec![false; inputs.len()];
            let mut seen = HashSet::new();
            let mut pending: Vec<&Node> =
                output.edge().map(|edge| &edge.node).into_iter().collect();
            while let Some(node) = pending.pop() {
                if !seen.insert(node.0.address()) {
                    continue;
                }
                for (depends, input) in depends.iter_mut().zip(&inputs) {
                    *depends |= **input == *node;
                }
                pending.extend(node.0.edges().iter().flatten().map(|edge| &edge.node));
            }
            depends
        });
        outputs.collect()
    }
}

/// The blocks of one output of this shape, from the gradients of all inputs for each of its entries.
pub(super) fn row_blocks(
    rows: Vec<Vec<Option<AnyTensor>>>,
    output: &[usize],
    inputs: &[AnyTensor],
    create_graph: bool,
) -> Vec<AnyTensor> {
    let mut parts: Vec<_> = inputs.iter().map(|_| Vec::new()).collect();
    for row in rows {
        for (parts, part) in parts.iter_mut().zip(row) {
            parts.push(part);
        }
    }
    let blocks = inputs.iter().zip(parts).map(|(input, parts)| {
        let layout = Layout::rows(output, input.shape());
        with_grad_mode(create_graph, || assemble(parts, layout, input))
    });
    blocks.collect()
}

/// The tensor with a node of its own, so that what a function makes of it is told from other uses of the
/// tensor, and nothing is accumulated. With `create_graph` the node leads on to the tensor's history.
pub(super) fn set_apart(
    tensor: &AnyTensor,
    create_graph: bool,
    called_at: &'static Location<'static>,
) -> AnyTensor {
    let edges = [tensor.edge().filter(|_| create_graph).cloned()];
    let edge = own_node(Input, edges, &Shape::from(tensor.shape()), called_at);
    tensor.clone().with_edge(Some(edge))
}

struct Input;

impl OwnRule for Input {
    const NAME: &'static str = "Input";

    fn input_name(&self, _edge: usize) -> String {
        "input".to_owned()
    }

    fn backward(&self, call: BackwardCall<'_>) -> Result<(), Error> {
        call.results[0] = call.grads[0].take();
        Ok(())
    }
}
