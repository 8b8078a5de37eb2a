//! Recording one use of a function.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::panic::Location;
use std::sync::Arc;

use ndarray::{Array, Dimension};

use crate::alloc::Brief;
use crate::array::{Buffer, PackedShape};
use crate::error::panic::caught;
use crate::error::{Error, ErrorKind};
use crate::function::EdgeList;
use crate::function::lists::owner;
use crate::function::panics::backward_panicked;
use crate::function::{Call, OutputList, SavedItems, Signature};
use crate::tape::{
    self, BackwardCall, Edge, Header, Node, NoteSaved, RawTensor, TapeNode, drop_edges, drop_held,
};
use crate::tape::{Hooking, Hooks, call_new_hooks, run_with_hooks};
use crate::tensor::Tensor;
use autograd_kernels::{Element, Shape};

/// The part of a node that all uses of one function share.
#[derive(Debug)]
pub struct Rule<S: 'static> {
    /// The function's signature.
    pub signature: &'static Signature,
    /// Calls the backward functions that a pass needs.
    pub backward: fn(S, &mut Call<'_>) -> Result<(), Error>,
}

/// A saved value, which all passes share. `V` has no bounds here: they are checked where the value is saved. Cloning
/// runs no user code: it happens under a node's lock.
pub struct SavedValue<V: 'static> {
    /// `Some` until it is dropped.
    value: Option<Arc<dyn Any + Send + Sync>>,
    clone: fn(&V) -> V,
}

impl<V: Clone + Send + Sync + 'static> SavedValue<V> {
    /// Saves `value`.
    pub fn new(value: V) -> Self {
        Self {
            value: Some(Arc::new(value)),
            clone: V::clone,
        }
    }
}

impl<V: 'static> SavedValue<V> {
    /// Returns a copy of the value.
    pub fn to_value(&self) -> V {
        (self.clone)(self)
    }

    /// Describes the value for display.
    pub(super) fn info(&self) -> tape::SavedInfo {
        let value = self.value.as_ref();
        tape::SavedInfo::value::<V>(value.map(|value| Arc::as_ptr(value).addr()))
    }
}

impl<V: 'static> Clone for SavedValue<V> {
    fn clone(&self) -> Self {
        Self {
            value: self.value.clone(),
            clone: self.clone,
        }
    }
}

impl<V: 'static> Drop for SavedValue<V> {
    fn drop(&mut self) {
        // When two threads drop the last two handles at once, neither may be the last here: the value is then dropped
        // in the ordinary way.
        if let Some(value) = self.value.take_if(|value| Arc::strong_count(value) == 1) {
            drop_held(value);
        }
    }
}

impl<V: 'static> Deref for SavedValue<V> {
    type Target = V;

    fn deref(&self) -> &V {
        let value = self.value.as_deref().and_then(|value| value.downcast_ref());
        // INVARIANT: taken only in `drop`, and made of a `V`.
        value.expect("a value until it is dropped")
    }
}

impl<V: 'static> fmt::Debug for SavedValue<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::any::type_name::<V>())
    }
}

/// A saved number or flag, which costs less to copy than to share.
#[derive(Clone, Copy)]
pub struct SavedNumber<V>(V);

impl<V: Copy + 'static> SavedNumber<V> {
    /// Saves `value`.
    pub fn new(value: &V) -> Self {
        Self(*value)
    }

    /// Returns the number.
    pub fn to_value(&self) -> V {
        self.0
    }
}

impl<V> Deref for SavedNumber<V> {
    type Target = V;

    fn deref(&self) -> &V {
        &self.0
    }
}

impl<V> fmt::Debug for SavedNumber<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::any::type_name::<V>())
    }
}

/// The saved shape of an input.
#[derive(Clone)]
pub struct SavedShape(Shape);

impl SavedShape {
    /// Saves the shape of `tensor`.
    pub fn of<T: Element, D: Dimension>(tensor: &Tensor<T, D>) -> Self {
        Self(tensor.to_shape())
    }
}

impl Deref for SavedShape {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl fmt::Debug for SavedShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A value that a forward function may return for a float output.
#[diagnostic::on_unimplemented(
    message = "forward returns `{Self}` where an array or a tensor of `{T}` is needed",
    label = "not an output"
)]
pub trait IntoOutput<T, D> {
    /// Returns the output as a constant, to attach it to a node.
    fn into_output(self) -> Tensor<T, D>;
}

impl<T: Element, D: Dimension> IntoOutput<T, D> for Array<T, D> {
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "in registers inlined, through memory twice if not"
    )]
    fn into_output(self) -> Tensor<T, D> {
        Tensor::constant(Buffer::compact(self))
    }
}

impl<T: Element, D: Dimension> IntoOutput<T, D> for Tensor<T, D> {
    fn into_output(self) -> Self {
        self.detach()
    }
}

/// Makes the node of one use of a function, at the line that called `apply`.
#[track_caller]
pub fn record<S, E, O>(rule: &'static Rule<S>, edges: E, saved: S, outputs: O) -> Node
where
    S: SavedItems,
    E: EdgeList,
    O: OutputList,
{
    record_at(Location::caller(), rule, edges, saved, outputs)
}

/// Makes the node of one use of a function, applied at this line.
#[inline]
pub fn record_at<S, E, O>(
    applied_at: &'static Location<'static>,
    rule: &'static Rule<S>,
    edges: E,
    saved: S,
    outputs: O,
) -> Node
where
    S: SavedItems,
    E: EdgeList,
    O: OutputList,
{
    let header = Header::after(edges.edges(), applied_at);
    Node::new(
        header,
        FunctionNode {
            rule,
            edges,
            outputs,
            contents: Brief::new(Contents::Live(saved)),
        },
    )
}

/// Returns the shape of an output, for its node.
#[inline]
pub fn meta<T: Element, D: Dimension>(tensor: &Tensor<T, D>) -> PackedShape {
    PackedShape::from(tensor.raw.buffer.shape())
}

/// Attaches a constant to a node, as its output.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "in registers inlined, through memory twice if not"
)]
pub fn attach<T: Element, D: Dimension>(
    tensor: Tensor<T, D>,
    node: Node,
    output_nr: usize,
) -> Tensor<T, D> {
    debug_assert!(tensor.raw.is_plain());
    let edge = output_edge(node, output_nr);
    Tensor::from_raw(RawTensor::new(tensor.raw.buffer, Some(edge)))
}

/// Returns the edge to an output of a node.
#[inline]
pub(crate) fn output_edge(node: Node, output_nr: usize) -> Edge {
    // INVARIANT: a tuple of outputs has no 2^32 elements.
    let output_nr = u32::try_from(output_nr).expect("fewer than 2^32 outputs");
    Edge { node, output_nr }
}

/// One use of a function. Only `rule` depends on the function, so a program with many functions has few types of nodes.
struct FunctionNode<S: 'static, E: EdgeList, O: OutputList> {
    rule: &'static Rule<S>,
    edges: E,
    outputs: O,
    contents: Brief<Contents<S>>,
}

/// The saved values and hooks of a node. With hooks they are boxed, so that nodes without hooks stay small: with two
/// more words a node of one input would not fit the blocks that threads reuse.
enum Contents<S> {
    Live(S),
    Freed,
    Hooked(Box<Hooked<S>>),
}

struct Hooked<S> {
    /// `None` after it was freed.
    saved: Option<S>,
    hooks: Arc<Hooks>,
}

impl<S> Hooked<S> {
    /// Returns what is left after the saved values were freed.
    fn freed(&self) -> Contents<S> {
        let Some(hooks) = self.hooks.only_retained() else {
            return Contents::Freed;
        };
        let (saved, hooks) = (None, Arc::new(hooks));
        Contents::Hooked(Box::new(Self { saved, hooks }))
    }
}

impl<S: Clone, E: EdgeList, O: OutputList> FunctionNode<S, E, O> {
    /// Calls the backward functions, if the saved values were not freed.
    #[inline]
    fn run(&self, saved: Option<S>, call: BackwardCall<'_>) -> Result<bool, Error> {
        let (node, signature) = (call.node, self.rule.signature);
        let Some(saved) = saved else {
            return Err(node.error(ErrorKind::Freed));
        };
        let ends = [self.edges.ends(), self.outputs.ends()];
        let mut call = Call::new(call, signature, ends);
        // The call is borrowed: the closure itself is copied.
        match caught(|| (self.rule.backward)(saved, &mut call)) {
            Ok(result) => result.and_then(|()| call.finish()),
            Err(panic) => backward_panicked(panic, node, signature),
        }
    }
}

impl<S, E, O> TapeNode for FunctionNode<S, E, O>
where
    S: SavedItems,
    E: EdgeList,
    O: OutputList,
{
    fn name(&self) -> &'static str {
        self.rule.signature.name
    }

    fn input_name(&self, edge: usize) -> String {
        let (input, index) = owner(self.edges.ends(), edge);
        self.rule.signature.differentiable_input(input, index)
    }

    fn gradient_name(&self, output: usize) -> Option<String> {
        let (output, index) = owner(self.outputs.ends(), output);
        self.rule.signature.gradient_name(output, index)
    }

    fn edges(&self) -> &[Option<Edge>] {
        self.edges.edges()
    }

    fn edges_mut(&mut self) -> &mut [Option<Edge>] {
        self.edges.edges_mut()
    }

    fn outputs(&self) -> &[PackedShape] {
        self.outputs.shapes()
    }

    fn backward(&self, mut call: BackwardCall<'_>) -> Result<(), Error> {
        // User code runs on copies of the handles, with the lock released: it may start a pass through this node.
        let (mut saved, hooks) = self.contents.with(|contents| match contents {
            Contents::Live(saved) => (Some(saved.clone()), None),
            Contents::Freed => (None, None),
            Contents::Hooked(hooked) => (hooked.saved.clone(), Some(Arc::clone(&hooked.hooks))),
        });
        let Some(hooks) = hooks else {
            // While saved tensors were unpacked, user code may have registered hooks.
            if self.run(saved, call.reborrow())? && call.hooking != Hooking::None {
                return call_new_hooks(self.hooks(), call);
            }
            return Ok(());
        };
        let mut run = |call: BackwardCall<'_>| self.run(saved.take(), call).map(|_| ());
        run_with_hooks(&hooks, call, &mut run, &|| self.hooks())
    }

    fn free(&self) {
        let former = self.contents.with(|contents| {
            let freed = match contents {
                Contents::Hooked(hooked) => hooked.freed(),
                _ => Contents::Freed,
            };
            std::mem::replace(contents, freed)
        });
        // After the lock is released: dropping values and hooks may run user code.
        drop(former);
    }

    fn saved(&self, note: &mut NoteSaved<'_>) -> bool {
        // The owner of a tensor's memory is asked for its address, which runs user code: on copies of the handles, with
        // the lock released.
        let saved = self.contents.with(|contents| match contents {
            Contents::Live(saved) => Some(saved.clone()),
            Contents::Freed => None,
            Contents::Hooked(hooked) => hooked.saved.clone(),
        });
        let Some(saved) = saved else {
            return false;
        };
        let names = self.rule.signature.saved;
        saved.list(0, &mut |entry, info, index| {
            note(info, names.get(entry).map_or("", |saved| saved.name), index);
        });
        true
    }

    fn hooks(&self) -> Option<Arc<Hooks>> {
        self.contents.with(|contents| match contents {
            Contents::Hooked(hooked) => Some(Arc::clone(&hooked.hooks)),
            _ => None,
        })
    }

    fn change_hooks(&self, change: &mut dyn FnMut(&mut Hooks)) {
        let former = self.contents.with(|contents| {
            let (saved, former) = match std::mem::replace(contents, Contents::Freed) {
                Contents::Live(saved) => (Some(saved), None),
                Contents::Freed => (None, None),
                Contents::Hooked(hooked) => (hooked.saved, Some(hooked.hooks)),
            };
            let mut hooks = former.as_deref().cloned().unwrap_or_default();
            change(&mut hooks);
            let hooks = Arc::new(hooks);
            *contents = Contents::Hooked(Box::new(Hooked { saved, hooks }));
            former
        });
        // After the lock is released: a hook may have a value of a user.
        drop(former);
    }
}

impl<S: 'static, E: EdgeList, O: OutputList> Drop for FunctionNode<S, E, O> {
    fn drop(&mut self) {
        drop_edges(self.edges.edges_mut());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::saved::Saved;

    #[test]
    fn a_node_of_one_input_and_one_saved_tensor_is_small() {
        // A link of a long chain is this node and the buffer that it saves (see `array`): less than 250 bytes.
        type Link = FunctionNode<(Option<Saved<f32>>, ()), [Option<Edge>; 1], [PackedShape; 1]>;
        assert_eq!(Node::size_of::<Link>(), 120);
    }

    #[test]
    fn values_are_shared() {
        let saved = SavedValue::new(vec![1, 2]);
        let same = saved.clone();
        assert_eq!(same.as_ptr(), saved.as_ptr());
        let copy = same.to_value();
        assert_ne!(copy.as_ptr(), saved.as_ptr());
    }
}
