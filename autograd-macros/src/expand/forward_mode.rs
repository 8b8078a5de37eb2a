//! Generates the function that `apply` calls when an input has a tangent: it takes the tangents off, applies
//! the function to the tensors without them, and puts those of the outputs on, as the `#[jvp]` rule
//! returns them.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::ext::IdentExt as _;
use syn::{Ident, Type};

use super::interface::{self, gathered, returns};
use super::tokens::{at, in_form, is_consumed, local, reference, tuple};
use super::{backward, residual, save, shapes};
use crate::lists::Lists as _;
use crate::model::{
    Derivative, Forward, FunctionModel, Input, Parameter, Returned, Role, Source, TensorInput,
    Wants,
};
use crate::types::{Form, Kind, error_of, peel};

/// Returns the name of the function, which is beside those of the block.
fn name(forward: &Forward) -> Ident {
    local(format_args!(
        "__pullback_forward_mode_of_{}",
        forward.ident.unraw()
    ))
}

/// Generates the statement of `apply` that calls it: the largest depth counts, whatever input has it.
pub(super) fn turn(model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let forward = &model.forward;
    let (name, depth) = (name(forward), local("depth"));
    let applied_at = applied_at(model).map(|applied_at| quote!(#applied_at,));
    let link = residual::link(model);
    let depths = forward.inputs.iter().filter_map(|input| {
        let reference = reference(input, input.tensor.as_ref()?);
        Some(quote!(#p::Argument::depth(#reference)))
    });
    let inputs = forward.inputs.iter().map(|input| {
        let (name, tensor) = (&input.name, input.tensor.as_ref());
        let is_list = tensor.is_some_and(|tensor| tensor.kind == Kind::List);
        if is_list {
            quote!(&#name[..])
        } else {
            quote!(#name)
        }
    });
    quote! {
        let #depth = #p::largest([#(#depths),*]);
        if #depth > 0 {
            return Self::#name(#applied_at #link #depth, #(#inputs),*);
        }
    }
}

/// Returns the variable with the line of the call, where that is an argument.
fn applied_at(model: &FunctionModel) -> Option<Ident> {
    model.is_located().then(|| local("applied_at"))
}

/// Generates the whole function.
pub(super) fn function(model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let FunctionModel { forward, jvp, .. } = model;
    let (name, depth, call) = (name(forward), local("depth"), local("call"));
    let (lifetimes, _, where_clause) = forward.generics.split_for_impl();
    let parameters = gathered(forward, p);
    let returns = returns(forward, p);
    let inputs = || forward.inputs.iter().enumerate();
    let splits = inputs().filter_map(|(index, input)| split(index, input, model, p));
    let (link_parameter, inner_link) = (
        residual::link_parameter(model, p),
        residual::inner_link(model, p),
    );
    let saved =
        inputs().filter_map(|(index, input)| copy_value(index, input, forward, jvp.as_ref(), p));
    let arguments: Vec<TokenStream> = forward
        .inputs
        .iter()
        .map(|input| argument(input, model, p))
        .listed();
    let question = forward.fallible.is_some().then(|| quote!(?));
    let outputs = forward.outputs().map(|output| &output.name);
    let outputs = tuple(outputs.map(|name| quote!(#name)));
    let finish = finish(model, p);
    let is_axis = |source| matches!(source, Source::Axis(_));
    let asks_for_axes = jvp.as_ref().is_some_and(|jvp| jvp.sources().any(is_axis));
    let axes = asks_for_axes.then(|| shapes::of_primals(model, primal, p));
    let (parameter, start, apply) = match applied_at(model) {
        Some(at) => (
            Some(quote!(#at: &'static ::core::panic::Location<'static>,)),
            quote!(#p::ForwardCall::at(#at, <Self as #p::Function>::NAME, #depth)),
            {
                let apply = super::apply::located_name(forward);
                let inner = residual::inner(model);
                quote!(Self::#apply(#at, #inner #(#arguments),*))
            },
        ),
        None => (
            None,
            quote!(#p::ForwardCall::new(<Self as #p::Function>::NAME, #depth)),
            quote!(Self::apply(#(#arguments),*)),
        ),
    };
    quote! {
        #[cold]
        #[track_caller]
        #[doc(hidden)]
        fn #name #lifetimes (
            #parameter
            #link_parameter
            #depth: ::core::primitive::u64,
            #(#parameters),*
        ) -> #returns #where_clause {
            let mut #call = #start;
            #inner_link
            #(#splits)*
            #(#saved)*
            #axes
            let #outputs = #apply #question;
            #finish
        }
    }
}

/// Takes the tangent off one input.
fn split(
    index: usize,
    input: &Input,
    model: &FunctionModel,
    p: &TokenStream,
) -> Option<TokenStream> {
    let (tensor, call, jvp) = (input.tensor.as_ref()?, local("call"), model.jvp.as_ref());
    let requests: Vec<_> = jvp.zip(tensor.edge).map_or_else(Vec::new, |(jvp, edge)| {
        jvp.requests(Wants::Tangent(edge)).listed()
    });
    let tangent = tangent(input);
    let moves_unknowns = model.residual.is_some() && tensor.edge.is_some();
    let pattern = if requests.is_empty() && !moves_unknowns {
        quote!(_)
    } else {
        quote!(#tangent)
    };
    let primal = primal(input);
    let reference = reference(input, tensor);
    // A rule that takes no `Option` gets zeros for a missing tangent.
    let or_zeros = local(if tensor.kind == Kind::List {
        "or_zeros_list"
    } else {
        "or_zeros"
    });
    let filled = requests
        .iter()
        .any(|request| !request.optional)
        .then(|| quote!(let #tangent = #call.#or_zeros(#tangent, &#primal);));
    let mutability = input.is_in_place().then(|| quote!(mut));
    // Storage is copied on write, so this keeps the value that was passed.
    let before = before(input);
    let is_asked_for = jvp.is_some_and(|jvp| jvp.asks_for(Wants::Saved(Source::Input(index))));
    let remembered = (input.is_in_place() && is_asked_for)
        .then(|| quote!(let #before = ::core::clone::Clone::clone(&#primal);));
    Some(quote! {
        let (#mutability #primal, #pattern) = #p::Argument::split(#reference, &mut #call);
        #filled
        #remembered
    })
}

/// Returns the variable for an input without its tangent. One that is written to is still
/// needed under its own name.
fn primal(input: &Input) -> Ident {
    if input.is_in_place() {
        local(format_args!("primal_{}", input.name.unraw()))
    } else {
        input.name.clone()
    }
}

/// Returns the variable for an input that is written to, as it was before.
fn before(input: &Input) -> Ident {
    local(format_args!("before_{}", input.name.unraw()))
}

fn tangent(input: &Input) -> Ident {
    local(input.tangent_name())
}

/// Copies a value that the rule asks for, as `apply` may consume it.
fn copy_value(
    index: usize,
    input: &Input,
    forward: &Forward,
    jvp: Option<&Derivative>,
    p: &TokenStream,
) -> Option<TokenStream> {
    let is_asked_for = jvp.is_some_and(|jvp| jvp.asks_for(Wants::Saved(Source::Input(index))));
    if input.tensor.is_some() || !is_asked_for {
        return None;
    }
    let (saved, save) = (
        saved_variable(&input.name),
        save::save_input(input, forward, &quote!(true), p),
    );
    Some(quote!(let #saved = #save;))
}

fn saved_variable(name: &Ident) -> Ident {
    local(format_args!("saved_{}", name.unraw()))
}

/// Returns an argument of `apply`: tensors without the tangents that were taken off.
fn argument(input: &Input, model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let name = &input.name;
    let Some(TensorInput { ty, kind, .. }) = &input.tensor else {
        return quote!(#name);
    };
    match (is_consumed(ty), kind) {
        _ if input.is_in_place() => {
            let primal = primal(input);
            quote!(&mut #primal)
        }
        (_, Kind::List) if model.is_located() => quote!(&#p::references(&#name)),
        (_, Kind::List) => quote!(&#name[..]),
        (false, Kind::Single) => quote!(&#name),
        (false, Kind::Optional) => quote!(::core::option::Option::as_ref(&#name)),
        (true, _) => quote!(::core::clone::Clone::clone(&#name)),
    }
}

/// Calls the `#[jvp]` rule, and returns the outputs and their tangents, or why there are none.
fn finish(model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let (forward, call) = (&model.forward, local("call"));
    let without = outputs(forward, &|variable, output| match output.kind {
        Kind::Single => quote!(#call.without_tangent(#variable)),
        Kind::Optional => quote! {
            ::core::option::Option::map(#variable, |output| #call.without_tangent(output))
        },
        Kind::List => quote!(#call.without_tangents(#variable)),
    });
    let rule = match (&model.jvp, &model.residual) {
        (Some(rule), _) => rule,
        (None, Some(residual)) => &residual.function,
        (None, None) => return quote!(#without),
    };
    // The place of its type: a returned value that is not a tangent is reported there.
    let tangent = |output: &Returned| {
        let name = format!("tangent_{}", output.name.unraw());
        Ident::new(&name, at(&rule.returns))
    };
    let with = outputs(forward, &|variable, output| {
        let (text, tangent) = (output.name.unraw().to_string(), tangent(output));
        match output.kind {
            Kind::Single => quote!(#call.with_tangent(#variable, #text, #tangent)),
            Kind::Optional => quote! {
                ::core::option::Option::map(
                    #variable,
                    |output| #call.with_tangent(output, #text, #tangent),
                )
            },
            Kind::List => quote!(#call.with_tangents(#variable, #text, #tangent)),
        }
    });
    let Outputs { written, returned } = without;
    let fails = quote!(#written return #returned;);
    let Some(jvp) = &model.jvp else {
        let known = residual::forward_mode(model, self::tangent, tangent, &fails, p);
        return quote!(#known #with);
    };
    let values = forward.returned.iter().enumerate();
    let values = values.filter(|(index, output)| {
        output.tensor.is_none() && jvp.asks_for(Wants::Saved(Source::Returned(*index)))
    });
    let values = values.map(|(_, output)| {
        let saved = saved_variable(&output.name);
        let save = save::save_returned(output, forward, &quote!(true), p);
        quote!(let #saved = #save;)
    });
    let differentiable = forward.differentiable_outputs().into_iter();
    let tangents = tuple(differentiable.map(|(output, _)| {
        let tangent = tangent(output);
        quote!(#tangent)
    }));
    let rule = &jvp.ident;
    let arguments = jvp
        .parameters
        .iter()
        .map(|asked| asked_for(asked, model, p));
    let result = quote!(Self::#rule(#(#arguments),*));
    let known = match &jvp.fallible {
        None => quote!(let #tangents = #result;),
        Some(fallible) => {
            // The place of its type: a type that is not an error is reported there.
            let of_rule = Ident::new("returned", at(error_of(fallible).unwrap_or(fallible)));
            quote! {
                let ::core::option::Option::Some(#tangents) =
                    (match #result { #of_rule => #call.succeeded(#of_rule) })
                else {
                    #fails
                };
            }
        }
    };
    quote! {
        if #call.failed() {
            #fails
        }
        #(#values)*
        #known
        #with
    }
}

/// The end of the function: statements for the inputs that are written to, and the returned expression.
struct Outputs {
    written: TokenStream,
    returned: TokenStream,
}

/// Returns the outputs; `tangent` gets the variable of each differentiable one.
fn outputs(forward: &Forward, tangent: &dyn Fn(&Ident, &Returned) -> TokenStream) -> Outputs {
    let output = |variable: &Ident, output: &Returned| {
        if output.has_gradient() {
            tangent(variable, output)
        } else {
            quote!(#variable)
        }
    };
    let written = forward.in_place().map(|(returned, input)| {
        let (name, value) = (&input.name, output(&primal(input), returned));
        quote!(*#name = #value;)
    });
    Outputs {
        written: written.tokens(),
        returned: interface::finish(forward, |returned| output(&returned.name, returned)),
    }
}

impl ToTokens for Outputs {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.written.to_tokens(tokens);
        self.returned.to_tokens(tokens);
    }
}

/// Returns an argument of the `#[jvp]` rule.
fn asked_for(parameter: &Parameter, model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let (forward, ty) = (&model.forward, &parameter.ty);
    let borrowed = |variable: &Ident, kind: Kind, form| {
        let is_list = kind == Kind::List;
        let (tensors, kind) = match (is_list, parameter.optional) {
            (true, false) if form == Form::TensorRef => {
                (quote!(&#p::references(&#variable)), Kind::List)
            }
            (true, true) if form == Form::TensorRef => {
                (quote!(&#p::optional_references(&#variable)), Kind::List)
            }
            (true, _) => (quote!(&#variable), Kind::List),
            (false, true) => (
                quote!(::core::option::Option::as_ref(&#variable)),
                Kind::Optional,
            ),
            (false, false) => (quote!(&#variable), Kind::Single),
        };
        in_form(&tensors, form, kind, at(ty), p)
    };
    match (parameter.wants, parameter.form) {
        (Wants::Tangent(edge), Some(form)) => {
            let (input, tensor) = forward.differentiable()[edge];
            borrowed(&tangent(input), tensor.kind, form)
        }
        (Wants::Saved(source), Some(form)) => {
            let kind = forward.source(source).kind;
            borrowed(&variable(source, forward), kind, form)
        }
        // A length is passed as it is.
        (Wants::Saved(Source::Axis(axis)), None) => {
            let (name, reference) = (
                &forward.shapes.axes[axis].name,
                matches!(peel(ty), Type::Reference(_)).then(|| quote!(&)),
            );
            quote!(#reference #name)
        }
        (Wants::Saved(source), None) => {
            let saved = saved_variable(forward.source(source).name);
            backward::value(&quote!(#p::saved(&#saved)), ty)
        }
        // The rules refuse these.
        (Wants::Gradient(_) | Wants::NeedsInputGrad | Wants::Context, _)
        | (Wants::Tangent(_), None) => TokenStream::new(),
    }
}

/// Returns the variable for an input as it was passed, or for an output.
fn variable(source: Source, forward: &Forward) -> Ident {
    match source {
        Source::Input(index) if forward.inputs[index].is_in_place() => {
            before(&forward.inputs[index])
        }
        Source::Input(index) => forward.inputs[index].name.clone(),
        Source::Returned(index) => match forward.returned[index].role {
            Role::InPlace { input, .. } => primal(&forward.inputs[input]),
            Role::Output { .. } | Role::Intermediate | Role::Unknown { .. } => {
                forward.returned[index].name.clone()
            }
        },
        Source::Axis(_) | Source::Shape(_) => forward.source(source).name.clone(),
    }
}
