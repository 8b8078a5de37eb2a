//! The nodes of a call in burn's graph.
//!
//! A node of burn has one output and a constant number of parents. So each output is a node whose parents are the
//! tracked inputs. Several outputs, or many inputs, are connected by nodes that join:
//!
//! ```text
//! x ─┬─ y          x ─┬─ join ─┬─ radius          a, b, c ─┬─ z
//! w ─┘             y ─┘        └─ angle    d, e, f, g ── join ─┘
//! ```
//!
//! A node that joins has a zero as its value and its gradient. The actual gradients are in [`Shared`]. burn calls a
//! node's backward after those of all nodes that it is a parent of, so the recording runs backward once, for the
//! gradient of the first input.

use std::mem::take;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::{base::Checkpointer, strategy::NoCheckpointing};
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, NodeGuard, Ops, OpsKind};
use burn_backend::ops::FloatTensorOps;
use burn_backend::tensor::FloatTensor;
use burn_backend::{AutodiffBackend, FloatDType, Shape, TensorMetadata};
use burn_dispatch::{BackendTensor, DispatchAutodiffContext, DispatchTensor, DispatchTensorKind};
use burn_flex::{Flex, FlexDevice, FlexTensor};
use pullback::AnyTensor;
use pullback::foreign::Recording;

use crate::memory::{from_burn, into_burn};

/// The inputs of a call, and the autodiff of its outputs.
#[derive(Debug, Default)]
pub struct Call {
    pub(crate) inputs: Vec<AnyTensor>,
    /// For each input, whether burn tracks it.
    pub(crate) tracked: Vec<bool>,
    parents: Vec<Parent>,
    /// The shapes and types of the inputs' gradients.
    types: Vec<(Shape, FloatDType)>,
    autodiff: DispatchAutodiffContext,
}

/// The remaining outputs in burn.
pub(crate) type Outputs = std::vec::IntoIter<DispatchTensor>;

/// A parent of a node, with the index of its input; `None` for a node that joins.
type Parent = (Option<usize>, NodeGuard);

impl Call {
    /// Adds an input, which the function takes as a scalar if `scalar`.
    #[track_caller]
    pub(crate) fn push(&mut self, tensor: DispatchTensor, scalar: bool) {
        let (position, in_burn, dtype) = (self.inputs.len(), tensor.shape(), tensor.dtype());
        let shape = if scalar { &[] } else { &in_burn[..] };
        assert!(
            !scalar || in_burn[..] == [1],
            "input {position} has shape {:?}; the function takes a scalar, which has shape [1] in burn",
            &in_burn[..]
        );
        if tensor.autodiff != DispatchAutodiffContext::Disabled {
            let (new, old) = (tensor.autodiff, self.autodiff);
            assert!(
                old == new || old == DispatchAutodiffContext::Disabled,
                "input {position} has autodiff {new:?}, and those before it {old:?}"
            );
            self.autodiff = new;
        }
        let kind = if let DispatchTensorKind::Autodiff(kind) = tensor.kind {
            *kind
        } else {
            tensor.kind
        };
        // Another crate can enable more backends of burn.
        let device = kind.device();
        let DispatchTensorKind::Flex(tensor) = kind else {
            panic!("input {position} is on {device:?}; pullback-burn takes tensors on Flex");
        };
        let (value, node) = if let BackendTensor::Autodiff(tensor) = tensor {
            let tracked = tensor.is_tracked();
            let (value, node) = tensor.into_parts();
            (value, tracked.then_some(node))
        } else {
            (tensor.float(), None)
        };
        let Some(input) = from_burn(value, shape) else {
            panic!("input {position} is a tensor of {dtype:?}; the function takes F32 or F64");
        };
        self.inputs.push(input);
        self.tracked.push(node.is_some());
        self.parents.extend(node.map(|node| (Some(position), node)));
        self.types.push((in_burn, dtype.into()));
    }

    pub(crate) fn outputs(mut self, recording: Recording, outputs: Vec<AnyTensor>) -> Outputs {
        let autodiff = self.autodiff;
        let history = |output: &usize| recording.requires_grad(*output);
        let with_history: Vec<usize> = (0..outputs.len()).filter(history).collect();
        let shared = Arc::new(Shared {
            inputs: self.types,
            tracked: self.tracked,
            outputs: outputs
                .iter()
                .map(|output| output.shape().to_vec())
                .collect(),
            of_outputs: Mutex::new(vec![None; outputs.len()]),
            of_inputs: Mutex::default(),
            recording,
        });
        let join =
            (with_history.len() > 1).then(|| node(&shared, None, take(&mut self.parents), zero()));
        let outputs = outputs.into_iter().enumerate().map(|(output, value)| {
            let value = into_burn(value);
            let kind = if autodiff == DispatchAutodiffContext::Disabled {
                DispatchTensorKind::Flex(BackendTensor::Float(value))
            } else {
                let value = if with_history.contains(&output) {
                    let parents = match &join {
                        Some(join) => vec![(None, join.node())],
                        None => take(&mut self.parents),
                    };
                    node(&shared, Some(output), parents, value)
                } else {
                    Autodiff::<Flex>::from_inner(value)
                };
                let kind = DispatchTensorKind::Flex(BackendTensor::Autodiff(value));
                DispatchTensorKind::Autodiff(Box::new(kind))
            };
            DispatchTensor { kind, autodiff }
        });
        outputs.collect::<Vec<_>>().into_iter()
    }
}

/// The data that the nodes of a call share.
#[derive(Debug)]
struct Shared {
    recording: Recording,
    inputs: Vec<(Shape, FloatDType)>,
    tracked: Vec<bool>,
    outputs: Vec<Vec<usize>>,
    /// The gradients of the outputs; empty after the recording has run backward.
    of_outputs: Mutex<Vec<Option<AnyTensor>>>,
    /// The gradients of the inputs; empty before.
    of_inputs: Mutex<Vec<Option<AnyTensor>>>,
}

impl Shared {
    /// Returns the gradient of an input: zeros if it is unused, as burn needs a gradient for each parent.
    fn gradient(&self, input: usize) -> FlexTensor {
        let of_outputs = take(&mut *lock(&self.of_outputs));
        if !of_outputs.is_empty() {
            let found = self.recording.gradients(of_outputs, &self.tracked);
            *lock(&self.of_inputs) = found.unwrap_or_else(|error| panic!("{error}"));
        }
        let found = lock(&self.of_inputs)[input].take();
        let (shape, dtype) = self.inputs[input].clone();
        found.map_or_else(|| Flex::float_zeros(shape, &FlexDevice, dtype), into_burn)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a new node: of an output, or one that joins.
fn node(
    shared: &Arc<Shared>,
    output: Option<usize>,
    mut parents: Vec<Parent>,
    value: FlexTensor,
) -> FloatTensor<Autodiff<Flex>> {
    while parents.len() > 4 {
        let last = parents.split_off(parents.len() - 4);
        let join = node(shared, None, last, zero());
        parents.push((None, join.node()));
    }
    macro_rules! of {
        ($($N:literal)+) => {$(
            match <[Parent; $N]>::try_from(parents) {
                Ok(parents) => return node_of::<$N>(shared, output, parents, value),
                Err(others) => parents = others,
            }
        )+};
    }
    of!(1 2 3 4);
    // INVARIANT: only outputs that depend on a tracked input have nodes.
    unreachable!("a node with {} parents", parents.len())
}

fn node_of<const N: usize>(
    shared: &Arc<Shared>,
    output: Option<usize>,
    parents: [Parent; N],
    value: FlexTensor,
) -> FloatTensor<Autodiff<Flex>> {
    let inputs = parents.each_ref().map(|(input, _)| *input);
    let guards = parents.map(|(_, guard)| guard);
    let node = Backward::<Flex, N>::prepare::<NoCheckpointing>(CallBackward, guards);
    // Compute-bound: with every strategy, burn saves the value and never computes it again.
    match node.compute_bound().stateful() {
        OpsKind::Tracked(node) => node.finish((Arc::clone(shared), output, inputs), value),
        OpsKind::UnTracked(node) => node.finish(value),
    }
}

#[derive(Debug)]
struct CallBackward;

impl<const N: usize> Backward<Flex, N> for CallBackward {
    /// The index of the node's output, and the indices of its parents' inputs.
    type State = (Arc<Shared>, Option<usize>, [Option<usize>; N]);

    fn backward(self, ops: Ops<Self::State, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (shared, output, inputs) = ops.state;
        let grad = grads.consume::<Flex>(&ops.node);
        let dtype = grad.dtype();
        if let Some(output) = output {
            let Some(grad) = from_burn(grad, &shared.outputs[output]) else {
                panic!("the gradient of output {output} is a tensor of {dtype:?}");
            };
            lock(&shared.of_outputs)[output] = Some(grad);
        }
        for (parent, input) in ops.parents.into_iter().zip(inputs) {
            let Some(parent) = parent else { continue };
            let grad = match input {
                Some(input) => shared.gradient(input),
                None => zero(),
            };
            grads.register::<Flex>(parent.id, grad);
        }
    }
}

fn zero() -> FlexTensor {
    Flex::float_zeros(Shape::new([1]), &FlexDevice, FloatDType::F32)
}
