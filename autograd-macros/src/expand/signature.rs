//! `impl Function`: the description of the function that can be looked at when the program runs.

use proc_macro2::TokenStream;
use quote::quote;

use crate::model::{Definition, Forward, FunctionModel, Input, Order, Saved};
use crate::types::show;

/// The constants of a whole function.
pub(super) fn function(model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let saved = model
        .saved
        .iter()
        .map(|saved| saved_signature(saved, &model.forward, p));
    let order = match model.order {
        Order::Once => quote!(Once),
        Order::Any => quote!(Any),
    };
    constants(
        &model.definition,
        &model.forward,
        &quote!(#(#saved),*),
        &order,
        p,
    )
}

/// The constants of a function with mistakes: what is certain about it.
pub(super) fn draft(definition: &Definition, forward: &Forward, p: &TokenStream) -> TokenStream {
    constants(definition, forward, &TokenStream::new(), &quote!(Once), p)
}

fn constants(
    definition: &Definition,
    forward: &Forward,
    saved: &TokenStream,
    order: &TokenStream,
    p: &TokenStream,
) -> TokenStream {
    let name = &definition.name;
    let inputs = forward.inputs.iter().map(|input| input_signature(input, p));
    let outputs = forward.outputs().map(|output| {
        let (name, ty) = (output.name.to_string(), show(&output.ty));
        let differentiable = output.has_gradient();
        quote!(#p::OutputSignature { name: #name, ty: #ty, differentiable: #differentiable })
    });
    quote! {
        const NAME: &'static str = #name;
        const SIGNATURE: #p::Signature = #p::Signature {
            name: #name,
            inputs: &[#(#inputs),*],
            outputs: &[#(#outputs),*],
            saved: &[#saved],
            order: #p::Order::#order,
        };
    }
}

fn input_signature(input: &Input, p: &TokenStream) -> TokenStream {
    let (name, ty) = (input.name.to_string(), show(&input.ty));
    let tensor = input.tensor.is_some();
    let optional = input.tensor.as_ref().is_some_and(|tensor| tensor.optional);
    let differentiable = input
        .tensor
        .as_ref()
        .is_some_and(|tensor| tensor.edge.is_some());
    quote! {
        #p::InputSignature {
            name: #name,
            ty: #ty,
            tensor: #tensor,
            optional: #optional,
            differentiable: #differentiable,
        }
    }
}

fn saved_signature(saved: &Saved, forward: &Forward, p: &TokenStream) -> TokenStream {
    let name = saved.name.to_string();
    let inputs = forward.differentiable();
    let needed_for = saved
        .needed_for
        .iter()
        .map(|edge| inputs[*edge].0.name.to_string());
    quote!(#p::SavedSignature { name: #name, needed_for: &[#(#needed_for),*] })
}
