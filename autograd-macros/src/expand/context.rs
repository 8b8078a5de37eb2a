//! The structs beside the function: what a node keeps, and which gradients are needed.

use std::collections::HashSet;

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{GenericParam, Generics, WherePredicate};

use super::bounds;
use super::tokens::{beside, field, option, tensor};
use crate::docs;
use crate::model::{Definition, Forward, FunctionModel, Saved};
use crate::spell;
use crate::types::Passing;

/// `LinearFunctionNeedsInputGrad`
pub(super) fn needs_input_grad(definition: &Definition, forward: &Forward) -> TokenStream {
    let name = beside(definition, "NeedsInputGrad");
    let (cfgs, vis) = (&definition.cfgs, &forward.vis);
    let docs = docs::needs_input_grad(definition);
    let fields = forward.differentiable().into_iter().map(|(input, _)| {
        let (name, docs) = (field(&input.name), docs::needs_field(&input.name));
        quote!(#docs #vis #name: bool)
    });
    quote! {
        #(#cfgs)*
        #docs
        #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
        #[derive(::core::cmp::PartialEq, ::core::cmp::Eq)]
        #[allow(dead_code, clippy::struct_excessive_bools)]
        #vis struct #name {
            #(#fields),*
        }
    }
}

/// `LinearFunctionContext`
pub(super) fn saved(model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let Definition { cfgs, .. } = &model.definition;
    let name = beside(&model.definition, "Context");
    let vis = &model.forward.vis;
    let docs = docs::context(&model.definition);
    let types = field_types(model, p);
    let fields = model.saved.iter().zip(&types).map(|(saved, ty)| {
        let (name, docs) = (
            field(&saved.name),
            docs::context_field(saved, &model.forward),
        );
        quote!(#docs #vis #name: #ty)
    });
    // Backward functions read every field, but there may be none.
    let never_made = model.saved.is_empty().then(|| quote!(#[allow(dead_code)]));
    let generics = generics(model, p);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    quote! {
        #(#cfgs)*
        #docs
        #[derive(::core::fmt::Debug)]
        #never_made
        #vis struct #name #impl_generics #where_clause {
            #(#fields),*
        }
    }
}

/// The context's own parameters.
pub(super) fn generics(model: &FunctionModel, p: &TokenStream) -> Generics {
    let generics = bounds::completed(&model.definition.generics, &model.forward, p);
    mentioned(&generics, &field_types(model, p))
}

fn field_types(model: &FunctionModel, p: &TokenStream) -> Vec<TokenStream> {
    let field_type = |saved: &Saved| {
        let sourced = model.forward.source(saved.source);
        let Some(ty) = sourced.tensor else {
            let owned = spell::owned(&Passing::of(sourced.ty));
            return option(&quote!(#p::Kept<#owned>));
        };
        let tensor = tensor(&ty.content, sourced.ty, p);
        option(&if sourced.list {
            quote!(::std::vec::Vec<#tensor>)
        } else {
            tensor
        })
    };
    model.saved.iter().map(field_type).collect()
}

/// The parameters of the block that the fields mention, with the bounds that speak of nothing else.
///
/// A struct must use all its parameters, so the block's own list will not do.
fn mentioned(generics: &Generics, fields: &[TokenStream]) -> Generics {
    let mut words = HashSet::new();
    for field in fields {
        collect_words(field.clone(), &mut words);
    }
    let name = |param: &GenericParam| match param {
        GenericParam::Lifetime(param) => param.lifetime.ident.to_string(),
        GenericParam::Type(param) => param.ident.to_string(),
        GenericParam::Const(param) => param.ident.to_string(),
    };
    let foreign: HashSet<String> = generics
        .params
        .iter()
        .map(name)
        .filter(|name| !words.contains(name))
        .chain(["Self".to_owned()])
        .collect();
    let speaks_of_foreign = |tokens: TokenStream| {
        let mut words = HashSet::new();
        collect_words(tokens, &mut words);
        !words.is_disjoint(&foreign)
    };
    let mut kept = generics.clone();
    kept.params = kept
        .params
        .into_iter()
        .filter(|param| words.contains(&name(param)))
        .collect();
    for param in kept.type_params_mut() {
        let bounds = std::mem::take(&mut param.bounds);
        let is_ours = |bound: &syn::TypeParamBound| !speaks_of_foreign(bound.to_token_stream());
        param.bounds = bounds.into_iter().filter(is_ours).collect();
    }
    if let Some(clause) = &mut kept.where_clause {
        let predicates = std::mem::take(&mut clause.predicates);
        let is_ours = |predicate: &WherePredicate| {
            let mut words_of = HashSet::new();
            collect_words(predicate.to_token_stream(), &mut words_of);
            words_of.is_disjoint(&foreign) && !words_of.is_disjoint(&words)
        };
        clause.predicates = predicates.into_iter().filter(is_ours).collect();
    }
    kept
}

fn collect_words(tokens: TokenStream, words: &mut HashSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => collect_words(group.stream(), words),
            TokenTree::Ident(ident) => {
                words.insert(ident.to_string());
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}
