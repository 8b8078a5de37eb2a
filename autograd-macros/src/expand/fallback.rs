//! Generates the expansion of a function with mistakes: the item as written, all the errors, and
//! everything that other code may refer to, without effect. One mistake then gives one error, and editors
//! keep completing.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::Ident;

use super::{apply, batch, context, elementwise, impls, shapes, short, signature, tokens};
use crate::model::{Backward, FunctionKind};
use crate::spell::has_word;
use crate::strip;
use crate::validate::{self, Alone, Rejected};

/// Generates the whole expansion of a function with mistakes.
pub(crate) fn function(
    rejected: &Rejected,
    stripped: &TokenStream,
    default_crate: &str,
) -> TokenStream {
    let Rejected {
        errors,
        definition,
        forward,
        backwards,
        flawed,
        ..
    } = rejected;
    if definition.is_none() && rejected.is_unreadable {
        return errors.clone();
    }
    if let Some(form) = &rejected.alone {
        let function = alone(form, rejected, stripped, default_crate);
        return quote!(#function #errors);
    }
    let item = item(rejected, stripped, default_crate);
    let (Some(definition), Some(forward)) = (definition, forward) else {
        return quote!(#item #errors);
    };
    let root = tokens::runtime(definition, default_crate);
    let p = &tokens::private();
    let is_whole = |backward: &&Backward| !flawed.contains(&backward.function.ident);
    let gradients = short::gradients(backwards.iter().filter(is_whole), std::iter::empty());
    let attributes = quote!(#[doc(hidden)] #[allow(unused_variables, dead_code)]);
    let apply = apply::method(forward, &attributes, &inert(), p);
    let batch = rejected
        .batch
        .as_ref()
        .map(|batch| batch::method(definition, forward, batch, &attributes, &inert(), p));
    let output_shape =
        (!forward.shapes.are_none()).then(|| shapes::method(forward, &attributes, &inert(), p));
    let signature = signature::fallback(definition, forward, p);
    let functions = quote!(#gradients #apply #batch #output_shape);
    let impls = impls(definition, forward, &root, [&functions, &signature]);
    if definition.kind.elementwise().is_some() {
        // It has no functions that ask for anything.
        return quote!(#item #errors #impls);
    }
    let needs_input_grad = context::needs_input_grad(definition, forward);
    let context = context::fallback(definition, forward, &root);
    let name = validate::struct_of_gradients(definition);
    let gradients = has_word(stripped.clone(), &name)
        .then(|| context::gradients_fallback(definition, forward, &root));
    quote!(#item #errors #needs_input_grad #context #gradients #impls)
}

/// Returns the item as written; in the short form what it implies, as far as forward could be read.
fn item(rejected: &Rejected, stripped: &TokenStream, default_crate: &str) -> TokenStream {
    let gradients = rejected
        .definition
        .as_ref()
        .map(validate::struct_of_gradients);
    // What does something with an `apply` that is not as it should be would be reported too, and what makes the struct of
    // the gradients, whose fields may be meant to be others.
    let is_emptied = |name: &Ident, body: &TokenStream| {
        rejected.flawed.contains(name)
            || !rejected.apply_is_right && has_word(body.clone(), "apply")
            || gradients
                .as_ref()
                .is_some_and(|gradients| has_word(body.clone(), gradients))
    };
    let whole = strip::without_bodies(stripped.clone(), is_emptied, &inert());
    // What generated code would have used is not dead.
    let as_written = quote!(#[allow(dead_code, unused_mut, unused_variables)] #whole);
    let Some(definition) = &rejected.definition else {
        return as_written;
    };
    let Some(free) = definition.kind.free() else {
        return as_written;
    };
    if rejected.is_unreadable {
        return TokenStream::new();
    }
    let body = if rejected.flawed.contains(&free.ident) {
        let body = inert();
        quote!({ #![allow(unused_mut, unused_variables)] #body })
    } else {
        free.body.to_token_stream()
    };
    let ty = short::ty(definition, free);
    let kernel = match &definition.kind {
        FunctionKind::Block | FunctionKind::Short(_) => short::kernel(definition, free, &[], &body),
        FunctionKind::Elementwise(_, elementwise) => {
            let root = &tokens::runtime(definition, default_crate);
            elementwise::formula(definition, free, elementwise, root, &body)
        }
    };
    let kernel = quote!(#ty #kernel);
    match &rejected.forward {
        Some(forward) => {
            let docs = quote!(#[allow(unused_variables, dead_code)]);
            let function = short::function(definition, forward, default_crate, &docs, |_| inert());
            quote!(#function #kernel)
        }
        // A receiver would be an error of its own on a free function.
        None if free.kernel.receiver().is_some() => kernel,
        None if rejected.flawed.contains(&free.ident) => {
            let whole = strip::without_body(stripped.clone(), &inert());
            quote!(#[allow(dead_code, unused_mut, unused_variables)] #whole)
        }
        None => as_written,
    }
}

/// Returns the function where nothing can be beside it.
fn alone(
    form: &Alone,
    rejected: &Rejected,
    stripped: &TokenStream,
    default_crate: &str,
) -> TokenStream {
    let docs = quote!(#[allow(unused_variables, dead_code)]);
    let known = rejected.definition.as_ref().zip(rejected.forward.as_ref());
    let function = known.filter(|_| matches!(form, Alone::OfTensors));
    let function = function.and_then(|(definition, forward)| {
        short::function(definition, forward, default_crate, &docs, |_| inert())
    });
    function.unwrap_or_else(|| quote!(#[allow(dead_code, unused_mut, unused_variables)] #stripped))
}

fn inert() -> TokenStream {
    quote!(::core::panic!(
        "this function has mistakes that the compiler has reported"
    ))
}
