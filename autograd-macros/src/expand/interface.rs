//! Generates the signature of `apply`: what forward takes and returns, with tensors for arrays.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{GenericArgument, Lifetime, PathArguments, Type};

use super::tokens::{at, element_and_dimension, is_consumed, option, tensor, tuple};
use crate::lists::Lists as _;
use crate::model::{Forward, Input, Returned, Role, TensorInput};
use crate::types::{Kind, last_segment, peel};

/// Returns whether a call is useless if its result is dropped: a `Result` has to be used already, and what is
/// written to an input may be its only purpose.
pub(super) fn is_for_its_value(forward: &Forward) -> bool {
    forward.fallible.is_none() && forward.in_place().next().is_none()
}

/// Returns the parameters of `apply`: those of forward, with tensors for arrays, and any list of them for a list.
pub(super) fn parameters(forward: &Forward, p: &TokenStream) -> Vec<TokenStream> {
    let inputs = forward.inputs.iter();
    inputs.map(|input| parameter(input, true, p)).listed()
}

/// Returns the same parameters with lists of references to tensors alone.
pub(super) fn gathered(forward: &Forward, p: &TokenStream) -> Vec<TokenStream> {
    let inputs = forward.inputs.iter();
    inputs.map(|input| parameter(input, false, p)).listed()
}

pub(super) fn parameter(input: &Input, takes_any_list: bool, p: &TokenStream) -> TokenStream {
    let Input { name, ty, .. } = input;
    let Some(TensorInput { ty: form, kind, .. }) = &input.tensor else {
        return quote!(#name: #ty);
    };
    if *kind == Kind::List && takes_any_list {
        let (lifetime, parameters) = (lifetime_of(ty), element_and_dimension(form, p));
        let element = quote_spanned!(at(ty)=> impl #p::ListElement<#parameters>);
        return quote!(#name: &#lifetime [#element]);
    }
    let mut taken = tensor(&form.content, ty, p);
    if !is_consumed(form) {
        let lifetime = &form.lifetime;
        let mutability = input.is_in_place().then(|| quote!(mut));
        taken = quote_spanned!(at(ty)=> &#lifetime #mutability #taken);
    }
    match kind {
        Kind::Single => {}
        Kind::Optional => taken = option(&taken),
        Kind::List => {
            let lifetime = lifetime_of(ty);
            taken = quote_spanned!(at(ty)=> &#lifetime [#taken]);
        }
    }
    quote!(#name: #taken)
}

/// Returns `'a` of `&'a [ArrayView1<f32>]`.
pub(super) fn lifetime_of(ty: &Type) -> Option<&Lifetime> {
    match peel(ty) {
        Type::Reference(reference) => reference.lifetime.as_ref(),
        _ => None,
    }
}

/// Returns the return type of `apply`: the outputs, within the `Result` of forward if it returns one.
pub(super) fn returns(forward: &Forward, p: &TokenStream) -> TokenStream {
    let output = |output: &Returned| match &output.tensor {
        Some(_) => output_type(output, p),
        None => output.ty.to_token_stream(),
    };
    let outputs = tuple(forward.outputs().map(output));
    match &forward.fallible {
        Some(result) => within_result(result, &outputs),
        None => outputs,
    }
}

/// Returns the type that a float output has in `apply`.
pub(super) fn output_type(output: &Returned, p: &TokenStream) -> TokenStream {
    let Some(ty) = &output.tensor else {
        return TokenStream::new();
    };
    let tensor = tensor(&ty.content, &output.ty, p);
    match output.kind {
        Kind::Single => tensor,
        Kind::Optional => option(&tensor),
        Kind::List => quote!(::std::vec::Vec<#tensor>),
    }
}

/// Replaces the first argument of `Result<…>`.
fn within_result(result: &Type, ok: &TokenStream) -> TokenStream {
    let mut result = peel(result).clone();
    if let Type::Path(path) = &mut result
        && let Some(segment) = path.path.segments.last_mut()
        && let PathArguments::AngleBracketed(bracketed) = &mut segment.arguments
        && let Some(first) = bracketed.args.first_mut()
    {
        *first = GenericArgument::Type(Type::Verbatim(ok.clone()));
    }
    quote!(#result)
}

/// Returns the error type of a `Result<…>`.
pub(super) fn error_of(result: &Type, p: &TokenStream) -> TokenStream {
    if let Some(segment) = last_segment(result)
        && let PathArguments::AngleBracketed(bracketed) = &segment.arguments
        && let Some(GenericArgument::Type(error)) = bracketed.args.iter().nth(1)
    {
        return error.to_token_stream();
    }
    quote_spanned!(at(result)=> <#result as #p::Fallible>::Error)
}

/// Returns the expression that `apply` ends with; nothing if it returns nothing.
pub(super) fn finish(forward: &Forward, output: impl Fn(&Returned) -> TokenStream) -> TokenStream {
    let outputs = tuple(forward.outputs().map(output));
    if forward.fallible.is_some() {
        quote!(::core::result::Result::Ok(#outputs))
    } else if forward.outputs().next().is_none() {
        TokenStream::new()
    } else {
        outputs
    }
}

/// Returns what forward returned, or wrote to, within `apply`: a `&Tensor`.
pub(super) fn output(output: &Returned, forward: &Forward) -> TokenStream {
    if let Role::InPlace { input, .. } = output.role {
        // Its own parameter is a `&mut Tensor`.
        let name = &forward.inputs[input].name;
        return quote!(&*#name);
    }
    let name = &output.name;
    quote!(&#name)
}
