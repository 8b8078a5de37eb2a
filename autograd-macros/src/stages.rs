//! The attribute from end to end: parse, validate, expand.

use std::panic::{AssertUnwindSafe, catch_unwind};

use proc_macro2::TokenStream;
use quote::quote;

use crate::{expand, parse, strip, validate};

/// Expands `#[custom_function(args)] item`, with the runtime in `default_crate` unless `args` say
/// otherwise.
pub(crate) fn custom_function(
    args: TokenStream,
    item: TokenStream,
    default_crate: &str,
) -> TokenStream {
    let author = strip::helpers(item.clone());
    let expanded = catch_unwind(AssertUnwindSafe(|| {
        validate::function(parse::arguments(args), parse::item(item))
            .map(|model| expand::function(&model, default_crate))
            .map_err(|rejected| expand::fallback::function(&rejected, default_crate))
    }));
    match expanded {
        // What a function takes, and how, is what it is about: no matter of style.
        Ok(Ok(generated)) => quote! {
            #[allow(
                clippy::needless_pass_by_value,
                clippy::too_many_arguments,
                clippy::trivially_copy_pass_by_ref,
            )]
            #author
            #generated
        },
        // What generated code would have used is not dead.
        Ok(Err(fallback)) => quote!(#[allow(dead_code)] #author #fallback),
        Err(_) => {
            let message = "`#[custom_function]` failed on this item, which is a bug in it; \
                           please report it with the item";
            quote!(#[allow(dead_code)] #author ::core::compile_error!(#message);)
        }
    }
}
