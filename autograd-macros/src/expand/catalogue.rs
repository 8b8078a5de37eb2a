//! Generates the entry in the list of all functions of a program.
//!
//! The runtime's macro writes nothing where the catalogue is off.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt as _;

use super::{gradcheck, signature};
use crate::docs;
use crate::model::FunctionModel;

/// Adds the function to the list, with its documentation and the name of its test.
///
/// The macro's path is absolute: with an unknown attribute above ours, a name in scope would not be resolved.
pub(super) fn entry(model: &FunctionModel, root: &TokenStream) -> TokenStream {
    let (signature, docs) = (signature::name(), docs::text(model));
    let item = model.definition.item().unraw().to_string();
    // Its name is the beginning of those of others, which run with it.
    let test = model.gradchecks.first().map(|_| {
        let name = gradcheck::name(&model.definition, 0).to_string();
        quote!(, #name)
    });
    quote!(#root::register!(#signature, #docs, #item #test);)
}
