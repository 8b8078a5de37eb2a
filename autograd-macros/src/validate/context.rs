//! The context that the rules for backward functions share.

use proc_macro2::TokenStream;

use crate::diagnostics::Diagnostics;
use crate::model::{Definition, Forward};
use crate::parse::Part;
use crate::types::Floats;

/// The forward function, the names, and the mistakes so far.
pub(super) struct Context<'a> {
    pub(super) definition: &'a Definition,
    pub(super) forward: &'a Forward,
    /// The body of forward.
    pub(super) body: &'a TokenStream,
    pub(super) floats: &'a Floats,
    pub(super) diagnostics: &'a mut Diagnostics,
    /// What the function is: an adjoint may ask for less than a backward function, a residual takes tensors alone.
    pub(super) part: Part,
    /// Whether a tensor has different element types in different functions.
    pub(super) elements_differ: bool,
    /// Whether a gradient computes with something unknown, which forward may capture from around it too.
    pub(super) has_strangers: bool,
}
