//! Model to tokens.
//!
//! The author's item comes first, as it was written, and is not looked at here. Beside it stand:
//!
//! - [`apply`]: the function that users call: kernel, node, outputs.
//! - [`save`]: keeping, there, what backward functions ask for.
//! - [`backward`]: the function that the engine calls: what was kept goes to the backward functions
//!   that this pass needs.
//! - [`forward_mode`]: the function that `apply` turns to when an input has a tangent.
//! - [`context`]: the structs for what was kept and for what is needed.
//! - [`signature`]: `impl Function`, the description that can be looked at when the program runs.
//! - [`fallback`]: all that in a form without effect, when there are mistakes.
//!
//! Generated code is thin: whatever can be an ordinary generic function is one, behind the runtime's
//! `__private`. It names everything by paths that start there or in `core`, and nothing by the author's
//! imports; what has no name of its own stands in a `const _`, where the runtime has a short one.
//! Local variables have [mixed-site](proc_macro2::Span::mixed_site) hygiene, so that they and the
//! author's names never meet.

mod apply;
mod backward;
mod context;
pub(crate) mod fallback;
mod forward_mode;
mod save;
mod signature;
mod tokens;

use proc_macro2::TokenStream;
use quote::quote;

use crate::model::{Definition, FunctionModel};

/// Everything beside the item of a function.
pub(crate) fn function(model: &FunctionModel, default_crate: &str) -> TokenStream {
    let FunctionModel {
        definition,
        forward,
        ..
    } = model;
    let root = &tokens::runtime(definition, default_crate);
    let p = &tokens::short();
    let needs_input_grad = context::needs_input_grad(definition, forward);
    let context = context::saved(model, root);
    let apply = apply::function(model, p);
    let backward = backward::function(model, p);
    let forward_mode = forward_mode::function(model, p);
    let signature = signature::function(model, p);
    let functions = quote!(#apply #backward #forward_mode);
    let impls = impls(definition, root, &functions, &signature);
    quote!(#needs_input_grad #context #impls)
}

/// The `const _` with everything that has no name of its own.
fn impls(
    definition: &Definition,
    root: &TokenStream,
    functions: &TokenStream,
    signature: &TokenStream,
) -> TokenStream {
    let Definition {
        self_ty,
        generics,
        cfgs,
        ..
    } = definition;
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let p = tokens::short();
    quote! {
        #(#cfgs)*
        const _: () = {
            use #root as #p;

            #[allow(clippy::too_many_arguments)]
            impl #impl_generics #self_ty #where_clause {
                #functions
            }

            impl #impl_generics #p::Function for #self_ty #where_clause {
                #signature
            }
        };
    }
}

#[cfg(test)]
mod tests;
