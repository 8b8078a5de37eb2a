//! The macro of `pullback-python`, documented there.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Ident, Path, Token, parse_macro_input, parse_quote};

/// See `pullback_python::module`.
#[proc_macro]
pub fn module(tokens: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand(&parse_macro_input!(tokens as Module)).into()
}

/// `diffops: linear, squash, MulConstant`.
struct Module {
    name: Ident,
    functions: Punctuated<Path, Token![,]>,
}

impl Parse for Module {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.parse()?;
        if input.parse::<Option<Token![:]>>()?.is_none() {
            return Err(input.error("begin with the module's name: `diffops: linear, squash`"));
        }
        let functions = Punctuated::<Path, Token![,]>::parse_terminated(input)?;
        if functions.is_empty() {
            return Err(input.error("name the functions of the module: `diffops: linear, squash`"));
        }
        // `Functions::of` adds `vjp` to each module.
        let mut names = vec!["vjp".to_owned()];
        for path in &functions {
            let name = last(path).to_string();
            if names.contains(&name) {
                let text =
                    format!("the module has a `{name}` already; rename one in a `use … as …`");
                return Err(Error::new_spanned(path, text));
            }
            names.push(name);
        }
        Ok(Self { name, functions })
    }
}

/// Returns the name of a function in Python.
fn last(path: &Path) -> &Ident {
    // INVARIANT: syn reads no path without a segment.
    &path.segments.last().expect("a segment").ident
}

fn expand(module: &Module) -> TokenStream {
    let name = &module.name;
    let functions = module.functions.iter().map(|path| {
        let last = last(path);
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

/// Returns the path of a function, or of a type's `apply`. Names of types begin with a capital letter.
fn callable(path: &Path, last: &Ident) -> Path {
    let is_type = last.to_string().starts_with(char::is_uppercase);
    if is_type {
        parse_quote!(#path::apply)
    } else {
        path.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_errors() {
        let first = "begin with the module's name: `diffops: linear, squash`";
        let twice = "the module has a `squash` already; rename one in a `use … as …`";
        for (text, expected) in [
            ("diffops: squash, ops::linear", None),
            ("squash", Some(first)),
            ("squash, linear", Some(first)),
            ("diffops: squash, linear, squash", Some(twice)),
            ("diffops: squash, other::squash::<f64, Ix1>", Some(twice)),
            (
                "diffops: vjp",
                Some("the module has a `vjp` already; rename one in a `use … as …`"),
            ),
        ] {
            let error = syn::parse_str::<Module>(text).err();
            let found = error.map(|error| error.to_string());
            let found = found.as_deref();
            // syn adds this at the end of the input.
            let found = found.map(|text| text.trim_start_matches("unexpected end of input, "));
            assert_eq!(found, expected, "{text}");
        }
    }
}
