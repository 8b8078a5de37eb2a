//! Generates what runs the formula of a scan.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt as _;

use super::items::Items;
use super::slices;
use super::tokens::number;
use crate::model::{Elementwise, FunctionModel, Scan, ScanRole};

/// Returns the loops of a formula of states, steps and shared numbers.
pub(super) fn loops(
    elementwise: &Elementwise,
    formula: &TokenStream,
    p: &TokenStream,
) -> TokenStream {
    if elementwise.has_slices() {
        return slices::loops(elementwise, formula, p);
    }
    let (inputs, results) = (Items::inputs(elementwise), Items::outputs(elementwise));
    let states = elementwise.count(ScanRole::State);
    let end = states + elementwise.count(ScanRole::Step);
    let parts = [inputs.part(0..states), inputs.part(states..end)];
    let [states, steps] = parts.map(|part| part.count());
    let (inputs, results) = (inputs.count(), results.count());
    quote!(#p::Scans::<_, #inputs, #results, #states, #steps>(#formula))
}

/// Returns the call that applies the scan to tensors, and the one that computes with arrays.
pub(super) fn calls(
    model: &FunctionModel,
    elementwise: &Elementwise,
    scan: &Scan,
    [loops, tensors, arrays]: [&TokenStream; 3],
    p: &TokenStream,
) -> (TokenStream, TokenStream) {
    let is_reversed = scan.is_reversed;
    let names = elementwise
        .inputs
        .iter()
        .map(|name| name.unraw().to_string());
    let names = quote!(&[#(#names),*]);
    // In the order of the parameters.
    let differentiable = model.forward.differentiable().into_iter();
    let places = differentiable.filter_map(|(input, _)| {
        let mut inputs = elementwise.inputs.iter();
        inputs.position(|name| *name == input.name).map(number)
    });
    let apply = quote! {
        #p::Scan::<Self>::apply(#loops, #is_reversed, #tensors, #names, &[#(#places),*])
    };
    let values = quote! {
        #p::scan_values(<Self as #p::Function>::NAME, #loops, #is_reversed, #arrays, #names)
    };
    (apply, values)
}
