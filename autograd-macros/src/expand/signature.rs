//! Generates the description of the function that a running program can inspect.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Ident;
use syn::ext::IdentExt as _;

use super::tokens::{local, number};
use crate::docs;
use crate::model::{Definition, Elementwise, Forward, FunctionModel, Input, Order, Row, Saved};
use crate::types::Kind;

/// Generates the signature of a function, as a constant of the block, which has no parameters: the list of all
/// functions has a function once, whatever it is generic in.
pub(super) fn function(model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let saved = model
        .saved
        .iter()
        .map(|saved| saved_signature(saved, &model.forward, p));
    // The equations are saved too, with the values that the residual asks for.
    let equations = model.residual.as_ref().map(|residual| {
        let name = residual.function.ident.unraw().to_string();
        let inputs = model.forward.differentiable().into_iter();
        let inputs = inputs.map(|(input, _)| input.name.unraw().to_string());
        quote!(#p::SavedSignature::new(#name, &[#(#inputs),*]))
    });
    let elementwise = model.definition.kind.elementwise();
    // The states of some steps are saved too.
    let states = elementwise
        .filter(|formula| formula.scan.is_some())
        .map(|_| {
            let inputs = model.forward.differentiable().into_iter();
            let inputs = inputs.map(|(input, _)| input.name.unraw().to_string());
            quote!(#p::SavedSignature::new("states", &[#(#inputs),*]))
        });
    let saved = quote!(#(#saved,)* #equations #states);
    let signature = new(&model.definition, &model.forward, elementwise, &saved, p);
    let order = match model.order {
        Order::Once => TokenStream::new(),
        Order::Times(times) => {
            let times = number(times);
            let is_elementwise = elementwise
                .is_some_and(|formula| formula.scan.is_none() && formula.pairs.is_none());
            let elementwise = is_elementwise.then(|| quote!(.elementwise()));
            quote!(.with_order(#p::Order::Times(#times)) #elementwise)
        }
        Order::Any => quote!(.with_order(#p::Order::Any)),
    };
    let forward_mode = model.has_forward_mode().then(|| quote!(.forward_mode()));
    constant(&quote!(#signature #order #forward_mode), p)
}

/// Generates the signature of a function with mistakes: what is certain about it.
pub(super) fn fallback(definition: &Definition, forward: &Forward, p: &TokenStream) -> TokenStream {
    constant(&new(definition, forward, None, &TokenStream::new(), p), p)
}

/// Returns the name of the constant.
pub(super) fn name() -> Ident {
    local("__SIGNATURE")
}

fn constant(value: &TokenStream, p: &TokenStream) -> TokenStream {
    let name = name();
    quote!(const #name: #p::Signature = #value;)
}

fn new(
    definition: &Definition,
    forward: &Forward,
    elementwise: Option<&Elementwise>,
    saved: &TokenStream,
    p: &TokenStream,
) -> TokenStream {
    let name = &definition.name;
    let inputs = forward
        .inputs
        .iter()
        .map(|input| input_signature(input, forward, elementwise, p));
    let written = forward.in_place().map(|(output, _)| output);
    let outputs = forward.outputs().chain(written).map(|output| {
        let (name, ty) = (output.name.unraw().to_string(), &output.shown);
        let kind = if output.has_gradient() {
            quote!(tensor)
        } else {
            quote!(exempt)
        };
        let list = (output.kind == Kind::List).then(|| quote!(.list()));
        let shape = shape(&output.name, forward, elementwise);
        let shape = shape.map(|shape| quote!(.shape(#shape)));
        let loops = loops(&output.name, elementwise);
        let state = elementwise.and_then(|formula| formula.state_of(&output.name));
        let state = state.map(|state| state.unraw().to_string());
        let state = state.map(|state| quote!(.state(#state)));
        quote!(#p::OutputSignature::#kind(#name, #ty) #list #shape #loops #state)
    });
    quote!(#p::Signature::new(#name, &[#(#inputs),*], &[#(#outputs),*], &[#saved]))
}

/// Returns the declared shape of a tensor, or that of rows and columns of pairs.
fn shape(name: &Ident, forward: &Forward, elementwise: Option<&Elementwise>) -> Option<String> {
    let of_pairs = || elementwise?.shape_of_pairs(name);
    docs::shape(name, forward).or_else(of_pairs)
}

/// Returns what is known of the loops of a tensor: the axis of steps, the length of rows.
fn loops(name: &Ident, elementwise: Option<&Elementwise>) -> TokenStream {
    let has_steps = elementwise.is_some_and(|formula| formula.has_steps(name));
    let step = has_steps.then(|| quote!(.step()));
    let row = elementwise.and_then(|formula| formula.row(name));
    let row = row.map(|row| match row {
        Row::Of(length) => quote!(.row(#length)),
        Row::Slice => quote!(.row(0)),
    });
    quote!(#step #row)
}

fn input_signature(
    input: &Input,
    forward: &Forward,
    elementwise: Option<&Elementwise>,
    p: &TokenStream,
) -> TokenStream {
    let (name, ty) = (input.name.unraw().to_string(), &input.shown);
    let Some(tensor) = &input.tensor else {
        return quote!(#p::InputSignature::value(#name, #ty));
    };
    let optional = (tensor.kind == Kind::Optional).then(|| quote!(.optional()));
    let list = (tensor.kind == Kind::List).then(|| quote!(.list()));
    let in_place = input.is_in_place().then(|| quote!(.in_place()));
    let exempt = tensor.edge.is_none().then(|| quote!(.exempt()));
    let tensor = if let Some(shape) = shape(&input.name, forward, elementwise) {
        quote!(shaped(#name, #ty, #shape))
    } else {
        quote!(tensor(#name, #ty))
    };
    let loops = loops(&input.name, elementwise);
    quote!(#p::InputSignature::#tensor #optional #list #in_place #exempt #loops)
}

fn saved_signature(saved: &Saved, forward: &Forward, p: &TokenStream) -> TokenStream {
    let name = saved.name.unraw().to_string();
    let inputs = forward.differentiable();
    let needed_for = saved
        .needed_for
        .iter()
        .map(|edge| inputs[*edge].0.name.unraw().to_string());
    quote!(#p::SavedSignature::new(#name, &[#(#needed_for),*]))
}
