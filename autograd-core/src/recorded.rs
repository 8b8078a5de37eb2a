//! One recorded run of a function, and its derivatives by backward passes.

use std::panic::Location;

use crate::engine::{LostTangents, gradients};
use crate::erased::AnyTensor;
use crate::error::Error;
use crate::tape::{BackwardCall, Edge, InternalRule, internal_node};
use crate::thread::enable_grad;
use autograd_kernels::Shape;

pub(crate) struct Recorded {
    /// What the function was called with: the caller's tensors, set apart.
    pub(crate) inputs: Vec<AnyTensor>,
    pub(crate) outputs: Vec<AnyTensor>,
    pub(crate) called_at: &'static Location<'static>,
}

impl Recorded {
    /// With `create_graph`, what is computed leads on to the history of `inputs`.
    pub(crate) fn run(
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
    pub(crate) fn pull(
        &self,
        seeds: Vec<Option<AnyTensor>>,
        create_graph: bool,
    ) -> Result<Vec<Option<AnyTensor>>, Error> {
        let roots = self.outputs.iter().zip(seeds);
        let roots = roots.filter_map(|(output, seed)| Some((output, seed?)));
        self.pass(roots.collect(), &self.inputs, create_graph)
    }

    /// The derivatives of one entry of one output: what arrives at each input.
    pub(crate) fn row(
        &self,
        output: &AnyTensor,
        entry: usize,
        create_graph: bool,
    ) -> Result<Vec<Option<AnyTensor>>, Error> {
        let root = vec![(output, output.one_hot(entry))];
        self.pass(root, &self.inputs, create_graph)
    }

    /// The derivative of each output along `tangents`, one for each input: what a backward pass gives is
    /// linear in its seeds, and the derivative of that by the seeds, started with the tangents, is the
    /// product of the Jacobian with them.
    pub(crate) fn push(
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

    /// What arrives at `targets` when each root starts with its seed. Nodes save no tangents, so in an
    /// outer run of forward mode what arrives has none.
    fn pass(
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

/// Zeros for what did not arrive.
pub(crate) fn or_zeros(found: Vec<Option<AnyTensor>>, like: &[AnyTensor]) -> Vec<AnyTensor> {
    let pairs = found.into_iter().zip(like);
    pairs
        .map(|(found, like)| found.unwrap_or_else(|| like.zeros()))
        .collect()
}

/// The tensor with a node of its own, so that what a function makes of it is distinct from other uses of the
/// tensor, and nothing is accumulated. With `create_graph` the node leads on to the tensor's history.
pub(crate) fn set_apart(
    tensor: &AnyTensor,
    create_graph: bool,
    called_at: &'static Location<'static>,
) -> AnyTensor {
    let edges = [tensor.edge().filter(|_| create_graph).cloned()];
    let edge = internal_node(Input, edges, &Shape::from(tensor.shape()), called_at);
    tensor.clone().with_edge(Some(edge))
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
