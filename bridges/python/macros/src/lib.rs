//! The macro of `pullback-python`, which documents it.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Ident, Path, Token, parse_macro_input, parse_quote};

/// See `pullback_python::module`.
#[proc_macro]
pub fn module(tokens: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand(&parse_macro_input!(tokens as Module)).into()
}

/// `kernels: linear, squash, MulConstant`.
struct Module {
    name: Ident,
    functions: Punctuated<Path, Token![,]>,
}

impl Parse for Module {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        let functions = Punctuated::<Path, Token![,]>::parse_terminated(input)?;
        if functions.is_empty() {
            return Err(input.error("name the functions of the module: `kernels: linear, squash`"));
        }
        Ok(Self { name, functions })
    }
}

fn expand(module: &Module) -> TokenStream {
    let name = &module.name;
    let functions = module.functions.iter().map(|path| {
        // INVARIANT: syn reads no path without a segment.
        let last = &path.segments.last().expect("a segment").ident;
        let function = callable(path, last);
        let name = last.to_string();
        quote! {
            {
                use ::pullback_python::__private::{ByElement, ByRank, Neither, Probe};
                functions.add(#name, [
                    (&&&Probe::<f32, _>::new(#function)).variant(),
                    (&&&Probe::<f64, _>::new(#function)).variant(),
                ])?;
            }
        }
    });
    quote! {
        #[::pullback_python::pyo3::pymodule]
        #[pyo3(crate = "::pullback_python::pyo3")]
        fn #name(
            module: &::pullback_python::pyo3::Bound<'_, ::pullback_python::pyo3::types::PyModule>,
        ) -> ::pullback_python::pyo3::PyResult<()> {
            let mut functions = ::pullback_python::__private::Functions::of(module)?;
            #(#functions)*
            functions.finish()
        }
    }
}

/// A function as it is; for a type, which Rust writes with a capital letter, its `apply`.
fn callable(path: &Path, last: &Ident) -> Path {
    let is_type = last.to_string().starts_with(char::is_uppercase);
    if is_type {
        parse_quote!(#path::apply)
    } else {
        path.clone()
    }
}
