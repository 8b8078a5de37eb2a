//! Runs the stages of the attribute: parse, validate (with lower), expand.

use std::panic::{AssertUnwindSafe, catch_unwind};

use proc_macro2::TokenStream;
use quote::quote;

use crate::lists::Lists as _;
use crate::place::Place;
use crate::{expand, fragments, parse, print, strip, validate};

/// Expands `#[custom_function(args)] item`, with the runtime in `default_crate` unless `args` have
/// another.
pub(crate) fn custom_function(
    args: TokenStream,
    item: TokenStream,
    place: &Place,
    default_crate: &str,
) -> TokenStream {
    let expanded = catch_unwind(AssertUnwindSafe(|| {
        unguarded(args, item.clone(), place, default_crate)
    }));
    expanded.unwrap_or_else(|_| {
        let stripped = strip::helpers(item);
        let message = "`#[custom_function]` failed on this item, which is a bug in the macro; \
                       please report it with the item";
        quote!(#[allow(dead_code)] #stripped ::core::compile_error!(#message);)
    })
}

/// Expands without a guard against panics.
pub(crate) fn unguarded(
    args: TokenStream,
    item: TokenStream,
    place: &Place,
    default_crate: &str,
) -> TokenStream {
    let (args, item) = (fragments::opened(args), fragments::opened_item(item));
    let (item, others) = strip::repeated(item);
    let parsed = (parse::attributes(args, others), parse::item(item.clone()));
    let (definition, expansion) = match validate::function(parsed, place) {
        Ok(model) => {
            let expansion = expand::function(&model, &strip::helpers(item), default_crate);
            (Some(model.definition), expansion)
        }
        Err(rejected) => {
            let whole = strip::helpers(strip::without_members(item, &rejected.dropped));
            let expansion = expand::fallback::function(&rejected, &whole, default_crate);
            (rejected.definition, expansion)
        }
    };
    if let Some(definition) = definition {
        let free = definition.kind.free().map(|free| &free.ident);
        let names = [&definition.ident].into_iter().chain(free).listed();
        print::if_wanted(&names, &expansion);
    }
    expansion
}
