//! Recordings: the tape of one call of a function, and its derivatives by backward passes.

use std::panic::Location;

use crate::engine::{LostTangents, gradients};
use crate::erased::AnyTensor;
use crate::error::{Error, ErrorKind};
use crate::tape::{BackwardCall, Edge, Failure, InternalRule, internal_node};
use crate::thread::enable_grad;
use autograd_kernels::Shape;

/// The tape of one call of a function, with its inputs and outputs.
pub(crate) struct Recording {
    /// The caller's tensors, each with an input node.
    pub(crate) inputs: Vec<AnyTensor>,
    pub(crate) outputs: Vec<AnyTensor>,
    pub(crate) called_at: &'static Location<'static>,
}

impl Recording {
    /// Calls `function` and records it. With `create_graph`, the outputs also depend on the history of `inputs`.
    pub(crate) fn of(
        function: impl FnOnce(&[AnyTensor]) -> Result<Vec<AnyTensor>, Error>,
        inputs: &[AnyTensor],
        create_graph: bool,
        called_at: &'static Location<'static>,
    ) -> Result<Self, Error> {
        let inputs = as_inputs(inputs, create_graph, called_at);
        let outputs = enable_grad(|| function(&inputs))?;
        Ok(Self {
            inputs,
            outputs,
            called_at,
        })
    }

    /// Returns the gradient of each input for the seeds of the outputs.
    pub(crate) fn vjp(
        &self,
        seeds: Vec<Option<AnyTensor>>,
        create_graph: bool,
    ) -> Result<Vec<Option<AnyTensor>>, Error> {
        let roots = self.outputs.iter().zip(seeds);
        let roots = roots.filter_map(|(output, seed)| Some((output, seed?)));
        self.pass(roots.collect(), &self.inputs, create_graph)
    }

    /// Returns the gradient of each input for one entry of one output: a row of the Jacobian.
    pub(crate) fn row(
        &self,
        output: &AnyTensor,
        entry: usize,
        create_graph: bool,
    ) -> Result<Vec<Option<AnyTensor>>, Error> {
        let root = vec![(output, output.one_hot(entry))];
        self.pass(root, &self.inputs, create_graph)
    }

    /// Returns the derivative of each output along `tangents`, one for each input: the gradients of a backward pass are
    /// linear in its seeds, and their derivative with respect to the seeds, with the tangents as seeds, is the product
    /// of the Jacobian with the tangents.
    pub(crate) fn jvp(
        &self,
        tangents: &[AnyTensor],
        create_graph: bool,
    ) -> Result<Vec<Option<AnyTensor>>, Error> {
        let outputs = self.outputs.iter();
        let seeds: Vec<AnyTensor> = outputs
            .map(|output| as_input(&output.zeros(), false, self.called_at))
            .collect();
        let gradients = self.vjp(seeds.iter().cloned().map(Some).collect(), true)?;
        let roots = gradients.iter().zip(tangents);
        let roots = roots.filter_map(|(grad, tangent)| Some((grad.as_ref()?, tangent.clone())));
        self.pass(roots.collect(), &seeds, create_graph)
    }

    /// Like [`jvp`](Self::jvp), after forward mode failed at a function without a rule.
    pub(crate) fn jvp_after(
        &self,
        failure: Failure,
        tangents: &[AnyTensor],
        create_graph: bool,
    ) -> Result<Vec<Option<AnyTensor>>, Error> {
        let forward = failure.error;
        if !failure.is_recorded {
            return Err(forward);
        }
        let found = self.jvp(tangents, create_graph);
        found.map_err(|error| match error.kind() {
            ErrorKind::OnceDifferentiable => Error::new(ErrorKind::NeitherMode {
                forward,
                backward: error,
            }),
            _ => error,
        })
    }

    /// Returns the gradients at `targets` of a pass that starts with a seed for each root. Nodes save no tangents, so
    /// in an outer run of forward mode the gradients' tangents fail.
    pub(crate) fn pass(
        &self,
        roots: Vec<(&AnyTensor, AnyTensor)>,
        targets: &[AnyTensor],
        create_graph: bool,
    ) -> Result<Vec<Option<AnyTensor>>, Error> {
        let depths = roots
            .iter()
            .map(|(root, seed)| root.depth().max(seed.depth()));
        let depth = depths.max().unwrap_or(0);
        let failures = roots
            .iter()
            .flat_map(|(root, seed)| [root, seed].map(|of| of.failure(depth)));
        let lost = LostTangents::new(depth, failures, create_graph, self.called_at);
        let roots = roots
            .into_iter()
            .filter_map(|(root, seed)| Some((root.edge()?, seed.without_tangents().into_grad())));
        let targets: Vec<&Edge> = targets.iter().filter_map(AnyTensor::edge).collect();
        let found = gradients(roots.collect(), &targets, create_graph)?;
        let found = lost.apply(found).into_iter();
        Ok(found.map(|grad| grad.map(AnyTensor::from_grad)).collect())
    }
}

/// Replaces missing gradients by zeros.
pub(crate) fn or_zeros(found: Vec<Option<AnyTensor>>, like: &[AnyTensor]) -> Vec<AnyTensor> {
    let pairs = found.into_iter().zip(like);
    pairs
        .map(|(found, like)| found.unwrap_or_else(|| like.zeros()))
        .collect()
}

/// Gives a tensor a new input node, so that its uses in one call are distinct from others, and nothing is accumulated.
/// With `create_graph` the node has an edge to the tensor's history.
pub(crate) fn as_input(
    tensor: &AnyTensor,
    create_graph: bool,
    called_at: &'static Location<'static>,
) -> AnyTensor {
    let edges = [tensor.edge().filter(|_| create_graph).cloned()];
    let edge = internal_node(Input, edges, &Shape::from(tensor.shape()), called_at);
    tensor.clone().with_edge(Some(edge))
}

/// Gives each tensor a new input node.
pub(crate) fn as_inputs(
    tensors: &[AnyTensor],
    create_graph: bool,
    called_at: &'static Location<'static>,
) -> Vec<AnyTensor> {
    let tensors = tensors.iter();
    let inputs = tensors.map(|tensor| as_input(tensor, create_graph, called_at));
    inputs.collect()
}

struct Input;

impl InternalRule for Input {
    const NAME: &'static str = "Input";

    fn input_name(&self, _edge: usize) -> String {
        "input".to_owned()
    }

    fn backward(&self, call: BackwardCall<'_>) -> Result<(), Error> {
        call.results[0] = call.grads[0].take();
        Ok(())
    }
}
