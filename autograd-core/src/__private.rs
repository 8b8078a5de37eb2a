//! The only door for generated code. Not part of the public interface: anything here may change with
//! any version.

#[cfg(feature = "catalogue")]
pub use inventory;
pub use ndarray;

pub use crate::__register as register;
pub use crate::array::PackedShape;
#[cfg(feature = "catalogue")]
pub use crate::catalogue::Entry;
pub use crate::error::Error;
pub use crate::function::{
    Call, EdgeList, EdgeLists, ForwardCall, Function, GradOutput, InPlace, InputSignature,
    IntoGradient, IntoGradients, IntoOutput, IntoTangent, Kept, KeptItem, KeptItems, Order, Origin,
    OutputSignature, Rule, SavedSignature, Signature, record,
};
pub use crate::grad_mode::{GradModeGuard, unrecorded};
pub use crate::gradcheck::generated::{gradcheck, lent, sample, succeeded};
pub use crate::saved::{Saved, SavedList};
pub use crate::tape::{AnyGradient, Edge, Gradient, Node};
pub use crate::tape::{Dual, RawTensor};
pub use crate::tensor::{
    Tensor, Tensor0, Tensor1, Tensor2, Tensor3, Tensor4, Tensor5, Tensor6, TensorD,
};
pub use autograd_kernels::Element;
pub use std::borrow::{Borrow, ToOwned};

use ndarray::{Array, ArrayView, Dimension};

/// Puts a function into the catalogue: its signature, what its author says, and the name of its test.
#[cfg(feature = "catalogue")]
#[doc(hidden)]
#[macro_export]
macro_rules! __register {
    ($signature:path, $docs:expr $(, $test:literal)?) => {
        $crate::__private::inventory::submit! {
            $crate::__private::Entry::new(
                &$signature,
                $docs,
                ::core::module_path!(),
                ::core::file!(),
                ::core::line!(),
            )
            $(.with_test(::core::option_env!("CARGO_PKG_NAME"), $test))?
        }
    };
}

/// There is no catalogue.
#[cfg(not(feature = "catalogue"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __register {
    ($($function:tt)*) => {};
}

/// What stands behind the name of a type that `#[tensor]` marks.
pub trait TensorType {
    /// The element type.
    type Element;
    /// The dimension.
    type Dim;
}

impl<T, D> TensorType for ArrayView<'_, T, D> {
    type Element = T;
    type Dim = D;
}

impl<T, D> TensorType for Array<T, D> {
    type Element = T;
    type Dim = D;
}

impl<T, D> TensorType for Tensor<T, D> {
    type Element = T;
    type Dim = D;
}

/// Where the gradient of an input goes; `None` if none is needed or nothing is recorded.
#[inline]
pub fn edge<T: Element, D: Dimension>(tensor: &Tensor<T, D>) -> Option<Edge> {
    tensor.recorded_edge()
}

/// As [`edge`], of an optional input.
#[inline]
pub fn edge_optional<T: Element, D: Dimension>(tensor: Option<&Tensor<T, D>>) -> Option<Edge> {
    tensor.and_then(Tensor::recorded_edge)
}

/// The edge of a single input, beside those of lists.
pub fn one(edge: Option<Edge>) -> Vec<Option<Edge>> {
    vec![edge]
}

/// As [`edge`], of each tensor of a list.
pub fn edge_list<T: Element, D: Dimension>(list: &[&Tensor<T, D>]) -> Vec<Option<Edge>> {
    list.iter().map(|tensor| edge(tensor)).collect()
}

/// The largest level of forward mode that an input has a tangent of; 0 without any.
#[inline]
pub fn level<T: Element, D: Dimension>(tensor: &Tensor<T, D>) -> u64 {
    tensor.raw.level()
}

/// As [`level`], of an optional input.
#[inline]
pub fn level_optional<T: Element, D: Dimension>(tensor: Option<&Tensor<T, D>>) -> u64 {
    tensor.map_or(0, level)
}

/// As [`level`], of a list.
#[inline]
pub fn level_list<T: Element, D: Dimension>(list: &[&Tensor<T, D>]) -> u64 {
    list.iter().map(|tensor| level(tensor)).fold(0, u64::max)
}

/// The largest of the inputs' levels.
#[inline]
pub fn largest<const N: usize>(levels: [u64; N]) -> u64 {
    levels.into_iter().fold(0, u64::max)
}

/// Which inputs need a gradient.
#[inline]
pub fn needs<const N: usize>(edges: &[Option<Edge>; N]) -> [bool; N] {
    std::array::from_fn(|input| edges[input].is_some())
}

/// Whether any input needs a gradient.
#[inline]
pub fn any<const N: usize>(needs: &[bool; N]) -> bool {
    needs.contains(&true)
}

/// An input as a view.
#[inline]
pub fn view<T: Element, D: Dimension>(tensor: &Tensor<T, D>) -> ArrayView<'_, T, D> {
    tensor.view()
}

/// An optional input as a view.
#[inline]
pub fn view_optional<T: Element, D: Dimension>(
    tensor: Option<&Tensor<T, D>>,
) -> Option<ArrayView<'_, T, D>> {
    tensor.map(Tensor::view)
}

/// The tensors of a list as views.
pub fn views<'a, T: Element, D: Dimension>(list: &[&'a Tensor<T, D>]) -> Vec<ArrayView<'a, T, D>> {
    list.iter().map(|tensor| tensor.view()).collect()
}

/// As [`views`], of a list that owns its tensors.
pub fn views_owned<T: Element, D: Dimension>(list: &[Tensor<T, D>]) -> Vec<ArrayView<'_, T, D>> {
    list.iter().map(Tensor::view).collect()
}

/// Tangents of a list as views.
pub fn views_optional<T: Element, D: Dimension>(
    list: &[Option<Tensor<T, D>>],
) -> Vec<Option<ArrayView<'_, T, D>>> {
    let views = list.iter().map(|tensor| view_optional(tensor.as_ref()));
    views.collect()
}

/// The tensors of a list by reference, as `apply` takes them.
pub fn references<T, D>(list: &[Tensor<T, D>]) -> Vec<&Tensor<T, D>> {
    list.iter().collect()
}

/// An input as an array: its memory if nobody else holds it.
#[inline]
pub fn take<T: Element, D: Dimension>(tensor: Tensor<T, D>) -> Array<T, D> {
    tensor.into_array()
}

/// An optional input as an array.
pub fn take_optional<T: Element, D: Dimension>(
    tensor: Option<Tensor<T, D>>,
) -> Option<Array<T, D>> {
    tensor.map(Tensor::into_array)
}

/// Saves a tensor that a backward function asks for.
#[inline]
pub fn save_if<T: Element, D: Dimension>(needed: bool, tensor: &Tensor<T, D>) -> Option<Saved<T>> {
    needed.then(|| Saved::new(tensor))
}

/// Saves an optional tensor that a backward function asks for.
#[inline]
pub fn save_optional_if<T: Element, D: Dimension>(
    needed: bool,
    tensor: Option<&Tensor<T, D>>,
) -> Option<Saved<T>> {
    tensor.filter(|_| needed).map(Saved::new)
}

/// Saves a list that a backward function asks for.
pub fn save_list_if<T: Element, D: Dimension>(
    needed: bool,
    list: &[&Tensor<T, D>],
) -> Option<SavedList<T>> {
    needed.then(|| list.iter().map(|tensor| Saved::new(*tensor)).collect())
}

/// Saves an intermediate that a backward function asks for.
#[inline]
pub fn save_array_if<T: Element, D: Dimension>(
    needed: bool,
    array: Array<T, D>,
) -> Option<Saved<T>> {
    needed.then(|| Saved::from_array(array))
}

/// A value that can be kept for backward: `Clone + Send + Sync + 'static`. What is missing of these the
/// compiler says itself, at the value's type.
pub trait Keep: Sized {
    /// The value as a node keeps it.
    type Kept: KeptItem;

    /// Keeps a copy.
    fn keep(&self) -> Self::Kept;

    /// Keeps the value itself.
    fn into_kept(self) -> Self::Kept;
}

impl<V: Clone + Send + Sync + 'static> Keep for V {
    type Kept = Kept<V>;

    fn keep(&self) -> Kept<V> {
        Kept::new(self.clone())
    }

    fn into_kept(self) -> Kept<V> {
        Kept::new(self)
    }
}

/// Keeps a value if a backward function that asks for it can still be called.
#[inline]
pub fn keep_if<K>(needed: bool, kept: impl FnOnce() -> K) -> Option<K> {
    needed.then(kept)
}

/// What a node remembers of an output.
#[inline]
pub fn meta<T: Element, D: Dimension>(tensor: &Tensor<T, D>) -> PackedShape {
    PackedShape::from(tensor.raw.buffer.shape())
}

/// Makes a constant an output of a node.
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

/// Makes a tensor that forward wrote to an output of a node.
#[inline]
pub fn attach_in_place<T: Element, D: Dimension>(
    tensor: &mut Tensor<T, D>,
    node: Node,
    output_nr: usize,
) {
    tensor.raw.edge = Some(output_edge(node, output_nr));
}

#[inline]
fn output_edge(node: Node, output_nr: usize) -> Edge {
    // INVARIANT: a tuple of outputs has no 2^32 elements.
    let output_nr = u32::try_from(output_nr).expect("fewer than 2^32 outputs");
    Edge { node, output_nr }
}

/// What the pruning kept, as a view.
#[inline]
pub fn saved_view<T: Element, D: Dimension>(saved: &Option<Tensor<T, D>>) -> ArrayView<'_, T, D> {
    saved_tensor(saved).view()
}

/// What the pruning kept of an optional input, as a view.
pub fn saved_view_optional<T: Element, D: Dimension>(
    saved: &Option<Tensor<T, D>>,
) -> Option<ArrayView<'_, T, D>> {
    saved.as_ref().map(Tensor::view)
}

/// What the pruning kept, as a tensor.
#[inline]
pub fn saved_tensor<T: Element, D: Dimension>(saved: &Option<Tensor<T, D>>) -> &Tensor<T, D> {
    // INVARIANT: a backward function is called only for inputs that needed a gradient at `apply`, and
    // what it asks for was kept then.
    saved.as_ref().expect("kept for this backward function")
}

/// What the pruning kept of an optional input, as a tensor.
pub fn saved_tensor_optional<T: Element, D: Dimension>(
    saved: &Option<Tensor<T, D>>,
) -> Option<&Tensor<T, D>> {
    saved.as_ref()
}

/// What the pruning kept of a list, as tensors.
pub fn saved_list<T: Element, D: Dimension>(saved: &Option<Vec<Tensor<T, D>>>) -> &[Tensor<T, D>] {
    // INVARIANT: as in `saved_tensor`.
    saved.as_ref().expect("kept for this backward function")
}

/// What the pruning kept, as an array of the function's own.
pub fn saved_owned<T: Element, D: Dimension>(saved: &Option<Tensor<T, D>>) -> Array<T, D> {
    saved_tensor(saved).to_array()
}

/// What the pruning kept of an optional input, as an array of the function's own.
pub fn saved_owned_optional<T: Element, D: Dimension>(
    saved: &Option<Tensor<T, D>>,
) -> Option<Array<T, D>> {
    saved.as_ref().map(Tensor::to_array)
}

/// A value that the pruning kept.
#[inline]
pub fn kept<V: 'static>(kept: &Option<Kept<V>>) -> &V {
    // INVARIANT: as in `saved_tensor`.
    kept.as_ref().expect("kept for this backward function")
}
