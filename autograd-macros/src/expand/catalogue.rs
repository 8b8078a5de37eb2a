//! The entry in the list of all functions of a program.
//!
//! Whether there is such a list is the runtime's to know: its macro writes nothing without.

use proc_macro2::TokenStream;
use quote::quote;

use super::{gradcheck, signature};
use crate::docs;
use crate::model::FunctionModel;

/// Puts the function into the list, with what the author says about it and the name of its test.
pub(super) fn entry(model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let (signature, docs) = (signature::name(), docs::text(model));
    let test = model.gradcheck.as_ref().map(|_| {
        let name = gradcheck::name(&model.definition).to_string();
        quote!(, #name)
    });
    quote!(#p::register!(#signature, #docs #test);)
}
