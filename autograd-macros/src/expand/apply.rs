//! Generates `apply`, which users of the function call.
//!
//! It checks which inputs are part of a graph, runs forward outside any graph, and only if a gradient
//! is needed saves what backward functions can ask for and records one node.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::{Ident, Type};

use super::backward::nested;
use super::interface::{finish, is_for_its_value, parameters, returns};
use super::residual::{self, Equations};
use super::shapes::{self, Checks};
use super::tokens::{
    at, element_and_dimension, in_form, is_consumed, local, number, owned, reference, tuple,
};
use super::{context, forward_mode, interface, probes, save};
use crate::docs;
use crate::lists::Lists as _;
use crate::model::{Forward, FunctionModel, Input, Returned, Role, Source};
use crate::types::{Form, Kind, peel};

/// Generates the whole function. If there is an `apply_batch` too, what `apply` does is a function that both call, with
/// the line of the call: the line of an example is that of the batch. With a residual, forward mode calls it too, with a
/// link for the equations.
pub(super) fn function(model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let forward = &model.forward;
    let (docs, body) = (docs::apply(model), body(model, p));
    let (probes, gathered) = (probes::statements(model, p), gathered(forward, p));
    if !model.is_located() {
        return method(forward, &docs, &quote!(#probes #(#gathered)* #body), p);
    }
    let (lifetimes, _, where_clause) = forward.generics.split_for_impl();
    let (name, applied_at) = (located_name(forward), local("applied_at"));
    let (parameters, returns) = (interface::gathered(forward, p), returns(forward, p));
    let (link, link_parameter) = (
        residual::no_link(model, p),
        residual::link_parameter(model, p),
    );
    let arguments = forward.inputs.iter().map(|input| {
        let (name, tensor) = (&input.name, input.tensor.as_ref());
        let is_list = tensor.is_some_and(|tensor| tensor.kind == Kind::List);
        if is_list {
            quote!(&#name[..])
        } else {
            quote!(#name)
        }
    });
    // A panic is passed on at the line of the call.
    let call = quote! {
        #probes
        #(#gathered)*
        let #applied_at = ::core::panic::Location::caller();
        #p::catching_passes(|| Self::#name(#applied_at, #link #(#arguments),*))
    };
    let apply = method(forward, &docs, &call, p);
    quote! {
        #apply

        #[doc(hidden)]
        fn #name #lifetimes (
            #applied_at: &'static ::core::panic::Location<'static>,
            #link_parameter
            #(#parameters),*
        ) -> #returns #where_clause {
            #body
        }
    }
}

/// Returns the name of the function that has what `apply` does.
pub(super) fn located_name(forward: &Forward) -> Ident {
    local(format_args!(
        "__pullback_apply_of_{}",
        forward.ident.unraw()
    ))
}

/// Generates the function around a given body, which the fallback has too.
pub(super) fn method(
    forward: &Forward,
    attributes: &TokenStream,
    body: &TokenStream,
    p: &TokenStream,
) -> TokenStream {
    let (lifetimes, _, where_clause) = forward.generics.split_for_impl();
    let vis = &forward.vis;
    let parameters = parameters(forward, p);
    let returns = returns(forward, p);
    let must_use = is_for_its_value(forward).then(|| quote!(#[must_use]));
    quote! {
        #attributes
        #must_use
        #[track_caller]
        #vis fn apply #lifetimes (#(#parameters),*) -> #returns #where_clause {
            #body
        }
    }
}

fn body(model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let forward = &model.forward;
    let (edges, needs, node) = (local("edges"), local("needs"), local("node"));
    let saved = model
        .saved
        .iter()
        .map(|saved| save::save(saved, forward, p));
    let (before, mut saved): (Vec<_>, Vec<_>) = saved.unzip();
    let equations = residual::equations(model, p);
    saved.extend(equations.saved);
    let saved = nested(&saved);
    let (edges_of_inputs, needs_of) = edges_and_needs(forward, p);
    let call = call(model, p);
    let plain = finish(forward, |output| {
        let name = &output.name;
        quote!(#name)
    });
    let recorded = recorded(forward, p);
    let metas = metas(forward, p);
    let backward = super::backward::name(forward);
    let span = super::backward::value_span(model);
    let rule = quote_spanned! {span=>
        const {
            &#p::Rule { signature: &<Self as #p::Function>::SIGNATURE, backward: Self::#backward }
        }
    };
    let (outputs, starts) = (local("outputs"), local("starts"));
    let (lists, metas) = if has_lists(forward) {
        let lists = quote! {
            let #outputs = #metas;
            let #starts = #outputs.starts();
        };
        (Some(lists), quote!(#outputs))
    } else {
        (None, metas)
    };
    let record = if model.is_located() {
        let applied_at = local("applied_at");
        quote_spanned!(span=> #p::record_at(#applied_at, #rule, #edges, #saved, #metas))
    } else {
        quote_spanned!(span=> #p::record(#rule, #edges, #saved, #metas))
    };
    let forward_mode = forward_mode::turn(model, p);
    let Checks {
        before: shapes,
        after: shapes_of_returned,
    } = shapes::checks(model, p);
    let Equations {
        before: early_equations,
        after: late_equations,
        unrecorded,
        recorded: pass_equations,
        ..
    } = equations;
    quote! {
        #forward_mode
        #shapes
        let #edges = #edges_of_inputs;
        let #needs = #needs_of;
        #(#before)*
        #early_equations
        #call
        #shapes_of_returned
        #late_equations
        if !#p::any(&#needs) {
            #unrecorded
            return #plain;
        }
        #lists
        let #node = #record;
        #pass_equations
        #recorded
    }
}

/// Gathers references to the tensors of each list.
fn gathered(forward: &Forward, p: &TokenStream) -> Vec<TokenStream> {
    let inputs = forward.inputs.iter();
    let lists = inputs.filter_map(|input| {
        let tensor = input.tensor.as_ref()?;
        let (name, parameters) = (&input.name, element_and_dimension(&tensor.ty, p));
        (tensor.kind == Kind::List)
            .then(|| quote!(let #name = #p::references::<#parameters, _>(#name);))
    });
    lists.listed()
}

/// Returns whether the number of tensors that it returns is known only when it runs.
fn has_lists(forward: &Forward) -> bool {
    let outputs = forward.differentiable_outputs();
    outputs
        .iter()
        .any(|(output, _)| output.kind != Kind::Single)
}

/// Returns what the node remembers of the differentiable outputs.
fn metas(forward: &Forward, p: &TokenStream) -> TokenStream {
    let has_lists = has_lists(forward);
    let outputs = forward.differentiable_outputs().into_iter();
    let metas = outputs.map(|(returned, _)| {
        let output = interface::output(returned, forward);
        match returned.kind {
            Kind::Single if has_lists => quote!(::std::vec![#p::meta(#output)]),
            Kind::Single => quote!(#p::meta(#output)),
            Kind::Optional | Kind::List => quote!(#p::metas(#output)),
        }
    });
    let metas = quote!([#(#metas),*]);
    if has_lists {
        quote!(#p::Lists::new(#metas))
    } else {
        metas
    }
}

/// Returns the outputs with the node behind them. The last takes the node itself: each other handle on it is
/// counted, which costs more than the rest of this.
fn recorded(forward: &Forward, p: &TokenStream) -> TokenStream {
    let (node, starts) = (local("node"), local("starts"));
    let has_lists = has_lists(forward);
    let place = |index: usize| {
        let index = number(index);
        if has_lists {
            quote!(#starts[#index])
        } else {
            quote!(#index)
        }
    };
    let written = forward.in_place().map(|(output, _)| output);
    let gradients = written.chain(forward.outputs());
    let last = gradients
        .filter(|output| output.kind != Kind::List)
        .filter_map(Returned::gradient)
        .last()
        .filter(|_| !has_lists);
    let handle = |index: usize| {
        if Some(index) == last {
            quote!(#node)
        } else {
            quote!(::core::clone::Clone::clone(&#node))
        }
    };
    let attached = forward.in_place().filter_map(|(output, input)| {
        let index = output.gradient()?;
        let (name, node, index) = (&input.name, handle(index), place(index));
        Some(quote!(#p::attach_in_place(#name, #node, #index);))
    });
    let returned = finish(forward, |output| {
        let name = &output.name;
        let Some(index) = output.gradient() else {
            return quote!(#name);
        };
        let (handle, index) = (handle(index), place(index));
        match output.kind {
            Kind::Single => quote!(#p::attach(#name, #handle, #index)),
            Kind::Optional => quote! {
                ::core::option::Option::map(#name, |output| #p::attach(output, #handle, #index))
            },
            Kind::List => quote!(#p::attach_list(#name, &#node, #index)),
        }
    });
    quote!(#(#attached)* #returned)
}

/// Returns the edges of the differentiable inputs, and which of these need a gradient. Where none is a list,
/// each input has one edge.
fn edges_and_needs(forward: &Forward, p: &TokenStream) -> (TokenStream, TokenStream) {
    let (inputs, edges) = (forward.differentiable(), local("edges"));
    let arguments: Vec<TokenStream> = inputs
        .iter()
        .map(|(input, tensor)| reference(input, tensor))
        .listed();
    if inputs.iter().any(|(_, tensor)| tensor.kind == Kind::List) {
        let lists = quote!(#p::Lists::new([#(#p::Argument::edges(#arguments)),*]));
        return (lists, quote!(#edges.needs()));
    }
    let single = quote!([#(#p::Single::edge(#arguments)),*]);
    (single, quote!(#p::needs(&#edges)))
}

/// Runs forward, takes apart what it returns and makes tensors of the float outputs.
fn call(model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let forward = &model.forward;
    let returned = forward.returned.iter().enumerate();
    let returned: Vec<(&Ident, bool)> = returned
        .filter(|(_, returned)| !matches!(returned.role, Role::InPlace { .. }))
        .map(|(index, returned)| {
            let source = Source::Returned(index);
            (
                &returned.name,
                model.is_asked_for(source) || returned.role != Role::Intermediate,
            )
        })
        .listed();
    let pattern = returned.iter().map(
        |&(name, is_used)| {
            if is_used { quote!(#name) } else { quote!(_) }
        },
    );
    let pattern = if forward.tuple {
        quote!((#(#pattern,)*))
    } else {
        quote!(#(#pattern)*)
    };
    let used = returned.iter().filter(|(_, is_used)| *is_used);
    let used = tuple(used.map(|(name, _)| name.to_token_stream()));
    let conversions = conversions(forward, p);
    let (function, arguments) = (&forward.ident, arguments(model, p));
    let ran = quote!(Self::#function(#(#arguments),*));
    let (run, question) = if forward.fallible.is_some() {
        let error = local("error");
        let run = quote! {
            match #ran {
                ::core::result::Result::Ok(#pattern) => {
                    #(#conversions)*
                    ::core::result::Result::Ok(#used)
                }
                ::core::result::Result::Err(#error) => ::core::result::Result::Err(#error),
            }
        };
        (run, Some(quote!(?)))
    } else {
        // A `()` at the end would be linted in the author's crate.
        let result = returned
            .iter()
            .any(|(_, is_used)| *is_used)
            .then_some(&used);
        let run = quote!({ let #pattern = #ran; #(#conversions)* #result });
        (run, None)
    };
    let unrecorded = local("unrecorded");
    let (guard, finished) = in_place(forward, p);
    let (consumed, run) = caught(model, run, p);
    quote! {
        #guard
        #consumed
        let #unrecorded = #p::unrecorded();
        let #used = #run #question;
        ::core::mem::drop(#unrecorded);
        #finished
    }
}

/// Makes tensors of the float outputs.
fn conversions(forward: &Forward, p: &TokenStream) -> Vec<TokenStream> {
    let outputs = forward.outputs().chain(forward.unknowns());
    let conversions = outputs.filter_map(|output| {
        output.tensor.as_ref()?;
        let (name, span, ty) = (
            &output.name,
            at(&output.ty),
            interface::output_type(output, p),
        );
        let converted = match output.kind {
            Kind::Single => quote_spanned!(span=> #p::IntoOutput::into_output(#name)),
            Kind::Optional => quote_spanned! {span=>
                ::core::option::Option::map(#name, #p::IntoOutput::into_output)
            },
            Kind::List => quote_spanned!(span=> #p::into_outputs(#name)),
        };
        Some(quote_spanned!(span=> let #name: #ty = #converted;))
    });
    conversions.listed()
}

/// Catches a panic of `run`, which runs forward, to pass it on with the shapes of the inputs. Returns also the statements
/// that note the shapes of inputs that forward consumes.
///
/// Arrays become tensors inside of the closure: what it returns goes through memory, which costs 8 ns for an array.
/// Built-in functions have no closure: a panic of a `#[track_caller]` forward then names the caller's line.
fn caught(model: &FunctionModel, run: TokenStream, p: &TokenStream) -> (TokenStream, TokenStream) {
    let forward = &model.forward;
    if std::env::var("CARGO_CRATE_NAME").is_ok_and(|name| name == "autograd_core") {
        return (TokenStream::new(), run);
    }
    let tensors = forward
        .inputs
        .iter()
        .filter_map(|input| Some((input, input.tensor.as_ref()?)));
    let (mut consumed, mut shapes) = (TokenStream::new(), Vec::new());
    let of_dims = shapes::of_all(forward, p);
    for (input, tensor) in tensors.filter(|_| of_dims.is_none()) {
        let name = &input.name;
        shapes.push(if is_consumed(&tensor.ty) {
            let shape = local(format_args!("shape_{}", name.unraw()));
            let taken = if tensor.kind == Kind::Optional {
                quote!(::core::option::Option::map(::core::option::Option::as_ref(&#name), #p::meta))
            } else {
                quote!(::core::option::Option::Some(#p::meta(&#name)))
            };
            consumed.extend(quote!(let #shape = #taken;));
            quote!(#p::shapes_of(#shape))
        } else if input.is_in_place() {
            let guard = in_place_variable(input);
            quote!(#guard.shapes())
        } else {
            let reference = reference(input, tensor);
            quote!(#p::Argument::shapes(#reference))
        });
    }
    let (returned, panic) = (local("returned"), local("panic"));
    let shapes = of_dims.unwrap_or_else(|| quote!(&[#(#shapes),*]));
    let (panicked, applied_at) = if model.is_located() {
        let applied_at = local("applied_at");
        (local("forward_panicked_at"), Some(quote!(#applied_at,)))
    } else {
        (local("forward_panicked"), None)
    };
    let run = quote! {
        match #p::caught(|| #run) {
            ::core::result::Result::Ok(#returned) => #returned,
            ::core::result::Result::Err(#panic) => #p::#panicked(
                #applied_at
                #panic,
                &<Self as #p::Function>::SIGNATURE,
                #shapes,
            ),
        }
    };
    (consumed, run)
}

/// Borrows the inputs that forward writes to, before it runs, and stores in them what it wrote, after.
fn in_place(forward: &Forward, p: &TokenStream) -> (TokenStream, TokenStream) {
    let may_fail = forward.fallible.is_some();
    let lend = forward.in_place().map(|(output, input)| {
        let (name, guard, text) = (
            &input.name,
            in_place_variable(input),
            input.name.unraw().to_string(),
        );
        let constructor = local(if output.has_gradient() {
            "new"
        } else {
            "exempt"
        });
        let function = quote!(<Self as #p::Function>::NAME);
        quote!(let mut #guard = #p::InPlace::#constructor(#name, #function, #text, #may_fail);)
    });
    let finish = forward.in_place().map(|(_, input)| {
        let guard = in_place_variable(input);
        quote!(#guard.finish();)
    });
    (quote!(#(#lend)*), quote!(#(#finish)*))
}

fn in_place_variable(input: &Input) -> Ident {
    local(format_args!("in_place_{}", input.name.unraw()))
}

/// Returns the arguments of forward.
fn arguments(model: &FunctionModel, p: &TokenStream) -> Vec<TokenStream> {
    let forward = &model.forward;
    let mut arguments = forward
        .inputs
        .iter()
        .map(|input| argument(input, p))
        .listed();
    if let Some(asked) = &forward.needs_input_grad {
        let needs = local("needs");
        let needs = context::needs(model, |edge| quote!(#needs[#edge]));
        let by_reference = matches!(peel(&asked.ty), Type::Reference(_));
        let reference = by_reference.then(|| quote!(&));
        arguments.insert(asked.place, quote!(#reference #needs));
    }
    arguments
}

fn argument(input: &Input, p: &TokenStream) -> TokenStream {
    let (name, span) = (&input.name, at(&input.ty));
    let Some(tensor) = &input.tensor else {
        return quote!(#name);
    };
    let reference = reference(input, tensor);
    match tensor.ty.form {
        Form::ViewMut => {
            let guard = in_place_variable(input);
            quote_spanned!(span=> #guard.view())
        }
        Form::Owned => {
            let array = match tensor.kind {
                Kind::Optional => {
                    quote_spanned!(span=> ::core::option::Option::map(#name, #p::Tensor::into_array))
                }
                Kind::Single | Kind::List => quote_spanned!(span=> #p::Tensor::into_array(#name)),
            };
            owned(array, &input.ty, p)
        }
        form => in_form(&reference, form, tensor.kind, span, p),
    }
}
