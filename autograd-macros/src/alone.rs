//! Our attributes of functions where no `#[custom_function]` reads them: one error, on the one that every block has.

use proc_macro2::TokenStream;
use quote::quote;

use crate::spell::local;
use crate::strip;

/// Expands `#[forward]`, which is then not inside of a block that we read.
pub(crate) fn forward(item: TokenStream) -> TokenStream {
    let item = strip::parameters(item);
    let message = "`#[forward]` has no effect alone\n= help: write `#[custom_function]` above the `impl` block";
    quote! {
        #[allow(dead_code)]
        #item
        ::core::compile_error!(#message);
        #[allow(dead_code)]
        const NO_CUSTOM_FUNCTION_IS_ABOVE_THIS_BLOCK: () = ();
    }
}

/// Expands `#[backward]`, `#[adjoint]`, `#[jvp]`, `#[residual]` and `#[vmap]` to the item alone: the error is on `#[forward]`.
pub(crate) fn other(item: TokenStream) -> TokenStream {
    let item = strip::parameters(item);
    let mut words = item
        .clone()
        .into_iter()
        .skip_while(|word| word.to_string() != "fn");
    let name = words
        .nth(1)
        .map_or_else(String::new, |name| name.to_string());
    let constant = local(format_args!("__ATTRIBUTE_OF_{name}"));
    quote! {
        #[allow(dead_code)]
        #item
        #[allow(dead_code, non_upper_case_globals)]
        const #constant: () = Self::NO_CUSTOM_FUNCTION_IS_ABOVE_THIS_BLOCK;
    }
}
