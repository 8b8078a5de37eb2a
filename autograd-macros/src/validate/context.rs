//! The context that the rules for backward functions share.

use proc_macro2::TokenStream;

use crate::diagnostics::Diagnostics;
use crate::model::{Definition, Forward};
use crate::types::Floats;

/// The forward function, the names, and the mistakes so far.
pub(super) struct Context<'a> {
    pub(super) definition: &'a Definition,
    pub(super) forward: &'a Forward,
    /// The body of forward.
    pub(super) body: &'a TokenStream,
    pub(super) floats: &'a Floats,
    pub(super) diagnostics: &'a mut Diagnostics,
    /// Whether the function is an adjoint, which may ask for less than a backward function.
    pub(super) in_adjoint: bool,
    /// Whether the function is a residual, which takes tensors alone.
    pub(super) in_residual: bool,
    /// Whether a tensor has different element types in different functions.
    pub(super) elements_differ: bool,
    /// Whether a gradient computes with something unknown, which forward may capture from around it too.
    pub(super) has_strangers: bool,
}
