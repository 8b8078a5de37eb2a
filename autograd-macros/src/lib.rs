//! The procedural macros of `pullback`.

mod diagnostics;
mod docs;
mod expand;
mod model;
mod parse;
mod strip;
mod types;
mod validate;

use proc_macro::TokenStream;

/// Makes a differentiable function of an `impl` block.
#[proc_macro_attribute]
pub fn custom_function(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::custom_function(args.into(), item.into(), "pullback").into()
}

/// [`custom_function`] for crates that depend on `autograd-core` alone.
#[proc_macro_attribute]
pub fn custom_function_in_core(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::custom_function(args.into(), item.into(), "autograd_core").into()
}
