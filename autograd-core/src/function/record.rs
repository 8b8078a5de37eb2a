//! Recording one use of a function.

use std::fmt;
use std::ops::Deref;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

use ndarray::{Array, Dimension};

use crate::array::{Buffer, PackedShape};
use crate::element::Element;
use crate::error::Error;
use crate::function::edges::{EdgeList, input_of};
use crate::function::{Call, Signature};
use crate::tape::{BackwardCall, Edge, Header, Node, TapeNode, release_edges};
use crate::tensor::Tensor;

/// What all uses of one function have in common.
#[derive(Debug)]
pub struct Rule<S: 'static> {
    /// The function's signature.
    pub signature: &'static Signature,
    /// Calls the author's backward functions that a pass needs.
    pub backward: fn(S, &mut Call<'_>) -> Result<(), Error>,
}

/// A saved tensor: its memory alone. See Note [No cycles] in `tape`.
#[derive(Debug)]
pub struct Saved<T>(Buffer<T>);

impl<T: Element> Saved<T> {
    pub(crate) fn new<D: Dimension>(tensor: &Tensor<T, D>) -> Self {
        Self(tensor.raw.buffer.clone())
    }

    pub(crate) fn from_array<D: Dimension>(array: Array<T, D>) -> Self {
        Self(Buffer::compact(array))
    }

    pub(crate) fn into_buffer(self) -> Buffer<T> {
        self.0
    }
}

impl<T> Clone for Saved<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// The saved tensors of a list.
pub type SavedList<T> = Box<[Saved<T>]>;

/// A kept value. A copy is made for each backward pass, so a value that owns memory is shared.
pub enum Kept<V> {
    /// A number, a flag, an enum: copied.
    Inline(V),
    /// A vector, a string: shared.
    Shared(Arc<V>),
}

impl<V> Kept<V> {
    /// Keeps `value`.
    pub fn new(value: V) -> Self {
        if std::mem::needs_drop::<V>() {
            Self::Shared(Arc::new(value))
        } else {
            Self::Inline(value)
        }
    }
}

impl<V: Clone> Clone for Kept<V> {
    fn clone(&self) -> Self {
        match self {
            Self::Inline(value) => Self::Inline(value.clone()),
            Self::Shared(value) => Self::Shared(Arc::clone(value)),
        }
    }
}

impl<V> Deref for Kept<V> {
    type Target = V;

    fn deref(&self) -> &V {
        match self {
            Self::Inline(value) => value,
            Self::Shared(value) => value,
        }
    }
}

impl<V> fmt::Debug for Kept<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::any::type_name::<V>())
    }
}

/// What a forward function may return for a float output.
#[diagnostic::on_unimplemented(
    message = "forward returns `{Self}` where an array or a tensor of `{T}` is needed",
    label = "not an output"
)]
pub trait IntoOutput<T, D> {
    /// The output as a constant, to be attached to a node.
    fn into_output(self) -> Tensor<T, D>;
}

impl<T: Element, D: Dimension> IntoOutput<T, D> for Array<T, D> {
    fn into_output(self) -> Tensor<T, D> {
        Tensor::from(self)
    }
}

impl<T: Element, D: Dimension> IntoOutput<T, D> for Tensor<T, D> {
    fn into_output(self) -> Self {
        self.detach()
    }
}

/// Makes the node of one use of a function, at the line that called `apply`.
#[track_caller]
pub fn record<S, E, const OUT: usize>(
    rule: &'static Rule<S>,
    edges: E,
    state: S,
    outputs: [PackedShape; OUT],
) -> Node
where
    S: Clone + Send + Sync + 'static,
    E: EdgeList,
{
    Node(Arc::new(FunctionNode {
        header: Header::after(edges.edges(), Location::caller()),
        rule,
        edges,
        outputs,
        state: Mutex::new(Some(state)),
    }))
}

/// One use of a function. It depends on the function's type in no way but through `rule`, so a program
/// with many functions has few of these.
struct FunctionNode<S: 'static, E: EdgeList, const OUT: usize> {
    header: Header,
    rule: &'static Rule<S>,
    edges: E,
    outputs: [PackedShape; OUT],
    /// `None` once it was freed.
    state: Mutex<Option<S>>,
}

impl<S, E, const OUT: usize> TapeNode for FunctionNode<S, E, OUT>
where
    S: Clone + Send + Sync + 'static,
    E: EdgeList,
{
    fn header(&self) -> &Header {
        &self.header
    }

    fn name(&self) -> &'static str {
        self.rule.signature.name
    }

    fn input_name(&self, edge: usize) -> String {
        let (input, place) = input_of(self.edges.ends(), edge);
        self.rule.signature.differentiable_input(input, place)
    }

    fn edges(&self) -> &[Option<Edge>] {
        self.edges.edges()
    }

    fn edges_mut(&mut self) -> &mut [Option<Edge>] {
        self.edges.edges_mut()
    }

    fn outputs(&self) -> &[PackedShape] {
        &self.outputs
    }

    fn backward(&self, call: BackwardCall<'_>) -> Result<(), Error> {
        // The author's code runs on a copy of the handles, with the lock released: it may start a
        // pass through this very node.
        let state = self
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let Some(state) = state else {
            return Err(Error::Freed {
                function: self.name(),
                applied_at: self.header.applied_at,
            });
        };
        let mut call = Call::new(call, self.rule.signature, self.edges.ends());
        (self.rule.backward)(state, &mut call)?;
        call.finish()
    }

    fn free(&self) {
        let state = self
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(state);
    }
}

impl<S: 'static, E: EdgeList, const OUT: usize> Drop for FunctionNode<S, E, OUT> {
    fn drop(&mut self) {
        release_edges(self.edges.edges_mut());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_of_one_input_that_keeps_one_tensor_is_small() {
        // With its two reference counts. A link of a long chain is this and the buffer that it keeps,
        // whose size `array` knows; the bar is 250 bytes.
        let node = size_of::<FunctionNode<(Option<Saved<f32>>, ()), [Option<Edge>; 1], 1>>() + 16;
        assert_eq!(node, 120);
    }

    #[test]
    fn values_that_own_memory_are_shared() {
        assert!(matches!(Kept::new(2.5), Kept::Inline(_)));
        let kept = Kept::new(vec![1, 2]);
        assert_eq!(kept.clone().as_ptr(), kept.as_ptr());
    }
}
