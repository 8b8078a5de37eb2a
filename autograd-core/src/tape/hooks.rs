//! Hooks: user code that a backward pass calls with the gradients it meets.
//!
//! Here is what a node has of them and the order in which a pass calls them; `hook_slot` is a place for them
//! in a node, `crate::hooks` has the methods of tensors and nodes that add them.
//!
//! # Note [Order of hooks]
//! A node runs when all gradients of its outputs have arrived. Then come, each kind in the order of
//! registration:
//!
//! 1. hooks of the tensors that the node made, which may replace the gradient;
//! 2. what `retain_grad` keeps, and what `grad` was asked for;
//! 3. prehooks of the node, which may replace the gradients of its outputs;
//! 4. the node's backward; for a leaf the accumulation, then its post-accumulate hooks;
//! 5. hooks of the node, which may replace the gradients of its inputs.
//!
//! A leaf's turn comes when all other nodes have run: what its hooks see is what is accumulated.
//!
//! # Note [Hooks and locks]
//! A node's hooks are an immutable list behind a reference count. A pass takes a handle on the list and
//! calls hooks with no lock held, so they may register and remove hooks, or run passes of their own
//! through the same node. A hook that is removed while it waits for its turn is not called any more.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, ErrorKind};
use crate::tape::{Accumulated, AnyGradient, BackwardCall, Node, Retained, drop_held};
use autograd_kernels::{ElementType, Shape};

/// Gets the gradient of a tensor and gives what takes its place.
pub(crate) type TensorHook = dyn Fn(AnyGradient) -> AnyGradient + Send + Sync;
/// Gets the gradients of a node's outputs; `Some`: what takes their place.
pub(crate) type Prehook = dyn Fn(&mut [Option<AnyGradient>]) -> Answer + Send + Sync;
/// Gets the gradients of a node's inputs and outputs; `Some`: what takes the inputs' place.
pub(crate) type NodeHook =
    dyn Fn(&mut [Option<AnyGradient>], &mut [Option<AnyGradient>]) -> Answer + Send + Sync;
/// Gets the node of the leaf.
pub(crate) type AccumulateHook = dyn Fn(&Node) + Send + Sync;

/// What a hook of a node gives; the error says that the gradients have another element type.
type Answer = Result<Option<Vec<Option<AnyGradient>>>, OtherElementType>;

/// Gradients are not of this element type, which a hook expects.
pub(crate) struct OtherElementType(pub(crate) ElementType);

/// A hook, until it is removed: then its place in the list is empty.
pub(crate) struct Hook<F: ?Sized>(pub(crate) Arc<Mutex<Option<Arc<F>>>>);

impl<F: ?Sized> Hook<F> {
    /// To be called, with no lock held.
    fn get(&self) -> Option<Arc<F>> {
        self.place().clone()
    }

    fn is_there(&self) -> bool {
        self.place().is_some()
    }

    fn place(&self) -> MutexGuard<'_, Option<Arc<F>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: ?Sized> Clone for Hook<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Has a place for the gradient of one output.
#[derive(Clone)]
struct Retain {
    output_nr: u32,
    /// Whether every pass fills it, not only one that asks for this gradient.
    always: bool,
    place: Arc<Accumulated>,
}

/// The hooks of one node.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    /// With the number of the output.
    pub(crate) tensor: Vec<(u32, Hook<TensorHook>)>,
    retained: Vec<Retain>,
    pub(crate) pre: Vec<Hook<Prehook>>,
    pub(crate) post_accumulate: Vec<Hook<AccumulateHook>>,
    pub(crate) post: Vec<Hook<NodeHook>>,
}

impl Hooks {
    /// Forgets the hooks that were removed.
    pub(crate) fn sweep(&mut self) {
        self.tensor.retain(|(_, hook)| hook.is_there());
        self.pre.retain(Hook::is_there);
        self.post_accumulate.retain(Hook::is_there);
        self.post.retain(Hook::is_there);
    }

    /// What is left of the hooks of a node that was freed: it does not run again. Lets go of what the
    /// others have captured, and so of cycles through it.
    pub(crate) fn only_retained(&self) -> Option<Self> {
        (!self.retained.is_empty()).then(|| {
            let mut left = Self::default();
            left.retained.clone_from(&self.retained);
            left
        })
    }

    fn retain_of(&self, output_nr: u32) -> Option<&Retain> {
        let mut retained = self.retained.iter();
        retained.find(|retain| retain.output_nr == output_nr)
    }

    /// Where the gradient of an output is retained, if it is.
    pub(crate) fn retained(&self, output_nr: u32) -> Option<&Arc<Accumulated>> {
        self.retain_of(output_nr).map(|retain| &retain.place)
    }

    /// As [`retained`](Self::retained), if only passes that are asked to retain it.
    pub(crate) fn asked(&self, output_nr: u32) -> Option<&Arc<Accumulated>> {
        let retain = self.retain_of(output_nr)?;
        (!retain.always).then_some(&retain.place)
    }

    /// Makes a place for the gradient of an output.
    pub(crate) fn retain(&mut self, output_nr: u32, always: bool) {
        let mut retained = self.retained.iter_mut();
        match retained.find(|retain| retain.output_nr == output_nr) {
            Some(retain) => retain.always |= always,
            None => self.retained.push(Retain {
                output_nr,
                always,
                place: Arc::default(),
            }),
        }
    }

    /// Whether something is called after a leaf's gradient was accumulated.
    pub(crate) fn follow_accumulation(&self) -> bool {
        !self.post_accumulate.is_empty() || !self.post.is_empty()
    }

    /// Calls the hooks of the tensors that `node` made.
    pub(crate) fn call_tensor_hooks(
        &self,
        node: &Node,
        grads: &mut [Option<AnyGradient>],
        create_graph: bool,
    ) -> Result<(), Error> {
        for (output_nr, hook) in &self.tensor {
            let slot = &mut grads[*output_nr as usize];
            // The gradient is taken only where there is a hook to give it back.
            let Some((hook, grad)) = hook.get().and_then(|hook| Some((hook, slot.take()?))) else {
                continue;
            };
            let grad = settled(hook(grad), create_graph);
            let expected = &node.0.outputs()[*output_nr as usize];
            if *expected != *grad.shape() {
                return Err(wrong_shape(node, expected.unpack(), &grad));
            }
            *slot = Some(grad);
        }
        Ok(())
    }

    /// Notes down what every pass retains.
    pub(crate) fn note_retained(&self, grads: &mut [Option<AnyGradient>], noted: &mut Retained) {
        for retain in self.retained.iter().filter(|retain| retain.always) {
            if let Some(grad) = &mut grads[retain.output_nr as usize] {
                noted.push((Arc::clone(&retain.place), grad.share()));
            }
        }
    }

    /// Calls the prehooks of `node`.
    pub(crate) fn call_prehooks(
        &self,
        node: &Node,
        grads: &mut [Option<AnyGradient>],
        create_graph: bool,
    ) -> Result<(), Error> {
        for hook in self.pre.iter().filter_map(Hook::get) {
            let answer = hook(grads);
            let Some(answer) = answered(node, answer, grads.len())? else {
                continue;
            };
            for ((slot, grad), expected) in grads.iter_mut().zip(answer).zip(node.0.outputs()) {
                if let Some(grad) = grad.as_ref().filter(|grad| *expected != *grad.shape()) {
                    return Err(wrong_shape(node, expected.unpack(), grad));
                }
                *slot = grad.map(|grad| settled(grad, create_graph));
            }
        }
        Ok(())
    }

    /// Calls the hooks of `node` after it has run.
    fn call_node_hooks(
        &self,
        call: &mut BackwardCall<'_>,
        grad_outputs: &mut [Option<AnyGradient>],
    ) -> Result<(), Error> {
        let node = call.node;
        for hook in self.post.iter().filter_map(Hook::get) {
            let answer = hook(call.results, grad_outputs);
            let Some(answer) = answered(node, answer, call.results.len())? else {
                continue;
            };
            for (input, grad) in answer.into_iter().enumerate() {
                let edge = node.0.edges()[input].as_ref().filter(|_| call.needs[input]);
                // What no edge leads to, or this pass does not want, goes nowhere.
                let Some((grad, edge)) = grad.zip(edge) else {
                    call.results[input] = None;
                    continue;
                };
                let expected = &edge.node.0.outputs()[edge.output_nr as usize];
                if *expected != *grad.shape() {
                    return Err(wrong_shape(node, expected.unpack(), &grad));
                }
                call.results[input] = Some(settled(grad, call.create_graph));
            }
        }
        Ok(())
    }

    /// Calls what follows the accumulation of a leaf's gradient. What a node's hook returns here goes
    /// nowhere: a leaf has no inputs.
    pub(crate) fn after_accumulation(&self, leaf: &Node, grad: AnyGradient) {
        let mut grad = Some(grad);
        for hook in self.post_accumulate.iter().filter_map(Hook::get) {
            hook(leaf);
        }
        for hook in self.post.iter().filter_map(Hook::get) {
            let _ = hook(&mut [], std::slice::from_mut(&mut grad));
        }
    }
}

impl Drop for Hooks {
    fn drop(&mut self) {
        let (tensor, pre) = (mem::take(&mut self.tensor), mem::take(&mut self.pre));
        drop_held((tensor, pre));
        let (post_accumulate, post) = (
            mem::take(&mut self.post_accumulate),
            mem::take(&mut self.post),
        );
        drop_held((post_accumulate, post));
    }
}

/// Which hooks of a node a call of its backward brings with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hooking {
    /// None: the node is run by hand.
    None,
    /// All but those of its tensors, which were called before.
    OfNode,
    All,
}

/// Runs the backward of a node, with its hooks around it. `latest` gives the hooks at the end: some may
/// have been registered meanwhile.
#[cold]
pub(crate) fn hooked(
    hooks: &Hooks,
    mut call: BackwardCall<'_>,
    backward: impl FnOnce(BackwardCall<'_>) -> Result<(), Error>,
    latest: impl FnOnce() -> Option<Arc<Hooks>>,
) -> Result<(), Error> {
    let (node, create_graph) = (call.node, call.create_graph);
    match call.hooking {
        Hooking::None => return backward(call),
        Hooking::OfNode => {}
        Hooking::All => {
            hooks.call_tensor_hooks(node, call.grads, create_graph)?;
            hooks.note_retained(call.grads, call.retained);
        }
    }
    hooks.call_prehooks(node, call.grads, create_graph)?;
    let grads = call.grads.iter_mut();
    let mut grad_outputs: Vec<_> = if hooks.post.is_empty() {
        grads.map(|_| None).collect()
    } else {
        grads
            .map(|grad| grad.as_mut().map(AnyGradient::share))
            .collect()
    };
    backward(call.reborrow())?;
    match latest() {
        Some(latest) => latest.call_node_hooks(&mut call, &mut grad_outputs),
        None => Ok(()),
    }
}

/// Calls the hooks of a node that had none when it began to run.
#[cold]
pub(crate) fn call_new_hooks(
    latest: Option<Arc<Hooks>>,
    mut call: BackwardCall<'_>,
) -> Result<(), Error> {
    let Some(latest) = latest else {
        return Ok(());
    };
    let mut grad_outputs: Vec<_> = call.grads.iter().map(|_| None).collect();
    latest.call_node_hooks(&mut call, &mut grad_outputs)
}

/// Outside `create_graph` gradients have no history, whatever a hook makes of them.
fn settled(grad: AnyGradient, create_graph: bool) -> AnyGradient {
    if create_graph {
        grad
    } else {
        grad.without_history()
    }
}

/// What a hook gives, if it gives something, as many gradients as there are places.
fn answered(
    node: &Node,
    answer: Answer,
    expected: usize,
) -> Result<Option<Vec<Option<AnyGradient>>>, Error> {
    match answer {
        Ok(Some(grads)) if grads.len() != expected => {
            let found = grads.len();
            Err(node.error(ErrorKind::HookCount { expected, found }))
        }
        Ok(answer) => Ok(answer),
        Err(OtherElementType(expected)) => Err(node.error(ErrorKind::element_type(expected))),
    }
}

fn wrong_shape(node: &Node, expected: Shape, found: &AnyGradient) -> Error {
    node.error(ErrorKind::HookShape {
        expected,
        found: found.shape().clone(),
    })
}
