//! `visit_fields` and `visit_fields_mut`: the calls for each field, in the order of their declaration.
//!
//! Each stands at the field's type, and is written in the same way in both: the compiler then has one
//! thing to say of a type that is no field.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};

use super::{binding, each, stands_for, this};
use crate::module::model::{Body, Content, Field, Part};
use crate::spell::{at, local};

/// Both methods.
pub(super) fn methods(body: &Body, root: &TokenStream) -> TokenStream {
    let (path, visitor) = (local("path"), local("visitor"));
    let this = this();
    let shared = walk(body, root, false);
    let mutable = walk(body, root, true);
    quote! {
        fn visit_fields<'a>(
            &'a #this,
            #path: &#root::nn::Path<'_>,
            #visitor: &mut dyn #root::nn::Visitor<'a>,
        ) {
            #shared
        }

        fn visit_fields_mut(
            &mut #this,
            #path: &#root::nn::Path<'_>,
            #visitor: &mut dyn #root::nn::VisitorMut,
        ) {
            #mutable
        }
    }
}

fn walk(body: &Body, root: &TokenStream, mutable: bool) -> TokenStream {
    let this = this();
    let reference = if mutable { quote!(&mut) } else { quote!(&) };
    match body {
        Body::Struct(fields) => visits(fields, root, mutable, |field| {
            let member = &field.member;
            quote_spanned!(at(&field.ty)=> #reference #this.#member)
        }),
        Body::Enum(variants) => each(variants, |variant| match &variant.content {
            Content::Transparent(field) => {
                let method = local(if mutable {
                    "visit_fields_mut"
                } else {
                    "visit_fields"
                });
                let (path, visitor) = (local("path"), local("visitor"));
                let arguments = quote!(#path, #visitor);
                stands_for(field, root, &method.into_token_stream(), &arguments)
            }
            Content::Fields(fields) => visits(fields, root, mutable, |field| {
                binding(field).into_token_stream()
            }),
        }),
    }
}

fn visits(
    fields: &[Field],
    root: &TokenStream,
    mutable: bool,
    place: impl Fn(&Field) -> TokenStream,
) -> TokenStream {
    let method = local(if mutable { "visit_mut" } else { "visit" });
    let calls = fields.iter().filter_map(|field| {
        let (ty, span) = (&field.ty, at(&field.ty));
        let (path, visitor) = (local("path"), local("visitor"));
        let below = match &field.part {
            Part::Named(name) => quote_spanned!(span=> #root::nn::Path::field(#path, #name)),
            Part::Numbered(number) => {
                let number = proc_macro2::Literal::usize_unsuffixed(*number);
                quote_spanned!(span=> #root::nn::Path::item(#path, #number))
            }
            Part::Skipped(_) => return None,
        };
        let place = place(field);
        Some(quote_spanned! {span=>
            <#ty as #root::nn::Field>::#method(#place, &#below, #visitor);
        })
    });
    quote!(#(#calls)*)
}
