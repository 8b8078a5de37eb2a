//! Differentiable functions, as `#[custom_function]` generates them.
//!
//! `signature` describes a function, `record` makes the node of one use of it, `call` is one call of its backward
//! functions. Function and engine do not import each other: they meet in the `dyn TapeNode` that `record` makes.

mod call;
mod edges;
mod forward;
mod gradient;
mod in_place;
mod items;
mod lists;
mod outputs;
mod panics;
mod record;
mod shapes;
mod signature;

pub use call::{Call, IntoSource, Origin, Restore};
pub use edges::EdgeList;
pub use forward::{ForwardCall, IntoTangent, IntoTangents};
pub use gradient::{GradOutput, GradOutputs, IntoGradient, IntoGradients, Once};
pub use in_place::InPlace;
pub use items::{SavedItem, SavedItems};
pub use lists::Lists;
pub use outputs::OutputList;
pub use panics::{forward_panicked, forward_panicked_at, shapes_of};
pub(crate) use record::output_edge;
pub use record::{
    IntoOutput, Rule, SavedNumber, SavedShape, SavedValue, attach, meta, record, record_at,
};
pub use shapes::{
    Dims, InputShapes, IntoLength, Length, Lengths, OutputShapes, ShapeTable, nothing_computed,
    shape_of, shapes_of_dims,
};
pub use signature::{InputSignature, Order, OutputSignature, SavedSignature, Signature};

/// A differentiable function, as [`custom_function`](crate::custom_function) defines it.
///
/// The attribute implements it, beside `apply`; it is not implemented by hand.
///
/// ```
/// use pullback::Function;
/// use pullback::ops::Exp;
/// use pullback::ndarray::Ix1;
///
/// assert_eq!(Exp::<f64, Ix1>::NAME, "Exp");
/// assert_eq!(Exp::<f64, Ix1>::SIGNATURE.inputs.len(), 1);
/// ```
pub trait Function {
    /// The name in graphs and errors.
    const NAME: &'static str;

    /// The description of the function.
    const SIGNATURE: Signature;
}
