//! The tape: recorded nodes, which the engine runs backward.
//!
//! A tensor that depends on a leaf points to the [`Node`] that made it; a node points to the nodes of
//! its inputs through [`Edge`]s. All references point backward, from results to inputs, so reference counts are enough:
//! when the last result is dropped, its nodes are dropped, and with them the values that they saved.
//!
//! # Note [No cycles]
//! A saved *output* would make a node own itself. A node therefore saves buffers, never tensors; when its backward
//! runs, each buffer gets its edge again: one of the node's own edges for an input, one to the node itself for an
//! output.
//!
//! # Note [Sequence numbers]
//! Each node's number is larger than those of the nodes it points to, on whatever threads they were made: it is one
//! more than the largest of them and of the last number of its thread. Running nodes in decreasing order therefore runs
//! a node after all that use it, without counting them first.
//!
//! # Note [Floors]
//! The nodes of the examples of a `vmap` are recorded above a *floor*: a number that is larger than those of all nodes
//! before it, on all threads. So the number alone distinguishes the nodes of an example from captured ones, and a pass
//! through the example ends at the first node that is not above the floor. The upper half of a floor counts floors, the
//! lower half is for the nodes above it. A thread that records more than 2³² nodes between two floors may have larger
//! numbers than the next floor; if a function captures such a tensor from another thread, its node counts as a part of
//! the example, and the nodes below that floor as captured.

mod accumulate;
mod accumulated;
mod drop;
mod dual;
mod gradient;
mod hook_slot;
mod hooks;
mod internal;
mod leaf;
mod mark;
mod once;
mod raw;
mod saved_info;
mod shared;

pub(crate) use accumulate::accumulate;
pub(crate) use accumulated::{Accumulated, Undo};
pub(crate) use drop::{drop_edges, drop_held};
pub use dual::DualTensor;
pub(crate) use dual::{Failure, Tangent, new_depth};
pub(crate) use gradient::Gradients;
pub use gradient::{AnyGradient, Gradient};
pub(crate) use hook_slot::HookSlot;
pub(crate) use hooks::{
    AccumulateHook, Hook, Hooking, Hooks, NodeHook, OtherElementType, Prehook, TensorHook,
    call_new_hooks, run_with_hooks,
};
pub(crate) use internal::{InternalRule, internal_node, internal_node_with_outputs};
pub(crate) use leaf::Leaf;
pub(crate) use mark::{Mark, Marks};
pub(crate) use once::once_differentiable;
pub use raw::RawTensor;
pub(crate) use saved_info::NoteSaved;
pub use saved_info::SavedInfo;
pub(crate) use shared::Shared;

use std::cell::Cell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::alloc::Thin;
use crate::array::PackedShape;
use crate::error::{Error, ErrorKind};
use crate::thread::Scoped;

/// One recorded use of a function, returned by [`Tensor::grad_fn`](crate::Tensor::grad_fn). A leaf's node accumulates
/// its gradient.
///
/// ```
/// use pullback::Tensor;
/// use pullback::ndarray::array;
///
/// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
/// let y = x.exp().sum();
/// let node = y.grad_fn().unwrap();
/// assert_eq!(node.name(), "Sum");
/// assert_eq!(format!("{:?}", node.next_functions()), "[Some(Exp)]");
/// ```
#[derive(Clone)]
pub struct Node(pub(crate) Thin<Header, dyn TapeNode>);

impl Node {
    #[inline]
    pub(crate) fn new<N: TapeNode + 'static>(header: Header, node: N) -> Self {
        Self(Thin::new(header, node, |node: &mut N| {
            node as &mut dyn TapeNode
        }))
    }

    /// The size of a node in memory.
    #[cfg(test)]
    pub(crate) const fn size_of<N: TapeNode>() -> usize {
        Thin::<Header, dyn TapeNode>::size_of::<N>()
    }

    /// Returns the error of this kind in this node's function.
    pub(crate) fn error(&self, kind: ErrorKind) -> Error {
        kind.of(self.name(), self.applied_at())
    }

    /// Returns the error of this node's backward function, which returned `source`.
    pub(crate) fn failed(&self, source: Box<dyn std::error::Error + Send + Sync>) -> Error {
        let kind = |reason| ErrorKind::Backward { reason };
        Error::failed(source, self.name(), self.applied_at(), kind)
    }

    #[inline]
    pub(crate) fn header(&self) -> &Header {
        self.0.head()
    }

    /// Returns the function's name.
    pub fn name(&self) -> &'static str {
        self.0.name()
    }

    /// Returns the nodes of the function's differentiable inputs, in their order; `None` for an input that
    /// requires no gradient.
    pub fn next_functions(&self) -> Vec<Option<Self>> {
        self.0
            .edges()
            .iter()
            .map(|edge| edge.as_ref().map(|edge| edge.node.clone()))
            .collect()
    }

    /// Returns the node's number, which is larger than those of all nodes that it depends on; 0 for leaves.
    #[inline]
    pub fn sequence_nr(&self) -> u64 {
        self.header().sequence_nr
    }

    /// Returns the line that applied the function.
    pub fn applied_at(&self) -> &'static Location<'static> {
        self.header().applied_at
    }

    /// Marks that an input of the function had a tangent. The node does not save it, so the tangents of its gradients
    /// are unknown.
    pub(crate) fn lose_tangents(&self) {
        self.0.flag().store(true, Ordering::Relaxed);
    }

    /// Returns whether an input of the function had a tangent.
    pub(crate) fn lost_tangents(&self) -> bool {
        self.0.flag().load(Ordering::Relaxed)
    }
}

/// A panic leaves no node half changed: user code runs on copies of what a node saves, with no lock held, and a pass
/// that panics changes nothing.
impl UnwindSafe for Node {}
impl RefUnwindSafe for Node {}

/// Handles on the same node are equal.
impl PartialEq for Node {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0.address() == other.0.address()
    }
}

impl Eq for Node {}

impl Hash for Node {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.address().hash(state);
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The destination of a gradient: a node, and the number of one of its outputs.
///
/// ```
/// use pullback::Tensor;
/// use pullback::ndarray::array;
///
/// let x = Tensor::from(array![1.0]).set_requires_grad(true);
/// let exp = x.exp().grad_fn().unwrap();
/// let edge = exp.edges()[0].as_ref().unwrap();
/// assert!(edge.node().is_leaf() && edge.output_nr() == 0);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    pub(crate) node: Node,
    pub(crate) output_nr: u32,
}

/// The head of every node.
#[derive(Debug)]
pub(crate) struct Header {
    /// See Note [Sequence numbers].
    pub(crate) sequence_nr: u64,
    /// The pass that visits the node. See Note [Marks].
    pub(crate) mark: Mark,
    pub(crate) applied_at: &'static Location<'static>,
}

thread_local! {
    static LAST_SEQUENCE_NR: Cell<u64> = const { Cell::new(0) };

    /// The line that new nodes have, if it is not the one that calls the function.
    static APPLIED_AT: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
}

/// Returns a number above those of all existing nodes. See Note [Floors].
pub(crate) fn new_floor() -> u64 {
    static FLOORS: AtomicU64 = AtomicU64::new(1);
    FLOORS.fetch_add(1, Ordering::Relaxed) << 32
}

/// Runs `body`, whose nodes get numbers above `floor`. Afterwards this thread's numbers continue where they were.
pub(crate) fn above<R>(floor: u64, body: impl FnOnce() -> R) -> R {
    let _scope = Scoped::set(&LAST_SEQUENCE_NR, floor);
    body()
}

/// Runs `body`, whose nodes are those of a function that this line applied.
pub(crate) fn applied_at<R>(line: &'static Location<'static>, body: impl FnOnce() -> R) -> R {
    let _scope = Scoped::set(&APPLIED_AT, Some(line));
    body()
}

impl Header {
    /// Makes the header of a node with these edges.
    #[inline]
    pub(crate) fn after(edges: &[Option<Edge>], applied_at: &'static Location<'static>) -> Self {
        let last = edges
            .iter()
            .flatten()
            .map(|edge| edge.node.sequence_nr())
            .fold(LAST_SEQUENCE_NR.get(), u64::max);
        LAST_SEQUENCE_NR.set(last + 1);
        Self {
            sequence_nr: last + 1,
            mark: Mark::default(),
            applied_at: APPLIED_AT.get().unwrap_or(applied_at),
        }
    }

    /// Returns whether the node is a leaf's.
    #[inline]
    pub(crate) fn is_leaf(&self) -> bool {
        self.sequence_nr == 0
    }

    /// Makes the header of a leaf's node.
    pub(crate) fn leaf(made_at: &'static Location<'static>) -> Self {
        Self {
            sequence_nr: 0,
            mark: Mark::default(),
            applied_at: made_at,
        }
    }
}

/// A node for the engine, without the types of its elements, ranks and saved values.
pub(crate) trait TapeNode: Send + Sync {
    fn name(&self) -> &'static str;

    /// Returns the name of the input at an edge, for errors; in a list with its index.
    fn input_name(&self, edge: usize) -> String;

    /// Returns the name of the gradient of an output in backward, if there is one.
    fn gradient_name(&self, _output: usize) -> Option<String> {
        None
    }

    /// Returns the edges, one for each differentiable input; `None` if no gradient is needed.
    fn edges(&self) -> &[Option<Edge>];

    fn edges_mut(&mut self) -> &mut [Option<Edge>];

    /// Returns the shapes of the differentiable outputs.
    fn outputs(&self) -> &[PackedShape];

    /// Computes the gradients of the inputs from those of the outputs.
    fn backward(&self, call: BackwardCall<'_>) -> Result<(), Error>;

    /// Returns an error if a pass that ends at this node, which has no edges, would lose a gradient.
    fn check_end(&self, _node: &Node) -> Result<(), Error> {
        Ok(())
    }

    /// Frees the saved values.
    fn free(&self);

    /// Describes the saved values to `note`; returns false after they were freed.
    fn saved(&self, _note: &mut NoteSaved<'_>) -> bool {
        true
    }

    /// Returns the storage of the hooks of a node that does not store them otherwise.
    fn hook_slot(&self) -> Option<&HookSlot> {
        None
    }

    /// Returns the hooks, if there are any. See Note [Hooks and locks] in `tape::hooks`.
    fn hooks(&self) -> Option<Arc<Hooks>> {
        self.hook_slot()?.get()
    }

    /// Adds or removes hooks.
    fn change_hooks(&self, change: &mut dyn FnMut(&mut Hooks)) {
        if let Some(slot) = self.hook_slot() {
            slot.change(change);
        }
    }

    /// Returns the accumulated gradient of a leaf; `None` for other nodes.
    fn accumulated(&self) -> Option<&Arc<Accumulated>> {
        None
    }
}

/// A call of a node's backward: its arguments and results.
pub(crate) struct BackwardCall<'a> {
    pub(crate) node: &'a Node,
    /// The gradient of each output; `None` for an undefined one.
    pub(crate) grads: &'a mut [Option<AnyGradient>],
    /// For each edge, whether this pass needs its gradient.
    pub(crate) needs: &'a [bool],
    /// Whether the gradients are recorded.
    pub(crate) create_graph: bool,
    /// The gradient of each edge, set by the node.
    pub(crate) results: &'a mut [Option<AnyGradient>],
    /// The hooks to call.
    pub(crate) hooking: Hooking,
    /// The gradients for `retain_grad`, which the pass stores when it has succeeded.
    pub(crate) retained: &'a mut Retained,
}

/// Gradients for `retain_grad`, with the tensors' accumulated gradients.
pub(crate) type Retained = Vec<(Arc<Accumulated>, AnyGradient)>;

impl BackwardCall<'_> {
    /// Returns the same call, borrowed.
    pub(crate) fn reborrow(&mut self) -> BackwardCall<'_> {
        BackwardCall {
            grads: self.grads,
            results: self.results,
            retained: self.retained,
            ..*self
        }
    }
}
