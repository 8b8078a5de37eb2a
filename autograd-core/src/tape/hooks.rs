//! Hooks: user code that a backward pass calls with gradients.
//!
//! This file has the hooks of a node and the order in which a pass calls them; `hook_slot` stores the hooks of nodes
//! that do not store them otherwise, `crate::hooks` has the methods of tensors and nodes that register them.
//!
//! # Note [Order of hooks]
//! A node runs when all gradients of its outputs are complete. The steps are these; a pass calls each kind of hooks in
//! the order of registration:
//!
//! 1. hooks of the tensors that the node made, which may replace the gradient;
//! 2. the gradients for `retain_grad` are retained, and those that `grad` returns are taken;
//! 3. prehooks of the node, which may replace the gradients of its outputs;
//! 4. the node's backward; for a leaf the accumulation, then its post-accumulate hooks;
//! 5. hooks of the node, which may replace the gradients of its inputs.
//!
//! Leaves are last, when all other nodes have run: their hooks get the gradient that is accumulated.
//!
//! # Note [Hooks and locks]
//! A node's hooks are an immutable list behind a reference count. A pass takes a handle on the list and
//! calls hooks with no lock held, so they may register and remove hooks, or run passes of their own
//! through the same node. A hook that is removed before the pass calls it is not called.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, ErrorKind};
use crate::tape::{Accumulated, AnyGradient, BackwardCall, Node, Retained, drop_held};
use autograd_kernels::{ElementType, Shape};

/// Takes the gradient of a tensor and returns its replacement.
pub(crate) type TensorHook = dyn Fn(AnyGradient) -> AnyGradient + Send + Sync;
/// Takes the gradients of a node's outputs; returns `Some` to replace them.
pub(crate) type Prehook = dyn Fn(&mut [Option<AnyGradient>]) -> HookResult + Send + Sync;
/// Takes the gradients of a node's inputs and outputs; returns `Some` to replace those of the inputs.
pub(crate) type NodeHook =
    dyn Fn(&mut [Option<AnyGradient>], &mut [Option<AnyGradient>]) -> HookResult + Send + Sync;
/// Takes the node of the leaf.
pub(crate) type AccumulateHook = dyn Fn(&Node) + Send + Sync;

/// The result of a hook of a node.
type HookResult = Result<Option<Vec<Option<AnyGradient>>>, OtherElementType>;

/// Gradients are not of this element type, which a hook expects.
pub(crate) struct OtherElementType(pub(crate) ElementType);

/// A hook; `None` after it was removed.
pub(crate) struct Hook<F: ?Sized>(pub(crate) Arc<Mutex<Option<Arc<F>>>>);

impl<F: ?Sized> Hook<F> {
    /// Returns the hook, to call it with no lock held.
    fn get(&self) -> Option<Arc<F>> {
        self.lock().clone()
    }

    fn is_registered(&self) -> bool {
        self.lock().is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<F>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: ?Sized> Clone for Hook<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Retains the gradient of one output.
#[derive(Clone)]
struct Retain {
    output_nr: u32,
    /// Whether every pass retains it, or only one that requests this gradient.
    always: bool,
    accumulated: Arc<Accumulated>,
}

/// The hooks of one node.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    /// Hooks with the number of their output.
    pub(crate) tensor: Vec<(u32, Hook<TensorHook>)>,
    retained: Vec<Retain>,
    pub(crate) pre: Vec<Hook<Prehook>>,
    pub(crate) post_accumulate: Vec<Hook<AccumulateHook>>,
    pub(crate) post: Vec<Hook<NodeHook>>,
}

impl Hooks {
    /// Drops the entries of removed hooks.
    pub(crate) fn sweep(&mut self) {
        self.tensor.retain(|(_, hook)| hook.is_registered());
        self.pre.retain(Hook::is_registered);
        self.post_accumulate.retain(Hook::is_registered);
        self.post.retain(Hook::is_registered);
    }

    /// Returns the hooks that a freed node needs: it does not run again. Dropping the others drops what they captured,
    /// and so breaks cycles through it.
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

    /// Returns the retained gradient of an output.
    pub(crate) fn retained(&self, output_nr: u32) -> Option<&Arc<Accumulated>> {
        self.retain_of(output_nr).map(|retain| &retain.accumulated)
    }

    /// Returns the retained gradient of an output that only passes which request it retain.
    pub(crate) fn retained_on_request(&self, output_nr: u32) -> Option<&Arc<Accumulated>> {
        let retain = self.retain_of(output_nr)?;
        (!retain.always).then_some(&retain.accumulated)
    }

    /// Retains the gradient of an output: in all passes (`always`), or on request.
    pub(crate) fn retain(&mut self, output_nr: u32, always: bool) {
        let mut retained = self.retained.iter_mut();
        match retained.find(|retain| retain.output_nr == output_nr) {
            Some(retain) => retain.always |= always,
            None => self.retained.push(Retain {
                output_nr,
                always,
                accumulated: Arc::default(),
            }),
        }
    }

    /// Returns whether there are hooks to call after a leaf's gradient was accumulated.
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
            // The gradient is taken only if there is a hook that returns one.
            let Some((hook, grad)) = hook.get().and_then(|hook| Some((hook, slot.take()?))) else {
                continue;
            };
            let grad = history_if(create_graph, hook(grad));
            let expected = &node.0.outputs()[*output_nr as usize];
            if *expected != *grad.shape() {
                return Err(wrong_shape(node, expected.unpack(), &grad));
            }
            *slot = Some(grad);
        }
        Ok(())
    }

    /// Adds the gradients that every pass retains.
    pub(crate) fn add_retained(&self, grads: &mut [Option<AnyGradient>], to: &mut Retained) {
        for retain in self.retained.iter().filter(|retain| retain.always) {
            if let Some(grad) = &mut grads[retain.output_nr as usize] {
                to.push((Arc::clone(&retain.accumulated), grad.share()));
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
            let replaced = replacement(node, hook(grads), grads.len())?;
            let Some(replaced) = replaced else {
                continue;
            };
            for ((slot, grad), expected) in grads.iter_mut().zip(replaced).zip(node.0.outputs()) {
                if let Some(grad) = grad.as_ref().filter(|grad| *expected != *grad.shape()) {
                    return Err(wrong_shape(node, expected.unpack(), grad));
                }
                *slot = grad.map(|grad| history_if(create_graph, grad));
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
            let result = hook(call.results, grad_outputs);
            let Some(replaced) = replacement(node, result, call.results.len())? else {
                continue;
            };
            for (input, grad) in replaced.into_iter().enumerate() {
                let edge = node.0.edges()[input].as_ref().filter(|_| call.needs[input]);
                // A gradient without an edge, or that this pass does not need, is dropped.
                let Some((grad, edge)) = grad.zip(edge) else {
                    call.results[input] = None;
                    continue;
                };
                let expected = &edge.node.0.outputs()[edge.output_nr as usize];
                if *expected != *grad.shape() {
                    return Err(wrong_shape(node, expected.unpack(), &grad));
                }
                call.results[input] = Some(history_if(call.create_graph, grad));
            }
        }
        Ok(())
    }

    /// Calls the hooks after the accumulation of a leaf's gradient. The results of node hooks are ignored: a leaf has
    /// no inputs.
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

/// The hooks that are called with the backward of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hooking {
    /// No hooks, in `Node::apply`.
    None,
    /// The node's hooks; those of its tensors were called before.
    OfNode,
    All,
}

/// Runs the backward of a node with its hooks. `latest` returns the hooks after backward, which may have registered
/// some.
///
/// It is compiled once: each function that has a node would have its own.
#[cold]
pub(crate) fn run_with_hooks(
    hooks: &Hooks,
    mut call: BackwardCall<'_>,
    backward: &mut dyn FnMut(BackwardCall<'_>) -> Result<(), Error>,
    latest: &dyn Fn() -> Option<Arc<Hooks>>,
) -> Result<(), Error> {
    let (node, create_graph) = (call.node, call.create_graph);
    match call.hooking {
        Hooking::None => return backward(call),
        Hooking::OfNode => {}
        Hooking::All => {
            hooks.call_tensor_hooks(node, call.grads, create_graph)?;
            hooks.add_retained(call.grads, call.retained);
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

/// Calls the hooks of a node that were registered while it ran; it had none before.
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

/// Returns a gradient of a hook, with its history under `create_graph` only.
fn history_if(create_graph: bool, grad: AnyGradient) -> AnyGradient {
    if create_graph {
        grad
    } else {
        grad.without_history()
    }
}

/// Returns the gradients that a hook returned, after checking their number and element type.
fn replacement(
    node: &Node,
    result: HookResult,
    expected: usize,
) -> Result<Option<Vec<Option<AnyGradient>>>, Error> {
    match result {
        Ok(Some(grads)) if grads.len() != expected => {
            let found = grads.len();
            Err(node.error(ErrorKind::HookCount { expected, found }))
        }
        Ok(replaced) => Ok(replaced),
        Err(OtherElementType(expected)) => Err(node.error(ErrorKind::element_type(expected))),
    }
}

fn wrong_shape(node: &Node, expected: Shape, found: &AnyGradient) -> Error {
    node.error(ErrorKind::HookShape {
        expected,
        found: found.shape().clone(),
    })
}
