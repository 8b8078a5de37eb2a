//! What comes out when there are mistakes: the author's item, all the errors, and beside them
//! everything that others may refer to, without effect. One mistake then gives one error, and editors
//! keep completing.

use proc_macro2::TokenStream;
use quote::quote;

use super::{apply, context, impls, signature, tokens};
use crate::validate::Rejected;

/// Everything beside the item of a function with mistakes.
pub(crate) fn function(rejected: &Rejected, default_crate: &str) -> TokenStream {
    let Rejected {
        errors,
        definition,
        forward,
    } = rejected;
    let (Some(definition), Some(forward)) = (definition, forward) else {
        return errors.clone();
    };
    let root = tokens::runtime(definition, default_crate);
    let p = &tokens::short();
    let attributes = quote!(#[doc(hidden)] #[allow(unused_variables, dead_code)]);
    let body = quote!(::core::panic!(
        "this function has mistakes that the compiler has reported"
    ));
    let apply = apply::method(forward, &attributes, &body, p);
    let signature = signature::draft(definition, forward, p);
    let needs_input_grad = context::needs_input_grad(definition, forward);
    let impls = impls(definition, &root, &apply, &signature);
    quote!(#errors #needs_input_grad #impls)
}
