//! Model to tokens.
//!
//! The author's item comes first, as it was written. Beside it stand:
//!
//! - [`apply`]: the function that users call: kernel, node, outputs.
//! - [`backward`]: the function that the engine calls: what was kept goes to the backward functions
//!   that this pass needs.
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
mod fallback;
mod signature;
mod tokens;

use std::panic::{AssertUnwindSafe, catch_unwind};

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

use crate::model::{Definition, FunctionModel};
use crate::{parse, strip, validate};

/// Expands `#[custom_function(args)] item`, with the runtime in `default_crate` unless `args` say
/// otherwise.
pub(crate) fn custom_function(
    args: TokenStream,
    item: TokenStream,
    default_crate: &str,
) -> TokenStream {
    let author = strip::helpers(item.clone());
    let expanded = catch_unwind(AssertUnwindSafe(|| {
        let arguments = parse::arguments(args);
        match validate::function(arguments, parse::item(item)) {
            Ok(model) => {
                let generated = function(&model, default_crate);
                quote!(#author #generated)
            }
            Err(rejected) => fallback::function(&author, &rejected, default_crate),
        }
    }));
    expanded.unwrap_or_else(|_| {
        let message = "`#[custom_function]` failed on this item, which is a bug in it; \
                       please report it with the item";
        let error = quote_spanned!(Span::call_site()=> ::core::compile_error!(#message););
        quote!(#author #error)
    })
}

fn function(model: &FunctionModel, default_crate: &str) -> TokenStream {
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
    let signature = signature::function(model, p);
    let impls = impls(definition, root, &quote!(#apply #backward), &signature);
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
