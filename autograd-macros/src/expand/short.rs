//! Generates what the short form implies: the function under its name, the type behind it, and the
//! functions around the expressions of its gradients.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{
    Attribute, Expr, FnArg, Generics, Ident, Pat, TypeParamBound, WherePredicate, parse_quote,
};

use super::{bounds, interface, tokens};
use crate::docs;
use crate::lists::Lists as _;
use crate::model::{Backward, Definition, Forward, FreeFunction, Written};
use crate::spell::placed;

/// The attributes that are about the body, and move with it.
pub(super) const OF_THE_BODY: [&str; 3] = ["expect", "target_feature", "track_caller"];
/// The attributes that are about both the body and the function that is used.
pub(super) const OF_BOTH: [&str; 7] = [
    "allow", "warn", "deny", "forbid", "inline", "cold", "cfg_attr",
];

/// Generates `linear`, the differentiable function, with `docs` below its own documentation.
pub(super) fn function(
    definition: &Definition,
    forward: &Forward,
    default_crate: &str,
    docs: &TokenStream,
    body: impl FnOnce(&TokenStream) -> TokenStream,
) -> Option<TokenStream> {
    let FreeFunction {
        attrs,
        vis,
        ident,
        generics,
        ..
    } = definition.kind.free()?;
    let root = &tokens::runtime(definition, default_crate);
    let self_ty = &definition.self_ty;
    let attrs = attrs.iter().filter(|attr| !is_one_of(attr, &OF_THE_BODY));
    let generics = bounds::completed(generics, forward, root);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let parameters = interface::parameters(forward, root);
    let returns = interface::returns(forward, root);
    let arguments = forward.inputs.iter().map(|input| &input.name);
    let body = body(&quote!(<#self_ty>::apply(#(#arguments),*)));
    let is_marked = attrs.clone().any(|attr| attr.path().is_ident("must_use"));
    let must_use = interface::is_for_its_value(forward) && !is_marked;
    let must_use = must_use.then(|| quote!(#[must_use]));
    Some(quote! {
        #(#attrs)*
        #docs
        #must_use
        #[track_caller]
        #[allow(clippy::too_many_arguments, clippy::type_complexity)]
        #vis fn #ident #impl_generics (#(#parameters),*) -> #returns #where_clause {
            #body
        }
    })
}

/// Generates the type, `Linear`.
pub(super) fn ty(definition: &Definition, free: &FreeFunction) -> TokenStream {
    let Definition {
        ident,
        generics,
        cfgs,
        ..
    } = definition;
    let (docs, vis) = (docs::short_type(free), &free.vis);
    let unbounded = unbounded(generics);
    let (type_generics, _, type_clause) = unbounded.split_for_impl();
    let marks: Vec<&Ident> = generics.type_params().map(|param| &param.ident).listed();
    let of = (!marks.is_empty()).then(|| quote!(of: (#(::core::marker::PhantomData<#marks>,)*)));
    // A type's name that is taken already is a mistake in the function's name.
    let place = tokens::at(ident);
    let vis = placed(quote!(#vis), place);
    let head = quote_spanned!(place=> #vis struct #ident);
    let fields = quote_spanned!(place=> { #of });
    quote! {
        #(#cfgs)*
        #docs
        #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
        #[allow(dead_code)]
        #head #type_generics #type_clause #fields
    }
}

/// Generates `Linear::forward`, with the body of the function.
pub(super) fn kernel(
    definition: &Definition,
    free: &FreeFunction,
    unused: &[&Ident],
    body: &TokenStream,
) -> TokenStream {
    let Definition {
        self_ty,
        generics,
        cfgs,
        ..
    } = definition;
    let FreeFunction {
        attrs, vis, kernel, ..
    } = free;
    let docs = docs::short_kernel(free);
    let attrs = attrs
        .iter()
        .filter(|attr| is_one_of(attr, &OF_THE_BODY) || is_one_of(attr, &OF_BOTH));
    let mut kernel = kernel.clone();
    for argument in &mut kernel.inputs {
        if let FnArg::Typed(parameter) = argument
            && unused.iter().any(|name| binds(&parameter.pat, name))
        {
            parameter
                .attrs
                .push(parse_quote!(#[allow(unused_variables)]));
        }
    }
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    quote! {
        #(#cfgs)*
        #[allow(
            clippy::needless_pass_by_value,
            clippy::too_many_arguments,
            clippy::trivially_copy_pass_by_ref,
            clippy::type_complexity,
        )]
        impl #impl_generics #self_ty #where_clause {
            #docs
            #(#attrs)*
            #vis #kernel #body
        }
    }
}

/// Returns whether a parameter's pattern is this name.
fn binds(pattern: &Pat, name: &Ident) -> bool {
    match pattern {
        Pat::Ident(pattern) => pattern.ident == *name,
        Pat::Reference(reference) => binds(&reference.pat, name),
        _ => false,
    }
}

/// Generates a function around each gradient that is an expression, and around each of `others`; with mistakes, nothing
/// calls it.
pub(super) fn gradients<'a>(
    backwards: impl Iterator<Item = &'a Backward>,
    others: impl Iterator<Item = &'a Written>,
) -> TokenStream {
    let mut names = Vec::new();
    let written = backwards
        .filter_map(|backward| backward.written.as_ref())
        .chain(others)
        // Of two for the same input, a mistake that has been reported, one is enough.
        .filter(|written| {
            let is_first = !names.contains(&&written.sig.ident);
            names.push(&written.sig.ident);
            is_first
        });
    written
        .map(|Written { sig, expression }| {
            let expression = whole(expression);
            quote! {
                #[allow(
                    dead_code,
                    unused_parens,
                    clippy::ptr_arg,
                    clippy::ref_option,
                    clippy::trivially_copy_pass_by_ref,
                )]
                #sig { #expression }
            }
        })
        .tokens()
}

/// Returns an expression in parentheses: without them, a block that it begins with would be a statement of its own. They
/// are at its place, where the compiler reports its errors.
pub(super) fn whole(expression: &Expr) -> TokenStream {
    quote_spanned!(tokens::at(expression)=> (#expression))
}

/// Returns the parameters of the type, with only the bounds that it needs.
fn unbounded(generics: &Generics) -> Generics {
    let is_relaxed = |bound: &TypeParamBound| matches!(bound, TypeParamBound::Trait(bound) if bound.maybe.is_some());
    let mut unbounded = generics.clone();
    for param in unbounded.type_params_mut() {
        let bounds = std::mem::take(&mut param.bounds);
        param.bounds = bounds.into_iter().filter(is_relaxed).collect();
    }
    if let Some(clause) = &mut unbounded.where_clause {
        let predicates = std::mem::take(&mut clause.predicates);
        let relaxed = predicates
            .into_iter()
            .filter_map(|predicate| match predicate {
                WherePredicate::Type(mut of) => {
                    of.bounds = of.bounds.into_iter().filter(is_relaxed).collect();
                    (!of.bounds.is_empty()).then_some(WherePredicate::Type(of))
                }
                _ => None,
            });
        clause.predicates = relaxed.collect();
    }
    unbounded
}

pub(super) fn is_one_of(attribute: &Attribute, names: &[&str]) -> bool {
    names.iter().any(|name| attribute.path().is_ident(name))
}
