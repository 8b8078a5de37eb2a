//! The macro of `pullback-python`, documented there.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::token::Paren;
use syn::{
    Error, ExprPath, Ident, Lit, LitBool, Path, Token, parenthesized, parse_macro_input,
    parse_quote,
};

/// See `pullback_python::module`.
#[proc_macro]
pub fn module(tokens: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand(&parse_macro_input!(tokens as Module)).into()
}

/// What `Functions::of` adds to each module.
const OWN: [&str; 5] = [
    "get_num_threads",
    "half_precision",
    "set_num_threads",
    "testing",
    "vjp",
];

/// The most parameters of a function that Python can call.
const MOST_PARAMETERS: usize = 12;

/// `diffops: linear, squash, MulConstant(constant = 2.0)`.
struct Module {
    name: Ident,
    functions: Punctuated<Function, Token![,]>,
}

/// A function with default values of its parameters.
struct Function {
    path: Path,
    defaults: Punctuated<Default, Token![,]>,
}

/// `constant = 2.0`
struct Default {
    name: Ident,
    value: String,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let path = input.parse::<ExprPath>()?.path;
        if !input.peek(Paren) {
            let defaults = Punctuated::new();
            return Ok(Self { path, defaults });
        }
        let inner;
        parenthesized!(inner in input);
        let defaults = Punctuated::parse_terminated(&inner)?;
        Ok(Self { path, defaults })
    }
}

impl Parse for Default {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.call(Ident::parse_any)?.unraw();
        input.parse::<Token![=]>()?;
        let minus = input.parse::<Option<Token![-]>>()?.map_or("", |_| "-");
        let value = match input.parse::<Lit>()? {
            Lit::Bool(LitBool { value: true, .. }) => "True".to_owned(),
            Lit::Bool(_) => "False".to_owned(),
            Lit::Int(number) => number.base10_digits().to_owned(),
            Lit::Float(number) => number.base10_digits().to_owned(),
            Lit::Str(text) => format!("{:?}", text.value()),
            other => {
                let text = "a default value is a number, `true`, `false` or a text";
                return Err(Error::new_spanned(other, text));
            }
        };
        let value = format!("{minus}{value}");
        Ok(Self { name, value })
    }
}

impl Parse for Module {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.parse()?;
        if input.parse::<Option<Token![:]>>()?.is_none() {
            return Err(input.error("begin with the module's name: `diffops: linear, squash`"));
        }
        let functions = Punctuated::<Function, Token![,]>::parse_terminated(input)?;
        if functions.is_empty() {
            return Err(input.error("name the functions of the module: `diffops: linear, squash`"));
        }
        let mut names: Vec<_> = OWN.map(str::to_owned).into();
        for Function { path, .. } in &functions {
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
    let functions = module.functions.iter().map(|function| {
        let Function { path, defaults } = function;
        let last = last(path);
        let function = callable(path, last);
        let name = last.to_string();
        let defaults = defaults.iter().map(|Default { name, value }| {
            let name = name.to_string();
            quote!((#name, #value))
        });
        // Errors of types are at the function.
        let span = path.span();
        let positions = 0..MOST_PARAMETERS;
        let function = positions.fold(
            quote!(#function),
            |function, position| quote_spanned!(span=> At::<#position, _>(#function).chosen()),
        );
        let variants = quote_spanned! {span=>
            (
                (&&&Probe::<f32, _>::new(#function)).variant(),
                (&&&Probe::<f64, _>::new(#function)).variant(),
            ).variants()
        };
        quote! {
            {
                use ::pullback_python::__private::{
                    At, ByElement, ByRank, Found, Listed, Neither, Probe, Refused, Unlisted,
                };
                functions.add(#name, #variants, &[#(#defaults),*])?;
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
    fn a_default_of_a_raw_identifier_has_its_name_without_the_prefix() {
        let module = syn::parse_str::<Module>("diffops: lerp(r#yield = 0.5)");
        let module = module.unwrap_or_else(|error| panic!("{error}"));
        let defaults = module
            .functions
            .iter()
            .flat_map(|function| &function.defaults);
        let defaults: Vec<_> = defaults
            .map(|default| (default.name.to_string(), &*default.value))
            .collect();
        assert_eq!(defaults, [("yield".to_owned(), "0.5")]);
    }

    #[test]
    fn mistakes_are_errors() {
        let first = "begin with the module's name: `diffops: linear, squash`";
        let twice = "the module has a `squash` already; rename one in a `use … as …`";
        for (text, expected) in [
            ("diffops: squash, ops::linear", None),
            (
                "diffops: squash(limit = -1.5, text = \"a\", flag = true)",
                None,
            ),
            (
                "diffops: squash(limit = 'a')",
                Some("a default value is a number, `true`, `false` or a text"),
            ),
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
