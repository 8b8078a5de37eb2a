//! Generates the function that the engine calls: it passes what was saved, and the incoming gradients, to the
//! backward functions that this pass needs, and returns what they return.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::{Ident, Type};

use super::tokens::{
    any_of, at, beside, element, element_and_dimension, field, in_form, local, number, option,
    owned,
};
use super::{residual, save};
use crate::lists::Lists as _;
use crate::model::{
    Backward, Derivative, Forward, FunctionModel, Parameter, Role, Saved, Source, Wants,
};
use crate::spell;
use crate::types::{Form, Kind, Passing, error_of, peel};

/// Returns the name of the function, which is beside those of the block.
pub(super) fn name(forward: &Forward) -> Ident {
    // Two definitions of one type are then only as many errors as they have names in common.
    local(format_args!(
        "__pullback_backward_of_{}",
        forward.ident.unraw()
    ))
}

/// Generates the whole function.
pub(super) fn function(model: &FunctionModel, p: &TokenStream) -> TokenStream {
    if model.residual.is_some() {
        return residual::backward(model, p);
    }
    let (name, call) = (name(&model.forward), local("call"));
    let names = (0..model.saved.len()).map(saved_name);
    let pattern = nested(&names.map(ToTokens::into_token_stream).listed());
    let types = model.saved.iter().map(|saved| saved_type(saved, model, p));
    let types = spell::placed(nested(&types.listed()), value_span(model));
    let needs_input_grad = needs_input_grad(model);
    let context = context(model, p);
    let gradients = gradients(model, p);
    let calls = (0..model.backwards.len()).map(|index| call_one(model, index, p));
    let span = value_span(model);
    quote_spanned! {span=>
        #[doc(hidden)]
        fn #name(
            #pattern: #types,
            #call: &mut #p::Call<'_>,
        ) -> ::core::result::Result<(), #p::Error> {
            #needs_input_grad
            #context
            #(#gradients)*
            #(#calls)*
            ::core::result::Result::Ok(())
        }
    }
}

/// Returns `(a, (b, (c, ())))`: one shape for any number of types, values or patterns.
pub(super) fn nested(things: &[TokenStream]) -> TokenStream {
    things
        .iter()
        .rev()
        .fold(quote!(()), |rest, thing| quote!((#thing, #rest)))
}

/// Returns the type in which one thing is saved. It names element types and values, never a rank, which need
/// not be `'static`.
pub(super) fn saved_type(saved: &Saved, model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let sourced = model.forward.source(saved.source);
    let Some(tensor) = sourced.tensor else {
        return option(&save::saved_as(saved.source, &model.forward, p));
    };
    let element = element(&tensor.content, p);
    let saved = local(match sourced.kind {
        Kind::List => "SavedList",
        Kind::Single | Kind::Optional => "Saved",
    });
    option(&quote!(#p::#saved<#element>))
}

/// Returns the span of the type of the first value that is saved. One that cannot be saved is reported there by
/// all the lines that need it to be, which the compiler then reports once.
pub(super) fn value_span(model: &FunctionModel) -> Span {
    let mut sources = model
        .saved
        .iter()
        .map(|saved| model.forward.source(saved.source));
    let value = sources.find(|source| source.tensor.is_none());
    value.map_or_else(Span::mixed_site, |value| at(value.ty))
}

fn needs_input_grad(model: &FunctionModel) -> Option<TokenStream> {
    let is_asked_for = model
        .backwards
        .iter()
        .any(|backward| backward.function.asks_for(Wants::NeedsInputGrad));
    let (variable, call) = (local("needs_input_grad"), local("call"));
    let needs = super::context::needs(model, |edge| quote!(#call.needs(#edge)));
    is_asked_for.then(|| quote!(let #variable = #needs;))
}

/// Fills the context.
fn context(model: &FunctionModel, p: &TokenStream) -> Option<TokenStream> {
    let (call, context) = (local("call"), local("context"));
    let ty = super::context::name(model);
    // A parameter may be where nothing can be inferred from it, as in the owned form of a `&T`.
    let (_, arguments, _) = model.definition.generics.split_for_impl();
    let arguments = arguments.as_turbofish();
    let marker = super::context::marker(&model.definition.generics)
        .map(|(name, _)| quote!(#name: ::core::marker::PhantomData));
    let fields = model.saved.iter().enumerate().map(|(index, saved)| {
        let (name, value) = (field(&saved.name), saved_name(index));
        let source = model.forward.source(saved.source);
        if source.tensor.is_none() {
            return quote!(#name: #value);
        }
        let origin = origin(saved.source, model, p);
        quote!(#name: #call.restore(#value, #origin)?)
    });
    (!model.saved.is_empty())
        .then(|| quote!(let #context = #ty #arguments { #(#fields,)* #marker };))
}

fn saved_name(index: usize) -> Ident {
    local(format_args!("saved_{index}"))
}

/// Returns the edge of a saved tensor, so that a gradient through it can be differentiated.
pub(super) fn origin(source: Source, model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let place = match source {
        Source::Input(index) => {
            let tensor = model.forward.inputs[index].tensor.as_ref();
            tensor
                .and_then(|tensor| tensor.edge)
                .map(|edge| (quote!(Input), edge))
        }
        Source::Returned(index) => match model.forward.returned[index].role {
            Role::Output { gradient } | Role::InPlace { gradient, .. } => {
                gradient.map(|output| (quote!(Output), output))
            }
            Role::Unknown { gradient } => Some((quote!(Output), gradient)),
            Role::Intermediate => None,
        },
        Source::Axis(_) | Source::Shape(_) => None,
    };
    let Some((variant, index)) = place else {
        return quote!(#p::Origin::Constant);
    };
    let index = number(index);
    quote!(#p::Origin::#variant(#index))
}

/// Declares a variable for each gradient that some backward function asks for.
fn gradients(model: &FunctionModel, p: &TokenStream) -> Vec<TokenStream> {
    let outputs = model
        .forward
        .differentiable_outputs()
        .into_iter()
        .enumerate();
    let gradient = |(index, (output, ty)): (usize, (&crate::model::Returned, _))| {
        let requests = model
            .backwards
            .iter()
            .flat_map(|backward| backward.function.requests(Wants::Gradient(index)))
            .listed();
        // Only looking whether a gradient is there changes nothing.
        let only_looks = |asked: &&Parameter| asked.form == Some(Form::View) && asked.optional;
        let mutability = (!requests.iter().all(only_looks)).then(|| quote!(mut));
        let (name, call) = (local(output.gradient_name()), local("call"));
        let (parameters, index) = (element_and_dimension(ty, p), number(index));
        let grad = local(match output.kind {
            Kind::Single => "grad",
            Kind::Optional => "grad_of_optional",
            Kind::List => "grad_of_list",
        });
        (!requests.is_empty())
            .then(|| quote!(let #mutability #name = #call.#grad::<#parameters>(#index);))
    };
    outputs.filter_map(gradient).listed()
}

/// Calls one backward function if this pass needs what it returns.
fn call_one(model: &FunctionModel, index: usize, p: &TokenStream) -> TokenStream {
    let Backward {
        function, covers, ..
    } = &model.backwards[index];
    let Derivative {
        ident,
        parameters,
        returns,
        by_name,
        fallible,
        once,
    } = function;
    let (call, inputs) = (local("call"), model.forward.differentiable());
    let needed = any_of(covers, |edge| quote!(#call.needs(#edge)));
    let arguments = parameters
        .iter()
        .map(|parameter| argument(parameter, model, index, p));
    let gradient = |edge: &usize| {
        // The place of its type: a returned value that is not a gradient is reported there.
        Ident::new(&format!("gradient_{edge}"), at(returns))
    };
    let give = |edge: &usize| {
        let (gradient, tensor) = (gradient(edge), inputs[*edge].1);
        let parameters = element_and_dimension(&tensor.ty, p);
        let give = local(if tensor.kind == Kind::List {
            "give_list"
        } else {
            "give"
        });
        let edge = number(*edge);
        let gradient = if *once {
            quote!(#p::Once(#gradient))
        } else {
            quote!(#gradient)
        };
        quote!(#call.#give::<#parameters>(#edge, #gradient);)
    };
    let mut result = quote!(Self::#ident(#(#arguments),*));
    if let Some(fallible) = fallible {
        // The place of its type: a type that is not an error is reported there.
        let returned = Ident::new("returned", at(error_of(fallible).unwrap_or(fallible)));
        result = quote!(match #result { #returned => #call.succeeded(#returned)? });
    }
    let unrecorded = local("unrecorded");
    let before = once.then(|| quote!(let #unrecorded = #p::unrecorded();));
    let after = once.then(|| quote!(::core::mem::drop(#unrecorded);));
    let names = covers.iter().map(gradient);
    if let [edge] = covers.as_slice() {
        let give = give(edge);
        return quote! {
            if #needed {
                #before
                #(let #names)* = #result;
                #after
                #give
            }
        };
    }
    let gives = covers.iter().map(|edge| {
        let (give, edge) = (give(edge), number(*edge));
        quote!(if #call.needs(#edge) { #give })
    });
    let pattern = if *by_name {
        let ty = beside(&model.definition, "Gradients");
        let fields = covers.iter().map(|edge| field(&inputs[*edge].0.name));
        quote!(#ty { #(#fields: #names),* })
    } else {
        quote!((#(#names),*))
    };
    quote! {
        if #needed {
            #before
            let #pattern = #result;
            #after
            #(#gives)*
        }
    }
}

fn argument(
    parameter: &Parameter,
    model: &FunctionModel,
    backward: usize,
    p: &TokenStream,
) -> TokenStream {
    let Parameter {
        ty,
        wants,
        form,
        optional,
    } = parameter;
    let function = &model.backwards[backward].function;
    // All at the span of the written type, where the compiler is to report what does not fit it.
    let span = at(ty);
    let there = |name: &str| Ident::new(name, span);
    let saved = |source: Source| {
        let (context, mut field) = (there("context"), model.forward.source(source).name.clone());
        field.set_span(span);
        let is_list = model.forward.source(source).kind == Kind::List;
        if *optional && !is_list {
            return quote_spanned!(span=> ::core::option::Option::as_ref(&#context.#field));
        }
        quote_spanned!(span=> #p::saved(&#context.#field))
    };
    match (*wants, *form) {
        (Wants::NeedsInputGrad, _) => {
            let variable = there("needs_input_grad");
            let by_reference = matches!(peel(ty), Type::Reference(_));
            let reference = by_reference.then(|| quote!(&));
            quote!(#reference #variable)
        }
        (Wants::Context, _) => {
            let context = there("context");
            quote_spanned!(span=> &#context)
        }
        (Wants::Gradient(output), Some(form)) => {
            let (output_of, _) = model.forward.differentiable_outputs()[output];
            let name = there(&output_of.gradient_name().to_string());
            let method = there(method(form, *optional));
            let is_owned = matches!(form, Form::Owned | Form::Tensor);
            let last = is_owned.then(|| is_last(model, backward, output));
            let slice = (output_of.kind == Kind::List).then(|| quote!(&));
            let gradient = quote_spanned!(span=> #slice #name.#method(#last));
            let is_tensor = form == Form::TensorRef && function.once;
            if is_tensor && *optional && output_of.kind == Kind::List {
                quote!(&#p::optional_references(&#p::detached_optional(#gradient)))
            } else if is_tensor {
                detached(&gradient, kind(output_of.kind, *optional), p)
            } else {
                gradient
            }
        }
        (Wants::Saved(source), Some(form)) => {
            let kind = kind(model.forward.source(source).kind, *optional);
            let mut saved = saved(source);
            if kind == Kind::List && form == Form::TensorRef {
                saved = quote_spanned!(span=> &#p::references(&#saved[..]));
            }
            if form == Form::TensorRef && function.once {
                saved = detached(&saved, kind, p);
            }
            let saved = in_form(&saved, form, kind, span, p);
            match form {
                Form::Owned => owned(saved, ty, p),
                _ => saved,
            }
        }
        (Wants::Saved(source), None) => value(&saved(source), ty),
        // The rules refuse these.
        (Wants::Gradient(_), None) | (Wants::Tangent(_), _) => TokenStream::new(),
    }
}

/// Returns the number of tensors in a parameter, which takes what may be missing with or without `Option`.
fn kind(of: Kind, optional: bool) -> Kind {
    match of {
        Kind::List => Kind::List,
        _ if optional => Kind::Optional,
        _ => Kind::Single,
    }
}

/// Returns tensors, given by reference, without their histories: what is differentiable once is outside any graph.
fn detached(tensors: &TokenStream, kind: Kind, p: &TokenStream) -> TokenStream {
    match kind {
        Kind::Single => quote!(&#p::Tensor::detach(#tensors)),
        Kind::Optional => quote! {
            ::core::option::Option::as_ref(&::core::option::Option::map(#tensors, #p::Tensor::detach))
        },
        Kind::List => quote!(&#p::references(&#p::detached(#tensors))),
    }
}

/// Returns a saved value, given by reference, in the way that the function asks for it.
pub(super) fn value(saved: &TokenStream, ty: &Type) -> TokenStream {
    let span = at(ty);
    match Passing::of(ty) {
        Passing::Owned(_) => quote_spanned!(span=> #saved.to_value()),
        Passing::Reference(ty) => {
            quote_spanned!(span=> ::std::borrow::Borrow::<#ty>::borrow(&**#saved))
        }
        Passing::OptionalReference(ty) => quote_spanned! {span=>
            (**#saved).as_ref().map(|value| ::std::borrow::Borrow::<#ty>::borrow(value))
        },
    }
}

/// Returns the runtime's name for a way of asking for a gradient.
fn method(form: Form, optional: bool) -> &'static str {
    match (form, optional) {
        (Form::View | Form::ViewMut, false) => "view",
        (Form::View | Form::ViewMut, true) => "view_optional",
        (Form::Owned, false) => "owned",
        (Form::Owned, true) => "owned_optional",
        (Form::TensorRef, false) => "tensor",
        (Form::TensorRef, true) => "tensor_optional",
        (Form::Tensor, false) => "owned_tensor",
        (Form::Tensor, true) => "owned_tensor_optional",
    }
}

/// Returns whether no backward function after this one asks for the gradient in this pass, so that its buffer
/// can be moved.
fn is_last(model: &FunctionModel, backward: usize, output: usize) -> TokenStream {
    let call = local("call");
    let later: Vec<usize> = model.backwards[backward + 1..]
        .iter()
        .filter(|later| later.function.asks_for(Wants::Gradient(output)))
        .flat_map(|later| later.covers.iter().copied())
        .listed();
    if later.is_empty() {
        return quote!(true);
    }
    let needed = any_of(&later, |edge| quote!(#call.needs(#edge)));
    quote!(!(#needed))
}
