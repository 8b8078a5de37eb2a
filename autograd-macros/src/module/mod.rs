//! Expands `#[derive(Module)]`, by the same stages as a custom function.
//!
//! 1. `parse`: the item and its `#[module(…)]` attributes, unjudged.
//! 2. `validate`: all rules, and the only way to a model.
//! 3. `model`: a checked module.
//! 4. `expand`: `impl Module` and `impl Display`; with mistakes, the same without effect.
//!
//! The type of a field is not checked by a rule: it must implement the trait `Field` of the library, and the
//! generated calls have the span of the type, so that the compiler reports its error there.

mod expand;
mod model;
mod parse;
#[cfg(test)]
mod tests;
mod validate;

use std::panic::{AssertUnwindSafe, catch_unwind};

use proc_macro2::TokenStream;
use quote::quote;

use crate::print;

/// Expands `#[derive(Module)] item`.
pub(crate) fn derive(item: TokenStream) -> TokenStream {
    let expanded = catch_unwind(AssertUnwindSafe(|| unguarded(item)));
    expanded.unwrap_or_else(|_| {
        let message = "`#[derive(Module)]` failed on this item, which is a bug in the macro; \
                       please report it with the item";
        quote!(::core::compile_error!(#message);)
    })
}

/// Expands without a guard against panics.
pub(crate) fn unguarded(item: TokenStream) -> TokenStream {
    let (definition, expansion) = match validate::module(parse::item(item)) {
        Ok(model) => {
            let expansion = expand::module(&model);
            (Some(model.definition), expansion)
        }
        Err(rejected) => {
            let expansion = expand::fallback::module(&rejected);
            (rejected.definition, expansion)
        }
    };
    if let Some(definition) = definition {
        print::if_wanted(&[&definition.ident], &expansion);
    }
    expansion
}
