//! The items that generated code uses. Not part of the public interface: anything here may change in any version.

mod argument;
mod holds_tensor;

#[cfg(feature = "catalogue")]
pub use inventory;
pub use ndarray;

pub use crate::__register as register;
pub use crate::array::PackedShape;
#[cfg(feature = "catalogue")]
pub use crate::catalogue::Entry;
pub use crate::elementwise::{
    Derivatives, Elementwise, Pairs, dynamic, ranked, ranked_array, values,
};
pub use crate::erased::AnyTensor;
pub use crate::error::Error;
pub use crate::error::panic::{Panic, catching_passes, caught};
pub use crate::function::{
    Call, Dims, EdgeList, ForwardCall, Function, GradOutput, GradOutputs, InPlace, InputShapes,
    InputSignature, IntoGradient, IntoGradients, IntoLength, IntoOutput, IntoSource, IntoTangent,
    IntoTangents, Length, Lengths, Lists, Once, Order, Origin, OutputList, OutputShapes,
    OutputSignature, Restore, Rule, SavedItem, SavedItems, SavedNumber, SavedShape, SavedSignature,
    SavedValue, ShapeTable, Signature, attach, forward_panicked, forward_panicked_at, meta,
    nothing_computed, record, record_at, shape_of, shapes_of, shapes_of_dims,
};
pub use crate::functional::ExampleError;
pub use crate::functional::vmap::{BatchCall, BatchExample, BatchInput, BatchOutputs};
pub use crate::gradcheck::Gradcheck;
pub use crate::gradcheck::adjoint::adjoint;
pub use crate::gradcheck::batch::{EXAMPLES, batch, example, vmap};
pub use crate::gradcheck::generated::{
    Drawn, NoReason, Reason, gradcheck, lent, made, sample, succeeded,
};
pub use crate::implicit::{
    Failure, Link, System, constants, erased_tangents, list_of, optional_of, single_of,
};
pub use crate::saved::{Saved, SavedList};
pub use crate::scan::{Scan, scan_values};
pub use crate::tape::{AnyGradient, DualTensor, Edge, Gradient, Node, RawTensor};
pub use crate::tensor::{
    ListElement, Tensor, Tensor0, Tensor1, Tensor2, Tensor3, Tensor4, Tensor5, Tensor6, TensorD,
};
pub use crate::thread::unrecorded;
pub use argument::{Argument, Save, Single, View};
pub use autograd_kernels::{
    Blocks, Element, Elements, Entries, Faster, Formula, Item, Literal, MOST_NUMBERS, Place, Plain,
    Real, Reduction, Scans, Side, SliceFormula, SliceScans, chosen, entries, from_plain, known,
    list_value, of_numbers, parts, passed, plain, plain_row, pulled_back, put, row, row_of,
    slope_of_divisor, value_of, variable,
};
pub use holds_tensor::{HoldsNone, HoldsTensor, Probe, Storage, is_value};

use crate::function::output_edge;
use ndarray::{Array, ArrayView, Dimension};

/// Adds a function to the catalogue: its signature, its documentation, its name in the source, and the name of its
/// test.
#[cfg(feature = "catalogue")]
#[doc(hidden)]
#[macro_export]
macro_rules! __register {
    ($signature:path, $docs:expr, $item:literal $(, $test:literal)?) => {
        $crate::__private::inventory::submit! {
            $crate::__private::Entry::new(
                &$signature,
                $docs,
                [::core::module_path!(), $item],
                ::core::file!(),
                ::core::line!(),
            )
            $(.with_test(::core::option_env!("CARGO_PKG_NAME"), $test))?
        }
    };
}

/// Does nothing: there is no catalogue.
#[cfg(not(feature = "catalogue"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __register {
    ($($function:tt)*) => {};
}

/// The element type and dimension of a type that is marked `#[tensor]`.
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

/// An owned array under a name of its own, which is marked `#[tensor]`.
#[diagnostic::on_unimplemented(
    message = "an alias of a view is written with its lifetime",
    label = "write `<'_>` after this name",
    note = "without a lifetime, an alias is one of an owned array"
)]
pub trait FromArray: TensorType + Sized {
    /// Returns the array.
    fn from_array(array: Array<Self::Element, Self::Dim>) -> Self;
}

impl<T, D> FromArray for Array<T, D> {
    #[inline]
    fn from_array(array: Self) -> Self {
        array
    }
}

/// Returns the largest of the inputs' depths.
#[inline]
pub fn largest<const N: usize>(depths: [u64; N]) -> u64 {
    depths.into_iter().fold(0, u64::max)
}

/// Returns for each input whether it needs a gradient.
#[inline]
pub fn needs<const N: usize>(edges: &[Option<Edge>; N]) -> [bool; N] {
    std::array::from_fn(|input| edges[input].is_some())
}

/// Returns whether any input needs a gradient.
#[inline]
pub fn any<const N: usize>(needs: &[bool; N]) -> bool {
    needs.contains(&true)
}

/// Returns the tensors of a list by reference.
pub fn references<T, D, L: ListElement<T, D>>(list: &[L]) -> Vec<&Tensor<T, D>> {
    list.iter().map(ListElement::as_tensor).collect()
}

/// Returns the tangents of a list by reference.
pub fn optional_references<T, D>(list: &[Option<Tensor<T, D>>]) -> Vec<Option<&Tensor<T, D>>> {
    list.iter().map(Option::as_ref).collect()
}

/// Returns the tensors of a list without their histories.
pub fn detached<T: Element, D: Dimension>(list: &[&Tensor<T, D>]) -> Vec<Tensor<T, D>> {
    list.iter().map(|tensor| tensor.detach()).collect()
}

/// Returns the gradients of a list without their histories; `None` for undefined ones.
pub fn detached_optional<T: Element, D: Dimension>(
    list: &[Option<&Tensor<T, D>>],
) -> Vec<Option<Tensor<T, D>>> {
    list.iter()
        .map(|tensor| tensor.map(Tensor::detach))
        .collect()
}

/// Converts a list that forward returned to tensors, to attach them to a node.
pub fn into_outputs<T, D, O: IntoOutput<T, D>>(list: Vec<O>) -> Vec<Tensor<T, D>> {
    list.into_iter().map(IntoOutput::into_output).collect()
}

/// A value that can be saved for backward.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be saved for backward: it must be `Clone + Send + Sync + 'static`",
    label = "a backward function asks for it",
    note = "derive `Clone`; share what cannot be cloned in an `Arc`; in place of what threads cannot share (`Rc`, \
            `RefCell`, a raw pointer), take `Arc` and `Mutex`"
)]
pub trait SaveValue: Sized + 'static {
    /// Saves a copy.
    fn save(&self) -> SavedValue<Self>;

    /// Saves a copy of an optional value.
    fn save_optional(value: Option<&Self>) -> SavedValue<Option<Self>>;

    /// Saves the value itself.
    fn into_saved(self) -> SavedValue<Self>;
}

#[diagnostic::do_not_recommend]
impl<V: Clone + Send + Sync + 'static> SaveValue for V {
    fn save(&self) -> SavedValue<V> {
        SavedValue::new(self.clone())
    }

    fn save_optional(value: Option<&V>) -> SavedValue<Option<V>> {
        SavedValue::new(value.cloned())
    }

    fn into_saved(self) -> SavedValue<V> {
        SavedValue::new(self)
    }
}

/// A value that the examples of a batch share.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be shared by the examples of a batch: it must be `Clone + Sync`",
    label = "each example gets a copy of it",
    note = "derive `Clone`; in place of what threads cannot share (`Rc`, `RefCell`, a raw pointer), take `Arc` and \
            `Mutex`"
)]
pub trait ShareValue {}

#[diagnostic::do_not_recommend]
impl<V: Clone + Sync> ShareValue for V {}

/// Does nothing: examples can share the value.
pub fn is_shared<V: ShareValue>(_: &V) {}

/// The result of a function that can fail, under any name.
pub trait Fallible {
    /// The error.
    type Error;
}

impl<R, E> Fallible for Result<R, E> {
    type Error = E;
}

/// Saves a value if a backward function that needs it can be called.
#[inline]
pub fn save_if<S>(needed: bool, value: impl FnOnce() -> S) -> Option<S> {
    needed.then(value)
}

/// Returns the shapes of a list or of an optional output, for its node.
pub fn metas<'a, T: Element, D: Dimension + 'a>(
    tensors: impl IntoIterator<Item = &'a Tensor<T, D>>,
) -> Vec<PackedShape> {
    tensors.into_iter().map(meta).collect()
}

/// Attaches constants to a node, as its outputs from the number `first` on.
pub fn attach_list<T: Element, D: Dimension>(
    tensors: Vec<Tensor<T, D>>,
    node: &Node,
    first: usize,
) -> Vec<Tensor<T, D>> {
    let tensors = tensors.into_iter().zip(first..);
    let attach = |(tensor, output_nr)| attach(tensor, node.clone(), output_nr);
    tensors.map(attach).collect()
}

/// Attaches a tensor to the node whose forward wrote to it, as its output.
#[inline]
pub fn attach_in_place<T: Element, D: Dimension>(
    tensor: &mut Tensor<T, D>,
    node: Node,
    output_nr: usize,
) {
    tensor.raw.edge = Some(output_edge(node, output_nr));
}

/// Returns a saved item.
#[inline]
pub fn saved<S>(saved: &Option<S>) -> &S {
    // INVARIANT: a backward function is called only for inputs that needed a gradient at `apply`, which saved the items
    // that it needs.
    saved.as_ref().expect("saved for this backward function")
}
