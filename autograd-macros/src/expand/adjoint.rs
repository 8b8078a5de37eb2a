//! Generates a linear function turned round, which is its derivative.

use proc_macro2::TokenStream;
use quote::quote;

use super::function;
use crate::lower;
use crate::model::FunctionModel;

/// Generates the type and the functions, beside those of forward.
pub(super) fn turned(model: &FunctionModel, default_crate: &str) -> Option<TokenStream> {
    let adjoint = model.adjoint.as_ref()?;
    let turned = &adjoint.turned;
    let ty = lower::adjoint::ty(&turned.definition.ident, &model.definition.generics);
    let functions = function(turned, &adjoint.block, default_crate);
    Some(quote!(#ty #functions))
}
