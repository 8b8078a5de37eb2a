//! Generates the part of `apply` that saves what backward functions ask for.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Type;
use syn::ext::IdentExt as _;

use super::interface;
use super::tokens::{any_of, at, is_consumed, local, reference};
use crate::model::{Forward, Input, Returned, Role, Saved, Source};
use crate::spell;
use crate::types::{Form, Kind, Passing, is_primitive, is_sized, last_segment};

/// Returns the expression that saves one thing, and, if forward consumes that, the statement that must
/// come before.
pub(super) fn save(
    saved: &Saved,
    forward: &Forward,
    p: &TokenStream,
) -> (Option<TokenStream>, TokenStream) {
    let save = save_if_needed(saved, forward, p);
    if !is_consumed_by_forward(saved, forward) {
        return (None, save);
    }
    let name = local(format_args!("saved_{}", saved.name.unraw()));
    (Some(quote!(let #name = #save;)), quote!(#name))
}

fn is_consumed_by_forward(saved: &Saved, forward: &Forward) -> bool {
    let (Source::Input(index) | Source::Shape(index)) = saved.source else {
        return false;
    };
    let Input { ty, tensor, .. } = &forward.inputs[index];
    match tensor {
        // What is written to is not what it was.
        Some(tensor) => is_consumed(&tensor.ty) || tensor.ty.form == Form::ViewMut,
        None => matches!(Passing::of(ty), Passing::Owned(_)),
    }
}

/// Returns the expression that saves one thing if a backward function that asks for it can still be called.
fn save_if_needed(saved: &Saved, forward: &Forward, p: &TokenStream) -> TokenStream {
    let needs = local("needs");
    let needed = any_of(&saved.needed_for, |edge| quote!(#needs[#edge]));
    match saved.source {
        Source::Input(index) => save_input(&forward.inputs[index], forward, &needed, p),
        Source::Returned(index) => save_returned(&forward.returned[index], forward, &needed, p),
        Source::Axis(index) => {
            let name = &forward.shapes.axes[index].name;
            quote!(#p::save_if(#needed, || #p::SavedNumber::new(&#name)))
        }
        Source::Shape(index) => {
            let input = &forward.inputs[index];
            let tensor = input.tensor.iter();
            let shape = tensor.map(|tensor| reference(input, tensor));
            quote!(#p::save_if(#needed, || #p::SavedShape::of(#(#shape),*)))
        }
    }
}

pub(super) fn save_input(
    input: &Input,
    forward: &Forward,
    needed: &TokenStream,
    p: &TokenStream,
) -> TokenStream {
    let (name, span) = (&input.name, at(&input.ty));
    let Some(tensor) = &input.tensor else {
        if is_number(&input.ty, forward) {
            return quote_spanned!(span=> #p::save_if(#needed, || #p::SavedNumber::new(&#name)));
        }
        let passing = Passing::of(&input.ty);
        let is_sized = is_sized(passing.target());
        let (owned, target) = (spell::owned(&passing), passing.target());
        let save = match passing {
            Passing::Owned(_) => quote_spanned!(span=> <#owned as #p::SaveValue>::save(&#name)),
            Passing::Reference(_) if is_sized => {
                quote_spanned!(span=> <#owned as #p::SaveValue>::save(#name))
            }
            Passing::OptionalReference(_) if is_sized => {
                quote_spanned!(span=> <#target as #p::SaveValue>::save_optional(#name))
            }
            Passing::Reference(_) => quote_spanned! {span=>
                <#owned as #p::SaveValue>::into_saved(<#target as ::std::borrow::ToOwned>::to_owned(#name))
            },
            Passing::OptionalReference(_) => quote_spanned! {span=>
                <#owned as #p::SaveValue>::into_saved(#name.map(<#target as ::std::borrow::ToOwned>::to_owned))
            },
        };
        return quote_spanned!(span=> #p::save_if(#needed, || #save));
    };
    let reference = reference(input, tensor);
    quote!(#p::Save::save(#reference, #needed))
}

pub(super) fn save_returned(
    returned: &Returned,
    forward: &Forward,
    needed: &TokenStream,
    p: &TokenStream,
) -> TokenStream {
    let (name, span) = (&returned.name, at(&returned.ty));
    let is_output = returned.role != Role::Intermediate;
    match &returned.tensor {
        Some(tensor)
            if returned.kind == Kind::Optional && (is_output || tensor.form.is_tensor()) =>
        {
            quote!(#p::Save::save(::core::option::Option::as_ref(&#name), #needed))
        }
        Some(tensor) if is_output || tensor.form.is_tensor() => {
            let output = interface::output(returned, forward);
            quote!(#p::Save::save(#output, #needed))
        }
        Some(_) => quote!(#p::Save::save(#name, #needed)),
        None => {
            let ty = &returned.ty;
            if is_number(ty, forward) {
                return quote_spanned!(span=> #p::save_if(#needed, || #p::SavedNumber::new(&#name)));
            }
            let method = if is_output {
                quote!(save(&#name))
            } else {
                quote!(into_saved(#name))
            };
            quote_spanned!(span=> #p::save_if(#needed, || <#ty as #p::SaveValue>::#method))
        }
    }
}

/// Returns whether a value is a number or a flag, which is copied where others are shared.
pub(super) fn is_number(ty: &Type, forward: &Forward) -> bool {
    let element = last_segment(ty).filter(|last| last.arguments.is_none());
    is_primitive(ty) || element.is_some_and(|param| forward.has_element(&param.ident))
}

/// Returns the type in which a value of forward, an axis or a shape is saved.
pub(super) fn saved_as(source: Source, forward: &Forward, p: &TokenStream) -> TokenStream {
    match source {
        Source::Shape(_) => quote!(#p::SavedShape),
        _ => saved_type(forward.source(source).ty, forward, p),
    }
}

/// Returns the type in which a value is saved.
pub(super) fn saved_type(ty: &Type, forward: &Forward, p: &TokenStream) -> TokenStream {
    let (span, owned) = (at(ty), spell::owned(&Passing::of(ty)));
    if is_number(ty, forward) {
        quote_spanned!(span=> #p::SavedNumber<#owned>)
    } else {
        quote_spanned!(span=> #p::SavedValue<#owned>)
    }
}
