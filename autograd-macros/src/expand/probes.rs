//! Checks that no value is a tensor under a name that the macro cannot resolve: `type Weights = Tensor1<f64>`.
//!
//! The compiler can resolve it: where the type names no parameter that only callers choose, when the definition is
//! compiled; else `apply` asks for the type's name.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::{GenericParam, Ident, Type};

use super::bounds::is_bound_by;
use super::tokens::at;
use crate::model::{Forward, FunctionModel, Role};
use crate::show::show;
use crate::spell::{for_each_word, lasting, replaced};
use crate::types::is_data;

/// Generates a constant for each type that is checked when the definition is compiled.
pub(super) fn constants(model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let Forward {
        inputs, returned, ..
    } = &model.forward;
    let values = inputs.iter().filter(|input| input.tensor.is_none());
    let inputs = values.map(|input| {
        let message = format!(
            "`{}` is or contains a tensor, which would get no gradient: write its type out, `{}: &Tensor1<f64>` or \
             `ArrayView1<f64>`, or mark the parameter with `#[tensor]`",
            show(&input.ty),
            input.name
        );
        constant(&input.ty, quote!(AS_INPUT), &message, model, p)
    });
    let is_plain = |role: &Role| matches!(role, Role::Output { .. });
    let outputs = returned
        .iter()
        .filter(|one| one.tensor.is_none() && is_plain(&one.role));
    let outputs = outputs.map(|one| {
        let message = format!(
            "`{}` is or contains an array of floats, which would be returned without a gradient: write its type out, as \
             `Array1<f64>`",
            show(&one.ty)
        );
        constant(&one.ty, quote!(AS_OUTPUT), &message, model, p)
    });
    inputs.chain(outputs).flatten().collect()
}

fn constant(
    ty: &Type,
    of: TokenStream,
    message: &str,
    model: &FunctionModel,
    p: &TokenStream,
) -> Option<TokenStream> {
    let concrete = concrete(ty, model, p).filter(|_| !is_data(ty))?;
    let span = at(ty);
    Some(quote_spanned! {span=>
        const _: () = {
            #[allow(unused_imports)]
            use #p::HoldsNone as _;
            ::core::assert!(!<#p::Probe<#concrete>>::#of, #message);
        };
    })
}

/// Generates a statement of `apply` for each value whose type the caller chooses.
pub(super) fn statements(model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let values = model.forward.inputs.iter().filter(|input| {
        input.tensor.is_none() && !is_data(&input.ty) && concrete(&input.ty, model, p).is_none()
    });
    let function = &model.definition.name;
    let checks = values.map(|input| {
        let (ty, name) = (&input.ty, input.name.to_string());
        quote!(#p::is_value::<#ty>(#function, #name);)
    });
    checks.collect()
}

/// Returns the type with the block's parameters replaced by types that they may be; `None` if it names one whose types
/// are not known.
fn concrete(ty: &Type, model: &FunctionModel, p: &TokenStream) -> Option<TokenStream> {
    let mut is_known = true;
    for_each_word(ty.to_token_stream(), &mut |word| {
        is_known &= word != "Self" && word != "for" && word != "impl";
    });
    let params = &model.definition.generics.params;
    let replacement = |word: &Ident| {
        params.iter().find_map(|param| match param {
            GenericParam::Type(param) if param.ident == *word => Some(stand_in(word, model, p)),
            GenericParam::Const(param) if param.ident == *word => Some(Some(quote!(1))),
            _ => None,
        })
    };
    for_each_word(ty.to_token_stream(), &mut |word| {
        is_known &= replacement(word).is_none_or(|known| known.is_some());
    });
    is_known.then(|| replaced(lasting(ty), &|word, _| replacement(word).flatten()))
}

/// Returns a type for a parameter that is an element type or a rank and nothing else.
fn stand_in(param: &Ident, model: &FunctionModel, p: &TokenStream) -> Option<TokenStream> {
    let (generics, forward) = (&model.definition.generics, &model.forward);
    if forward.has_element(param) && is_bound_by(generics, param, "Element") {
        return Some(quote!(f64));
    }
    let is_rank = forward.has_rank(param) && is_bound_by(generics, param, "Dimension");
    is_rank.then(|| quote!(#p::ndarray::Ix1))
}
