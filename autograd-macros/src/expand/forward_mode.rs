//! The function that `apply` turns to when an input has a tangent: it takes the tangents off, applies
//! the function to what is beneath, and puts those of the outputs on, as the author's `#[jvp]` rule
//! gives them.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::{Ident, Type};

use super::apply::{self, parameter, returns};
use super::backward;
use super::tokens::{at, is_consumed, local, look};
use crate::model::{
    Forward, FunctionModel, Given, GivenWhat, Input, Jvp, Request, Returned, Source, TensorInput,
};
use crate::types::Form;

/// The name of the function, among the author's own associated functions.
fn name() -> Ident {
    local("__pullback_forward_mode")
}

/// The statement of `apply` that turns here: the largest level counts, whatever input has it.
pub(super) fn turn(forward: &Forward, p: &TokenStream) -> TokenStream {
    let (name, level) = (name(), local("level"));
    let levels = forward.inputs.iter().filter_map(|input| {
        let (name, tensor) = (&input.name, input.tensor.as_ref()?);
        let (ending, look) = look(name, tensor);
        let function = local(format_args!("level{ending}"));
        Some(quote!(#p::#function(#look)))
    });
    let inputs = forward.inputs.iter().map(|input| &input.name);
    quote! {
        let #level = #p::largest([#(#levels),*]);
        if #level > 0 {
            return Self::#name(#level, #(#inputs),*);
        }
    }
}

/// The whole function.
pub(super) fn function(model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let FunctionModel { forward, jvp, .. } = model;
    let (name, level, call) = (name(), local("level"), local("call"));
    let (lifetimes, _, where_clause) = forward.generics.split_for_impl();
    let parameters = forward.inputs.iter().map(|input| parameter(input, p));
    let returns = returns(forward, p);
    let splits = forward
        .inputs
        .iter()
        .filter_map(|input| split(input, jvp.as_ref()));
    let kept = forward.inputs.iter().enumerate();
    let kept = kept.filter_map(|(index, input)| keep_value(index, input, jvp.as_ref(), p));
    let arguments = forward.inputs.iter().map(|input| argument(input, p));
    let question = forward.fallible.is_some().then(|| quote!(?));
    let outputs = forward.outputs().map(|output| &output.name);
    let outputs = apply::tuple(outputs.map(|name| quote!(#name)));
    let finish = finish(model, p);
    quote! {
        #[cold]
        #[track_caller]
        #[doc(hidden)]
        fn #name #lifetimes (#level: u64, #(#parameters),*) -> #returns #where_clause {
            let mut #call = #p::ForwardCall::new(<Self as #p::Function>::NAME, #level);
            #(#splits)*
            #(#kept)*
            let #outputs = Self::apply(#(#arguments),*) #question;
            #finish
        }
    }
}

/// Takes the tangent off one input.
fn split(input: &Input, jvp: Option<&Jvp>) -> Option<TokenStream> {
    let (name, tensor, call) = (&input.name, input.tensor.as_ref()?, local("call"));
    let requests: Vec<_> = jvp
        .zip(tensor.edge)
        .map_or_else(Vec::new, |(jvp, edge)| jvp.tangents(edge).collect());
    let tangent = tangent(input);
    let pattern = if requests.is_empty() {
        quote!(_)
    } else {
        quote!(#tangent)
    };
    let (ending, look) = look(name, tensor);
    let split = local(format_args!("split{ending}"));
    // A rule that does not tell a missing tangent from zeros gets zeros.
    let or_zeros = local(if tensor.list {
        "or_zeros_list"
    } else {
        "or_zeros"
    });
    let filled = requests
        .iter()
        .any(|(_, optional)| !optional)
        .then(|| quote!(let #tangent = #call.#or_zeros(#tangent, &#name);));
    Some(quote! {
        let (#name, #pattern) = #call.#split(#look);
        #filled
    })
}

fn tangent(input: &Input) -> Ident {
    local(input.tangent_name())
}

/// Keeps a value that the rule asks for, as `apply` may take it away.
fn keep_value(
    index: usize,
    input: &Input,
    jvp: Option<&Jvp>,
    p: &TokenStream,
) -> Option<TokenStream> {
    let is_asked_for = jvp.is_some_and(|jvp| jvp.asks_for(Source::Input(index)));
    if input.tensor.is_some() || !is_asked_for {
        return None;
    }
    let (kept, save) = (
        kept(&input.name),
        apply::save_input(input, &quote!(true), p),
    );
    Some(quote!(let #kept = #save;))
}

fn kept(name: &Ident) -> Ident {
    local(format_args!("kept_{}", name.unraw()))
}

/// What `apply` gets: tensors without the tangents that were taken off.
fn argument(input: &Input, p: &TokenStream) -> TokenStream {
    let name = &input.name;
    let Some(TensorInput {
        ty, optional, list, ..
    }) = &input.tensor
    else {
        return quote!(#name);
    };
    match (is_consumed(ty), optional) {
        _ if *list => quote!(&#p::references(&#name)),
        (false, false) => quote!(&#name),
        (false, true) => quote!(::core::option::Option::as_ref(&#name)),
        (true, _) => quote!(::core::clone::Clone::clone(&#name)),
    }
}

/// Puts the tangents on, or says why there are none.
fn finish(model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let (forward, call) = (&model.forward, local("call"));
    let without = apply::finish(forward, |output| {
        let name = &output.name;
        if output.has_gradient() {
            quote!(#call.without_tangent(#name))
        } else {
            quote!(#name)
        }
    });
    let Some(jvp) = &model.jvp else {
        return without;
    };
    let tangent = |output: &Returned| {
        // The place of its type: a tangent that is none is reported there.
        Ident::new(
            &format!("tangent_{}", output.name.unraw()),
            at(&jvp.returns),
        )
    };
    let with = apply::finish(forward, |output| {
        let (name, text) = (&output.name, output.name.unraw().to_string());
        if !output.has_gradient() {
            return quote!(#name);
        }
        let tangent = tangent(output);
        quote!(#call.with_tangent(#name, #text, #tangent))
    });
    let values = forward
        .returned
        .iter()
        .enumerate()
        .filter(|(index, output)| {
            output.tensor.is_none() && jvp.asks_for(Source::Returned(*index))
        });
    let values = values.map(|(_, output)| {
        let (kept, save) = (
            kept(&output.name),
            apply::save_returned(output, &quote!(true), p),
        );
        quote!(let #kept = #save;)
    });
    let outputs = forward.differentiable_outputs();
    let tangents = apply::tuple(outputs.iter().map(|(output, _)| {
        let tangent = tangent(output);
        quote!(#tangent)
    }));
    let rule = &jvp.ident;
    let given = jvp.given.iter().map(|given| self::given(given, model, p));
    quote! {
        if #call.failed() {
            return #without;
        }
        #(#values)*
        let #tangents = Self::#rule(#(#given),*);
        #with
    }
}

/// One argument of the author's rule.
fn given(given: &Given, model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let forward = &model.forward;
    match &given.what {
        GivenWhat::Tangent {
            edge,
            form,
            optional,
        } => {
            let (input, tensor) = forward.differentiable()[*edge];
            let tangent = tangent(input);
            lend(&tangent, tensor.list, (*form, *optional), &given.ty, p)
        }
        GivenWhat::Known(Request::Tensor {
            source,
            form,
            optional,
        }) => {
            let sourced = forward.source(*source);
            lend(sourced.name, sourced.list, (*form, *optional), &given.ty, p)
        }
        GivenWhat::Known(Request::Value { source }) => {
            let kept = kept(forward.source(*source).name);
            backward::value(&quote!(&#kept), &given.ty, p)
        }
    }
}

/// A tensor or a list, in the form that the author asks for.
fn lend(
    tensor: &Ident,
    list: bool,
    (form, optional): (Form, bool),
    ty: &Type,
    p: &TokenStream,
) -> TokenStream {
    let span = at(ty);
    let shared = quote!(::core::option::Option::as_ref(&#tensor));
    match (form, optional) {
        (Form::View, false) if list => quote_spanned!(span=> &#p::views_owned(&#tensor)),
        (Form::View, true) if list => quote_spanned!(span=> &#p::views_optional(&#tensor)),
        _ if list => quote_spanned!(span=> &#tensor),
        (Form::View | Form::ViewMut, false) => quote_spanned!(span=> #p::view(&#tensor)),
        (Form::View | Form::ViewMut, true) => quote_spanned!(span=> #p::view_optional(#shared)),
        (Form::Owned, false) => quote_spanned!(span=> #tensor.to_array()),
        (Form::Owned, true) => {
            quote_spanned!(span=> ::core::option::Option::map(#shared, #p::Tensor::to_array))
        }
        (Form::TensorRef | Form::Tensor, false) => quote_spanned!(span=> &#tensor),
        (Form::TensorRef | Form::Tensor, true) => shared,
    }
}
