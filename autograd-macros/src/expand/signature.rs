//! `impl Function`: the description of the function that can be looked at when the program runs.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt as _;

use crate::model::{Definition, Forward, FunctionModel, Input, Order, Saved};
use crate::show::show;

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
    let rules = Rules {
        saved: quote!(#(#saved),*),
        order,
        forward_mode: model.jvp.is_some(),
    };
    constants(&model.definition, &model.forward, &rules, p)
}

/// The constants of a function with mistakes: what is certain about it.
pub(super) fn draft(definition: &Definition, forward: &Forward, p: &TokenStream) -> TokenStream {
    let rules = Rules {
        saved: TokenStream::new(),
        order: quote!(Once),
        forward_mode: false,
    };
    constants(definition, forward, &rules, p)
}

/// What the rules of differentiation add to a signature.
struct Rules {
    saved: TokenStream,
    order: TokenStream,
    forward_mode: bool,
}

fn constants(
    definition: &Definition,
    forward: &Forward,
    rules: &Rules,
    p: &TokenStream,
) -> TokenStream {
    let Rules {
        saved,
        order,
        forward_mode,
    } = rules;
    let name = &definition.name;
    let inputs = forward.inputs.iter().map(|input| input_signature(input, p));
    let written = forward.in_place().map(|(output, _)| output);
    let outputs = forward.outputs().chain(written).map(|output| {
        let (name, ty) = (output.name.unraw().to_string(), show(&output.ty));
        let kind = if output.has_gradient() {
            quote!(tensor)
        } else {
            quote!(exempt)
        };
        quote!(#p::OutputSignature::#kind(#name, #ty))
    });
    quote! {
        const NAME: &'static str = #name;
        const SIGNATURE: #p::Signature = #p::Signature {
            name: #name,
            inputs: &[#(#inputs),*],
            outputs: &[#(#outputs),*],
            saved: &[#saved],
            order: #p::Order::#order,
            forward_mode: #forward_mode,
        };
    }
}

fn input_signature(input: &Input, p: &TokenStream) -> TokenStream {
    let (name, ty) = (input.name.unraw().to_string(), show(&input.ty));
    let Some(tensor) = &input.tensor else {
        return quote!(#p::InputSignature::value(#name, #ty));
    };
    let optional = tensor.optional.then(|| quote!(.optional()));
    let list = tensor.list.then(|| quote!(.list()));
    let in_place = input.is_in_place().then(|| quote!(.in_place()));
    let exempt = tensor.edge.is_none().then(|| quote!(.exempt()));
    quote!(#p::InputSignature::tensor(#name, #ty) #optional #list #in_place #exempt)
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
