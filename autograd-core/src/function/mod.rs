//! What a differentiable function is, once `#[custom_function]` has read its signatures.
//!
//! `signature` describes a function to people, `record` makes the node of one use of it, `call` is
//! what its backward functions are called with. The engine is not known here: the two meet in the
//! `dyn TapeNode` that `record` makes.

mod call;
mod edges;
mod forward;
mod gradient;
mod in_place;
mod items;
mod lists;
mod outputs;
mod record;
mod signature;

pub use call::{Call, IntoSource, Origin, Restore};
pub use edges::EdgeList;
pub use forward::{ForwardCall, IntoTangent, IntoTangents};
pub use gradient::{GradOutput, GradOutputs, IntoGradient, IntoGradients, Once};
pub use in_place::InPlace;
pub use items::{SavedItem, SavedItems};
pub use lists::Lists;
pub use outputs::OutputList;
pub(crate) use record::output_edge;
pub use record::{IntoOutput, Rule, SavedNumber, SavedValue, attach, meta, record};
pub use signature::{InputSignature, Order, OutputSignature, SavedSignature, Signature};

/// A differentiable function, as [`custom_function`](crate::custom_function) defines it.
///
/// Not implemented by hand: the attribute writes it beside `apply`.
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
    /// The name that graphs and errors show.
    const NAME: &'static str;

    /// What the function takes, returns and saves.
    const SIGNATURE: Signature;
}
