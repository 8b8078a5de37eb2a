//! The values of a formula: what holds them, lists them, and gives them to the function with the formula.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::{Ident, Type};

use super::tokens::{at, local, number};
use crate::model::Elementwise;
use crate::spell::{lasting, owned};
use crate::types::Passing;

/// Returns the name of the type that holds the values of a formula.
pub(super) fn formula_name(ident: &Ident) -> Ident {
    format_ident!("{ident}Formula", span = at(ident))
}

/// Returns the fields of what holds the values of a formula.
pub(super) fn fields(elementwise: &Elementwise) -> impl Iterator<Item = TokenStream> {
    elementwise.values.iter().map(|(name, ty)| {
        let ty = lasting(&Type::Verbatim(owned(&Passing::of(ty))));
        quote!(#name: #ty)
    })
}

/// Generates the function that lists the values that a formula holds, where there are any.
pub(super) fn list_of_values(elementwise: &Elementwise, p: &TokenStream) -> Option<TokenStream> {
    let note = local("note");
    let values = elementwise.values.iter();
    let listed = values.map(|(name, _)| quote!(#p::list_value(&self.#name, #note);));
    list_values(elementwise, &quote!(#(#listed)*), &note)
}

/// Generates the function that lists the values, where there are any.
pub(super) fn list_values(
    elementwise: &Elementwise,
    body: &TokenStream,
    note: &Ident,
) -> Option<TokenStream> {
    let of_note = of_note();
    (!elementwise.values.is_empty()).then(|| {
        quote! {
            fn list_values(&self, #note: #of_note) {
                #body
            }
        }
    })
}

/// Returns the type of what is called with a name and a number of bytes or of entries.
pub(super) fn of_note() -> TokenStream {
    quote!(&mut dyn ::core::ops::FnMut(&'static ::core::primitive::str, ::core::primitive::usize))
}

/// Returns a value of the formula `of`, as its function takes it for one element.
pub(super) fn value(
    name: &Ident,
    elementwise: &Elementwise,
    of: &TokenStream,
) -> Option<TokenStream> {
    let mut lists = elementwise.entries.iter();
    if let Some(place) = lists.position(|(value, _)| value == name) {
        let ([entries, at], place) = (block_of_entries(), number(place));
        return Some(quote!(#entries.#place.at(#at)));
    }
    let (_, ty) = elementwise.values.iter().find(|(value, _)| value == name)?;
    let span = at(ty);
    Some(match Passing::of(ty) {
        Passing::Owned(_) => quote_spanned!(span=> ::core::clone::Clone::clone(&#of.#name)),
        Passing::Reference(ty) => {
            let ty = lasting(&ty);
            quote!(::core::borrow::Borrow::<#ty>::borrow(&#of.#name))
        }
        Passing::OptionalReference(_) => quote! {
            ::core::option::Option::map(
                ::core::option::Option::as_ref(&#of.#name),
                ::core::borrow::Borrow::borrow,
            )
        },
    })
}

/// Returns the names of the entries of a block of elements, and of the place of the element in it.
pub(super) fn block_of_entries() -> [Ident; 2] {
    ["entries", "at"].map(local)
}
