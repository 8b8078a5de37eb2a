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
use burn_backend::tensor::FloatTensor;
use burn_backend::{AutodiffBackend, FloatDType, Shape, TensorMetadata};
use burn_dispatch::{
    BackendTensor, DispatchAutodiffContext, DispatchDevice, DispatchTensor, DispatchTensorKind,
};
use pullback::AnyTensor;
use pullback::foreign::Recording;

use crate::memory::Memory;

const BACKENDS: &str = "pullback-burn takes tensors of the backends that its features name";

/// The inputs of a call, and the device and autodiff of its outputs.
#[derive(Debug, Default)]
pub struct Call {
    pub(crate) inputs: Vec<AnyTensor>,
    /// For each input, whether burn tracks it.
    pub(crate) tracked: Vec<bool>,
    parents: Vec<Parent>,
    /// The shapes and types of the inputs' gradients.
    types: Vec<(Shape, FloatDType)>,
    device: Option<DispatchDevice>,
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
        let new = kind.device();
        let (input, node) = match kind {
            #[cfg(feature = "flex")]
            DispatchTensorKind::Flex(tensor) => taken(tensor, shape),
            #[cfg(feature = "ndarray")]
            DispatchTensorKind::NdArray(tensor) => taken(tensor, shape),
            #[allow(unreachable_patterns)] // another crate can enable more backends of burn
            _ => panic!("input {position} is on {new:?}; {BACKENDS}"),
        };
        let old = self.device.get_or_insert_with(|| new.clone());
        assert!(
            *old == new,
            "input {position} is on {new:?}, and those before it on {old:?}"
        );
        let Some(input) = input else {
            panic!("input {position} is a tensor of {dtype:?}; the function takes F32 or F64");
        };
        self.inputs.push(input);
        self.tracked.push(node.is_some());
        self.parents.extend(node.map(|node| (Some(position), node)));
        self.types.push((in_burn, dtype.into()));
    }

    pub(crate) fn outputs(mut self, recording: Recording, outputs: Vec<AnyTensor>) -> Outputs {
        match self.device.take().unwrap_or_default() {
            #[cfg(feature = "flex")]
            DispatchDevice::Flex(device) => {
                self.on(&device, DispatchTensorKind::Flex, recording, outputs)
            }
            #[cfg(feature = "ndarray")]
            DispatchDevice::NdArray(device) => {
                self.on(&device, DispatchTensorKind::NdArray, recording, outputs)
            }
            #[allow(unreachable_patterns)]
            device => panic!("outputs without inputs are on {device:?}; {BACKENDS}"),
        }
    }

    fn on<B: Memory>(
        mut self,
        device: &B::Device,
        kind: fn(BackendTensor<B>) -> DispatchTensorKind,
        recording: Recording,
        outputs: Vec<AnyTensor>,
    ) -> Outputs {
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
        let join = (with_history.len() > 1)
            .then(|| node::<B>(&shared, None, take(&mut self.parents), zero::<B>(device)));
        let outputs = outputs.into_iter().enumerate().map(|(output, value)| {
            let value = B::of(value, device);
            let kind = if autodiff == DispatchAutodiffContext::Disabled {
                kind(BackendTensor::Float(value))
            } else {
                let value = if with_history.contains(&output) {
                    let parents = match &join {
                        Some(join) => vec![(None, join.node())],
                        None => take(&mut self.parents),
                    };
                    node::<B>(&shared, Some(output), parents, value)
                } else {
                    Autodiff::<B>::from_inner(value)
                };
                DispatchTensorKind::Autodiff(Box::new(kind(BackendTensor::Autodiff(value))))
            };
            DispatchTensor { kind, autodiff }
        });
        outputs.collect::<Vec<_>>().into_iter()
    }
}

/// Returns an input of a backend, and its node if burn tracks it.
fn taken<B: Memory>(
    tensor: BackendTensor<B>,
    shape: &[usize],
) -> (Option<AnyTensor>, Option<NodeGuard>) {
    match tensor {
        BackendTensor::Autodiff(tensor) => {
            let tracked = tensor.is_tracked();
            let (value, node) = tensor.into_parts();
            (B::any(value, shape), tracked.then_some(node))
        }
        tensor => (B::any(tensor.float(), shape), None),
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
    fn gradient<B: Memory>(&self, input: usize, device: &B::Device) -> FloatTensor<B> {
        let of_outputs = take(&mut *lock(&self.of_outputs));
        if !of_outputs.is_empty() {
            let found = self.recording.gradients(of_outputs, &self.tracked);
            *lock(&self.of_inputs) = found.unwrap_or_else(|error| panic!("{error}"));
        }
        let found = lock(&self.of_inputs)[input].take();
        let (shape, dtype) = self.inputs[input].clone();
        found.map_or_else(
            || B::float_zeros(shape, device, dtype),
            |grad| B::of(grad, device),
        )
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a new node: of an output, or one that joins.
fn node<B: Memory>(
    shared: &Arc<Shared>,
    output: Option<usize>,
    mut parents: Vec<Parent>,
    value: FloatTensor<B>,
) -> FloatTensor<Autodiff<B>> {
    while parents.len() > 4 {
        let last = parents.split_off(parents.len() - 4);
        let join = node::<B>(shared, None, last, zero::<B>(&value.device()));
        parents.push((None, join.node()));
    }
    macro_rules! of {
        ($($N:literal)+) => {$(
            match <[Parent; $N]>::try_from(parents) {
                Ok(parents) => return node_of::<B, $N>(shared, output, parents, value),
                Err(others) => parents = others,
            }
        )+};
    }
    of!(1 2 3 4);
    // INVARIANT: only outputs that depend on a tracked input have nodes.
    unreachable!("a node with {} parents", parents.len())
}

fn node_of<B: Memory, const N: usize>(
    shared: &Arc<Shared>,
    output: Option<usize>,
    parents: [Parent; N],
    value: FloatTensor<B>,
) -> FloatTensor<Autodiff<B>> {
    let inputs = parents.each_ref().map(|(input, _)| *input);
    let guards = parents.map(|(_, guard)| guard);
    let node = Backward::<B, N>::prepare::<NoCheckpointing>(CallBackward, guards);
    // Compute-bound: with every strategy, burn saves the value and never computes it again.
    match node.compute_bound().stateful() {
        OpsKind::Tracked(node) => node.finish((Arc::clone(shared), output, inputs), value),
        OpsKind::UnTracked(node) => node.finish(value),
    }
}

#[derive(Debug)]
struct CallBackward;

impl<B: Memory, const N: usize> Backward<B, N> for CallBackward {
    /// The index of the node's output, and the indices of its parents' inputs.
    type State = (Arc<Shared>, Option<usize>, [Option<usize>; N]);

    fn backward(self, ops: Ops<Self::State, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (shared, output, inputs) = ops.state;
        let grad = grads.consume::<B>(&ops.node);
        let (device, dtype) = (grad.device(), grad.dtype());
        if let Some(output) = output {
            let Some(grad) = B::any(grad, &shared.outputs[output]) else {
                panic!("the gradient of output {output} is a tensor of {dtype:?}");
            };
            lock(&shared.of_outputs)[output] = Some(grad);
        }
        for (parent, input) in ops.parents.into_iter().zip(inputs) {
            let Some(parent) = parent else { continue };
            let grad = match input {
                Some(input) => shared.gradient::<B>(input, &device),
                None => zero::<B>(&device),
            };
            grads.register::<B>(parent.id, grad);
        }
    }
}

fn zero<B: Memory>(device: &B::Device) -> FloatTensor<B> {
    B::float_zeros(Shape::new([1]), device, FloatDType::F32)
}
