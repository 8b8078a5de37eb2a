//! Turns a model into tokens.
//!
//! The item comes first, as it was written, and is not looked at here. Beside it are:
//!
//! - [`apply`]: the function that users call: kernel, node, outputs.
//! - [`adjoint`]: a linear function turned round, which is its derivative.
//! - [`batch`]: `apply_batch`, which calls it for each example of a batch.
//! - [`interface`]: its signature.
//! - [`save`]: saving, there, what backward functions ask for.
//! - [`backward`]: the function that the engine calls: it passes what was saved to the backward functions
//!   that this pass needs.
//! - [`residual`]: what a residual needs in place of backward functions.
//! - [`forward_mode`]: the function that `apply` calls when an input has a tangent.
//! - [`bounds`]: what generated code needs of the block's parameters.
//! - [`context`]: the structs for what is saved and for what is needed.
//! - [`shapes`]: the checks of declared shapes, and `output_shape`.
//! - [`signature`]: the description that can be looked at when the program runs.
//! - [`catalogue`]: the entry in the list of all functions of a program.
//! - [`gradcheck`]: the test that was asked for.
//! - [`elementwise`], [`items`]: the formula of an elementwise function, and what runs it.
//! - [`reversed`]: the derivatives of a formula in reverse.
//! - [`scan`]: what runs the formula of a scan.
//! - [`short`]: the type and the functions that the short form only implies.
//! - [`fallback`]: all that in a form without effect, when there are mistakes.
//!
//! Generated code is thin: whatever can be an ordinary generic function is one, behind the runtime's
//! `__private`. It names everything by paths that start there or in `core`, and nothing by imports
//! of the module; items without a name are in a `const _`, where the runtime has a short name.
//! Local variables have [mixed-site](proc_macro2::Span::mixed_site) hygiene, so that they and the names
//! of the definition never meet.

mod adjoint;
mod apply;
mod backward;
mod batch;
mod bounds;
mod catalogue;
mod context;
mod elementwise;
pub(crate) mod fallback;
mod forward_mode;
mod gradcheck;
mod interface;
mod items;
mod pairs;
mod probes;
mod residual;
mod reversed;
mod save;
mod scan;
mod shapes;
mod short;
mod signature;
mod slices;
mod tokens;
mod values;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::Ident;

use crate::docs;
use crate::lists::Lists as _;
use crate::model::{
    Backward, Definition, Derivative, Forward, FunctionKind, FunctionModel, Source, Wants,
};
use crate::strip;

/// Generates the whole expansion of a function; `stripped` is the item without our attributes.
pub(crate) fn function(
    model: &FunctionModel,
    stripped: &TokenStream,
    default_crate: &str,
) -> TokenStream {
    let FunctionModel {
        definition,
        forward,
        ..
    } = model;
    let root = &tokens::runtime(definition, default_crate);
    let p = &tokens::private();
    let item = item(model, stripped, default_crate);
    let [beside, functions, within] = match &definition.kind {
        FunctionKind::Block | FunctionKind::Short(_) => with_backwards(model, root, p),
        FunctionKind::Elementwise(free, elementwise) => [
            TokenStream::new(),
            elementwise::functions(model, free, elementwise, p),
            elementwise::loops(definition, elementwise, forward, p),
        ],
    };
    let (signature, entry) = (signature::function(model, p), catalogue::entry(model, root));
    let probes = probes::constants(model, p);
    let entry = model.is_written.then_some(entry);
    let turned = adjoint::turned(model, default_crate);
    let signature = quote!(#within #signature #entry #probes #turned);
    let impls = impls(definition, forward, root, [&functions, &signature]);
    let tests = gradcheck::tests(model, default_crate);
    quote!(#item #beside #impls #tests)
}

/// Returns what is generated beside the block of a function with backward functions, the functions in it, and what only
/// they see.
fn with_backwards(model: &FunctionModel, root: &TokenStream, p: &TokenStream) -> [TokenStream; 3] {
    let FunctionModel {
        definition,
        forward,
        ..
    } = model;
    let asks = |backward: &Backward| backward.function.asks_for(Wants::NeedsInputGrad);
    let is_asked_for = forward.needs_input_grad.is_some() || model.backwards.iter().any(asks);
    let needs_input_grad = is_asked_for.then(|| context::needs_input_grad(definition, forward));
    let (beside, within) = if context::is_asked_for(model) {
        (context::saved(model, root), None)
    } else {
        let saved = (model.residual.is_none()).then(|| context::saved(model, p));
        (None, saved.flatten())
    };
    let by_name = context::gradients(model, root);
    let adjoint = model.adjoint.iter();
    let gradients = short::gradients(
        (adjoint.map(|adjoint| &adjoint.function)).chain(&model.backwards),
        model.adjoint.iter().map(|adjoint| &adjoint.rule),
    );
    let (apply, batch) = (apply::function(model, p), batch::function(model, p));
    let backward = backward::function(model, p);
    let forward_mode = forward_mode::function(model, p);
    let shapes = shapes::functions(model, p);
    let residual = residual::function(model, p);
    let table = shapes::table(model, p);
    [
        quote!(#needs_input_grad #beside #by_name),
        quote!(#gradients #apply #batch #backward #residual #forward_mode #shapes),
        quote!(#within #table),
    ]
}

/// Returns the item as written; in the short form, what it implies.
fn item(model: &FunctionModel, stripped: &TokenStream, default_crate: &str) -> TokenStream {
    let (definition, forward) = (&model.definition, &model.forward);
    let docs = docs::table(model);
    let function = short::function(definition, forward, default_crate, &docs, Clone::clone);
    let asked = asked(model);
    match &definition.kind {
        FunctionKind::Block => {
            let stripped = strip::with_unused(stripped.clone(), &forward.ident, &asked);
            // What a function takes, and how, is what it is about: no matter of style.
            quote! {
                #[allow(
                    clippy::needless_pass_by_value,
                    clippy::too_many_arguments,
                    clippy::trivially_copy_pass_by_ref,
                    clippy::type_complexity,
                )]
                #stripped
            }
        }
        FunctionKind::Short(free) => {
            let ty = short::ty(definition, free);
            let body = free.body.to_token_stream();
            let kernel = short::kernel(definition, free, &strip::unused(&asked, &body), &body);
            quote!(#function #ty #kernel)
        }
        FunctionKind::Elementwise(free, elementwise) => {
            let root = &tokens::runtime(definition, default_crate);
            let ty = short::ty(definition, free);
            let body = free.body.to_token_stream();
            let formula = elementwise::formula(definition, free, elementwise, root, &body);
            quote!(#function #ty #formula)
        }
    }
}

/// Returns the inputs that other functions ask for: forward need not use them.
fn asked(model: &FunctionModel) -> Vec<&Ident> {
    let by_backward = model.saved.iter().map(|saved| saved.source);
    let by_rule = model.jvp.iter().flat_map(Derivative::sources);
    let residual = model.residual.iter();
    let by_residual = residual.flat_map(|residual| residual.function.sources());
    let inputs = by_backward
        .chain(by_rule)
        .chain(by_residual)
        .filter_map(|source| match source {
            Source::Input(input) => Some(&model.forward.inputs[input].name),
            Source::Returned(_) | Source::Axis(_) | Source::Shape(_) => None,
        });
    inputs.listed()
}

/// Generates the `const _` with the items that have no name.
fn impls(
    definition: &Definition,
    forward: &Forward,
    root: &TokenStream,
    [functions, signature]: [&TokenStream; 2],
) -> TokenStream {
    let Definition {
        self_ty,
        generics,
        cfgs,
        ..
    } = definition;
    let (p, name, constant) = (tokens::private(), &definition.name, signature::name());
    let generics = bounds::completed(generics, forward, &p);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    quote! {
        #(#cfgs)*
        const _: () = {
            use #root as #p;

            #[allow(clippy::too_many_arguments, clippy::type_complexity)]
            impl #impl_generics #self_ty #where_clause {
                #functions
            }

            #signature

            impl #impl_generics #p::Function for #self_ty #where_clause {
                const NAME: &'static ::core::primitive::str = #name;
                const SIGNATURE: #p::Signature = #constant;
            }
        };
    }
}

#[cfg(test)]
mod tests;
