//! Generates what a residual needs: the function of tensors without types that calls it, the equations of one call of
//! `apply`, and the calls of the runtime, which has the derivatives.
//!
//! `apply` makes the equations, with copies of the values that the residual asks for, and saves them. The rule for forward
//! mode gets them from the `apply` that it calls, through a link, with the unknowns that `apply` does not return.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::Ident;
use syn::ext::IdentExt as _;

use super::backward::{self, nested};
use super::tokens::{at, element_and_dimension, in_form, local, number, option, reference, tuple};
use super::{context, save};
use crate::lists::Lists as _;
use crate::model::{
    Forward, FunctionModel, Input, Parameter, Residual, Returned, Source, TensorInput, Wants,
};
use crate::types::{Form, Kind};

/// Returns the name of the function that calls the residual, which is beside those of the block.
fn name(forward: &Forward) -> Ident {
    local(format_args!(
        "__pullback_residual_of_{}",
        forward.ident.unraw()
    ))
}

/// Something that the residual asks for and that is not differentiated: its type, and its copy.
struct Constant {
    variable: Ident,
    ty: TokenStream,
    /// The expression that copies it.
    copy: TokenStream,
    /// Whether it is copied before forward runs.
    is_early: bool,
}

/// Returns the source that a parameter asks for.
fn source(parameter: &Parameter) -> Option<Source> {
    match parameter.wants {
        Wants::Saved(source) => Some(source),
        // The rules refuse these.
        _ => None,
    }
}

/// The place of something among the unknowns, the differentiable inputs, or all else.
enum Place {
    Unknown(usize),
    Input(usize),
    Constant(usize),
}

/// Returns what the residual asks for, in the order of its parameters.
fn places(residual: &Residual, forward: &Forward) -> Vec<(Source, Place)> {
    let mut constants = 0;
    let sources = residual.function.parameters.iter().filter_map(source);
    let place = |source| {
        let known = match source {
            Source::Input(index) => {
                let tensor = forward.inputs[index].tensor.as_ref();
                tensor.and_then(|tensor| tensor.edge).map(Place::Input)
            }
            Source::Returned(index) => forward.returned[index].gradient().map(Place::Unknown),
            Source::Axis(_) | Source::Shape(_) => None,
        };
        let place = known.unwrap_or_else(|| {
            constants += 1;
            Place::Constant(constants - 1)
        });
        (source, place)
    };
    sources.map(place).listed()
}

fn constants(residual: &Residual, forward: &Forward, p: &TokenStream) -> Vec<Constant> {
    let places = places(residual, forward).into_iter();
    let constant = |(source, place)| {
        let Place::Constant(index) = place else {
            return None;
        };
        Some(constant(index, source, forward, p))
    };
    places.filter_map(constant).listed()
}

fn constant(index: usize, source: Source, forward: &Forward, p: &TokenStream) -> Constant {
    let needed = local("makes_equations").into_token_stream();
    let tensors = |erased: TokenStream| {
        let copy = quote!(if #needed { #p::constants(#erased) } else { ::std::vec::Vec::new() });
        (quote!(::std::vec::Vec<#p::AnyTensor>), copy)
    };
    let (ty, copy) = match source {
        Source::Input(index) => {
            let input = &forward.inputs[index];
            match &input.tensor {
                Some(tensor) => {
                    let reference = reference(input, tensor);
                    tensors(quote!(#p::Argument::erased(#reference)))
                }
                None => (
                    option(&save::saved_type(&input.ty, forward, p)),
                    save::save_input(input, forward, &needed, p),
                ),
            }
        }
        Source::Returned(index) => {
            let returned = &forward.returned[index];
            match &returned.tensor {
                Some(_) => tensors(erased_output(returned, p)),
                None => (
                    option(&save::saved_type(&returned.ty, forward, p)),
                    save::save_returned(returned, forward, &needed, p),
                ),
            }
        }
        // The rules refuse shapes: a residual has the tensors.
        Source::Axis(_) | Source::Shape(_) => {
            let name = forward.source(source).name;
            (
                option(&quote!(#p::SavedNumber<::core::primitive::usize>)),
                quote!(#p::save_if(#needed, || #p::SavedNumber::new(&#name))),
            )
        }
    };
    Constant {
        variable: constant_name(index),
        ty,
        copy,
        is_early: matches!(source, Source::Input(_)),
    }
}

fn constant_name(index: usize) -> Ident {
    local(format_args!("constant_{index}"))
}

/// Returns the tensors of an output, which is a tensor already, without their types.
fn erased_output(output: &Returned, p: &TokenStream) -> TokenStream {
    let name = &output.name;
    match output.kind {
        Kind::Single => quote!(#p::Argument::erased(&#name)),
        Kind::Optional => quote!(#p::Argument::erased(::core::option::Option::as_ref(&#name))),
        Kind::List => quote!(#p::Argument::erased(&#p::references(&#name)[..])),
    }
}

/// Generates the function that calls the residual.
pub(super) fn function(model: &FunctionModel, p: &TokenStream) -> Option<TokenStream> {
    let (forward, residual) = (&model.forward, model.residual.as_ref()?);
    let (unknowns, inputs) = (local("unknowns"), local("inputs"));
    let (name, values) = (name(forward), constants(residual, forward, p));
    let names = values
        .iter()
        .map(|one| one.variable.to_token_stream())
        .listed();
    let (names, types) = (nested(&names), values_type(&values));
    let places = places(residual, forward);
    let mut statements = Vec::new();
    let mut arguments = Vec::new();
    for (parameter, (source, place)) in residual.function.parameters.iter().zip(&places) {
        let named = forward.source(*source);
        let variable = local(format_args!("asked_{}", arguments.len()));
        let tensors = match place {
            Place::Unknown(unknown) => {
                let unknown = number(*unknown);
                quote!(&#unknowns[#unknown..])
            }
            Place::Input(edge) => {
                let edge = number(*edge);
                quote!(&#inputs[#edge])
            }
            Place::Constant(index) => constant_name(*index).into_token_stream(),
        };
        let Some(tensor) = named.tensor else {
            arguments.push(backward::value(&quote!(#p::saved(#tensors)), &parameter.ty));
            continue;
        };
        let parameters = element_and_dimension(tensor, p);
        let (read, taken) = match named.kind {
            Kind::Single => ("single_of", quote!(&#variable)),
            Kind::Optional => (
                "optional_of",
                quote!(::core::option::Option::as_ref(&#variable)),
            ),
            Kind::List => ("list_of", quote!(&#p::references(&#variable))),
        };
        let read = local(read);
        statements.push(quote!(let #variable = #p::#read::<#parameters>(#tensors);));
        let kind = match (named.kind, parameter.optional) {
            (Kind::List, _) => Kind::List,
            (_, true) => Kind::Optional,
            (_, false) => Kind::Single,
        };
        let form = parameter.form.unwrap_or(Form::TensorRef);
        arguments.push(in_form(&taken, form, kind, at(&parameter.ty), p));
    }
    let function = &residual.function;
    let ident = &function.ident;
    let mut result = quote!(Self::#ident(#(#arguments),*));
    if let Some(fallible) = &function.fallible {
        // The place of its type: a type that is not an error is reported there.
        let returned = Ident::new("returned", at(fallible));
        result = quote! {
            match #result {
                #returned => ::core::result::Result::map_err(#returned, #p::IntoSource::into_source)?
            }
        };
    }
    let span = at(&function.returns);
    let outputs = forward.differentiable_outputs().into_iter();
    let found: Vec<(Ident, TokenStream)> = outputs
        .enumerate()
        .map(|(index, (_, ty))| {
            let variable = Ident::new(&format!("residual_{index}"), span);
            let parameters = element_and_dimension(ty, p);
            let erased = quote_spanned! {span=>
                <#p::AnyTensor as ::core::convert::From<#p::Tensor<#parameters>>>::from(#variable)
            };
            (variable, erased)
        })
        .listed();
    let pattern = tuple(found.iter().map(|(name, _)| name.to_token_stream()));
    let erased = found.iter().map(|(_, erased)| erased);
    Some(quote! {
        #[doc(hidden)]
        #[allow(clippy::type_complexity)]
        fn #name(
            #names: &#types,
            #unknowns: &[#p::AnyTensor],
            #inputs: &[::std::vec::Vec<#p::AnyTensor>],
        ) -> ::core::result::Result<::std::vec::Vec<#p::AnyTensor>, #p::Failure> {
            #(#statements)*
            let #pattern = #result;
            ::core::result::Result::Ok(::std::vec![#(#erased),*])
        }
    })
}

fn values_type(values: &[Constant]) -> TokenStream {
    let types = values.iter().map(|one| one.ty.clone()).listed();
    nested(&types)
}

/// The parts of `apply` that make the equations.
#[derive(Default)]
pub(super) struct Equations {
    /// Before forward runs: copies of what it may consume.
    pub(super) before: TokenStream,
    /// After it has run: the equations, if they are needed.
    pub(super) after: TokenStream,
    /// Passes the equations to forward mode, if nothing is recorded.
    pub(super) unrecorded: TokenStream,
    /// The same, once there is a node.
    pub(super) recorded: TokenStream,
    /// What the node saves.
    pub(super) saved: Option<TokenStream>,
}

/// Generates the parts of `apply`.
pub(super) fn equations(model: &FunctionModel, p: &TokenStream) -> Equations {
    let Some(residual) = &model.residual else {
        return Equations::default();
    };
    let forward = &model.forward;
    let (needs, link, node) = (local("needs"), local("link"), local("node"));
    let (makes, system, counts) = (local("makes_equations"), local("system"), local("counts"));
    let values = constants(residual, forward, p);
    let copies = |early: bool| {
        let copies = values.iter().filter(move |one| one.is_early == early);
        copies.map(|Constant { variable, copy, .. }| quote!(let #variable = #copy;))
    };
    let (early, late) = (copies(true), copies(false));
    let count = forward.differentiable().into_iter();
    let count = count.map(|(input, TensorInput { kind, .. })| {
        let name = &input.name;
        match kind {
            Kind::Single => quote!(1),
            Kind::Optional => {
                quote!(::core::primitive::usize::from(::core::option::Option::is_some(&#name)))
            }
            Kind::List => quote!(#name.len()),
        }
    });
    let names = forward.differentiable_outputs().into_iter();
    let names = names.map(|(output, _)| output.name.unraw().to_string());
    let default = || quote!(#p::System::DENSE);
    let dense = residual.dense.as_ref();
    let dense = dense.map_or_else(default, ToTokens::to_token_stream);
    let (applied_at, function) = (local("applied_at"), name(forward));
    let variables = values
        .iter()
        .map(|one| one.variable.to_token_stream())
        .listed();
    let variables = nested(&variables);
    let hidden = |is_recorded: bool| {
        let hidden = forward.unknowns().map(|unknown| {
            let name = &unknown.name;
            let index = number(unknown.gradient().unwrap_or_default());
            let tensor = if is_recorded {
                quote!(#p::attach(#name, ::core::clone::Clone::clone(&#node), #index))
            } else {
                quote!(#name)
            };
            quote!(<#p::AnyTensor as ::core::convert::From<_>>::from(#tensor))
        });
        quote! {
            #link.pass(::core::option::Option::as_ref(&#system), || ::std::vec![#(#hidden),*]);
        }
    };
    Equations {
        before: quote! {
            let #makes = #link.is_wanted() || #p::any(&#needs);
            let #counts = [#(#count),*];
            #(#early)*
        },
        after: quote! {
            #(#late)*
            let #system = #p::save_if(#makes, || #p::System::new(
                (<Self as #p::Function>::NAME, #applied_at),
                &[#(#names),*],
                &#counts,
                #dense,
                #variables,
                Self::#function,
            ));
        },
        unrecorded: hidden(false),
        recorded: hidden(true),
        saved: Some(quote! {
            ::core::option::Option::map(::core::clone::Clone::clone(&#system), #p::SavedValue::new)
        }),
    }
}

/// Returns the argument of `apply`'s inner function that wants nothing.
pub(super) fn no_link(model: &FunctionModel, p: &TokenStream) -> Option<TokenStream> {
    model.residual.as_ref().map(|_| quote!(&#p::Link::none(),))
}

/// Returns the parameter of `apply`'s inner function and of the function of forward mode.
pub(super) fn link_parameter(model: &FunctionModel, p: &TokenStream) -> Option<TokenStream> {
    let link = local("link");
    model.residual.as_ref().map(|_| quote!(#link: &#p::Link,))
}

/// Returns the link as an argument.
pub(super) fn link(model: &FunctionModel) -> Option<TokenStream> {
    let link = local("link");
    model.residual.as_ref().map(|_| quote!(#link,))
}

/// Generates the function that the engine calls.
pub(super) fn backward(model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let forward = &model.forward;
    let (name, call, system) = (backward::name(forward), local("call"), local("system"));
    let saved = model.saved.iter().enumerate();
    let mut names: Vec<TokenStream> = Vec::new();
    let mut types: Vec<TokenStream> = Vec::new();
    let mut restored = Vec::new();
    let mut groups = [Vec::new(), Vec::new()];
    for (index, saved) in saved {
        let variable = local(format_args!("saved_{index}"));
        names.push(variable.to_token_stream());
        types.push(backward::saved_type(saved, model, p));
        let (ty, origin) = (
            context::field_type(saved, forward, p),
            backward::origin(saved.source, model, p),
        );
        restored.push(quote!(let #variable: #ty = #call.restore(#variable, #origin)?;));
        let erased = match forward.source(saved.source).kind {
            Kind::Single => quote!(#p::Argument::erased(#p::saved(&#variable))),
            Kind::Optional => {
                quote!(#p::Argument::erased(::core::option::Option::as_ref(&#variable)))
            }
            Kind::List => {
                quote!(#p::Argument::erased(&#p::references(&#p::saved(&#variable)[..])[..]))
            }
        };
        let group = usize::from(matches!(saved.source, Source::Input(_)));
        groups[group].push(erased);
    }
    names.push(system.to_token_stream());
    types.push(option(&quote!(#p::SavedValue<#p::System>)));
    let ([unknowns, inputs], names, types) = (groups, nested(&names), nested(&types));
    let all = local("unknowns");
    quote! {
        #[doc(hidden)]
        fn #name(
            #names: #types,
            #call: &mut #p::Call<'_>,
        ) -> ::core::result::Result<(), #p::Error> {
            #(#restored)*
            let #all = [#(#unknowns),*].concat();
            #p::saved(&#system).backward(#call, &#all, &[#(#inputs),*])
        }
    }
}

/// Returns the statement of forward mode that makes the link to the `apply` that it calls.
pub(super) fn inner_link(model: &FunctionModel, p: &TokenStream) -> Option<TokenStream> {
    let inner = local("inner_link");
    let link = quote!(let #inner = #p::Link::wanted(););
    model.residual.as_ref().map(|_| link)
}

/// Returns that link as an argument.
pub(super) fn inner(model: &FunctionModel) -> Option<TokenStream> {
    let inner = local("inner_link");
    model.residual.as_ref().map(|_| quote!(&#inner,))
}

/// Generates the end of the function of forward mode: computes the tangents of the outputs in the variables
/// `of_output`, from those of the inputs in the variables `tangent`, or runs `fails`.
pub(super) fn forward_mode(
    model: &FunctionModel,
    tangent: impl Fn(&Input) -> Ident,
    of_output: impl Fn(&Returned) -> Ident,
    fails: &TokenStream,
    p: &TokenStream,
) -> TokenStream {
    let forward = &model.forward;
    let (call, system, hidden) = (local("call"), local("system"), local("hidden"));
    let (link, inner, found) = (local("link"), local("inner_link"), local("found"));
    let all = local("unknowns");
    let outputs = forward.outputs().filter(|output| output.has_gradient());
    let unknowns = outputs.map(|output| erased_output(output, p));
    let inputs = forward.differentiable().into_iter();
    let (inputs, directions): (Vec<_>, Vec<_>) = inputs
        .map(|(input, tensor)| {
            let (name, tangent) = (&input.name, tangent(input));
            match tensor.kind {
                Kind::Single => (
                    quote!(#p::Argument::erased(&#name)),
                    quote!(#p::erased_tangents([#tangent])),
                ),
                Kind::Optional => (
                    quote!(#p::Argument::erased(::core::option::Option::as_ref(&#name))),
                    quote!(#p::erased_tangents([#tangent])),
                ),
                Kind::List => (
                    quote!(#p::Argument::erased(&#p::references(&#name)[..])),
                    quote!(#p::erased_tangents(#tangent)),
                ),
            }
        })
        .unzip();
    let typed = forward.outputs().filter_map(|output| {
        let (index, ty) = (output.gradient()?, output.tensor.as_ref()?);
        let (parameters, index) = (element_and_dimension(ty, p), number(index));
        let tangent = of_output(output);
        Some(quote!(let #tangent = #p::single_of::<#parameters>(&#found[#index..]);))
    });
    quote! {
        let (#system, #hidden) = #inner.take();
        let #all = [#(#unknowns,)* ::core::clone::Clone::clone(&#hidden)].concat();
        let #found = #system.forward(&mut #call, &#all, &[#(#inputs),*], &[#(#directions),*]);
        #link.pass(::core::option::Option::Some(&#system), || {
            #system.hidden(&#call, #hidden, ::core::option::Option::as_deref(&#found))
        });
        let ::core::option::Option::Some(#found) = #found else {
            #fails
        };
        #(#typed)*
    }
}
