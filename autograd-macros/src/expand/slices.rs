//! Generates the formula of a scan that has slices: rows of a length that its tensors have.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::{FnArg, ReturnType, Type};

use super::items::Items;
use super::tokens::{local, number};
use super::values::{fields, formula_name, list_of_values, value};
use crate::lists::Lists as _;
use crate::model::{Definition, Elementwise, Row, ScanRole};
use crate::types::{bound, peel};

/// Generates what the runtime calls: the formula with its values.
pub(super) fn formula(
    definition: &Definition,
    elementwise: &Elementwise,
    p: &TokenStream,
) -> TokenStream {
    let ident = &definition.ident;
    let (name, fields) = (formula_name(ident), fields(elementwise));
    let (of_inputs, of_outputs) = (Items::inputs(elementwise), Items::outputs(elementwise));
    let (x, y) = (of_inputs.names("x"), of_outputs.names("y"));
    let states = elementwise.count(ScanRole::State);
    let arguments = elementwise.formula.inputs.iter().filter_map(|argument| {
        let FnArg::Typed(parameter) = argument else {
            return None;
        };
        let name = bound(&parameter.pat)?;
        let Some(input) = elementwise.inputs.iter().position(|input| input == name) else {
            return value(name, elementwise, &quote!(self));
        };
        let numbers = &x[input];
        Some(match &elementwise.rows[input] {
            None => quote!(#numbers[0]),
            Some(Row::Of(_)) => quote!(::core::array::from_fn(|number| #numbers[number])),
            Some(Row::Slice) if input < states => quote!(&mut *#numbers),
            Some(Row::Slice) => quote!(&*#numbers),
        })
    });
    let units = definition.generics.type_params().map(|_| quote!(()));
    let call = quote!(<#ident<#(#units),*>>::formula(#(#arguments),*));
    // Slices are written where they are.
    let is_returned = |output: &usize| !matches!(elementwise.outputs[*output], Some(Row::Slice));
    let results = (0..y.len()).filter(is_returned).map(|output| &y[output]);
    let results = results.listed();
    let computed = match &elementwise.formula.output {
        ReturnType::Default => quote!(#call;),
        ReturnType::Type(_, ty) if matches!(peel(ty), Type::Tuple(_)) => {
            quote!(let (#(#results,)*) = #call;)
        }
        ReturnType::Type(..) => quote!(let #(#results)* = #call;),
    };
    let [items, numbers, outputs] = ["items", "numbers", "outputs"].map(local);
    let real = local("R");
    let after = of_outputs.part(states..y.len());
    let puts = (0..y.len()).filter(is_returned).map(|output| {
        let (result, row) = (&y[output], of_outputs.row(output));
        let (to, start) = match output.checked_sub(states) {
            None => (&x[output], quote!(0)),
            Some(output) => (&outputs, after.start(output)),
        };
        match row {
            None => quote!(#to[#start] = #result;),
            Some(length) => quote!(#to[#start..][..#length].copy_from_slice(&#result);),
        }
    });
    let list = list_of_values(elementwise, p);
    quote! {
        struct #name { #(#fields),* }

        impl #p::SliceFormula for #name {
            fn at<#real: #p::Real>(
                &self,
                #items: &[#p::Item],
                #numbers: &mut [#real],
                #outputs: &mut [#real],
            )
            where
                ::core::primitive::f64: #p::Literal<#real>,
            {
                let [#(#x),*] = #p::parts(#numbers, #items);
                #computed
                #(#puts)*
            }

            #list
        }
    }
}

/// Returns the loops of a formula with slices, whose lengths are those of the tensors in scope.
pub(super) fn loops(
    elementwise: &Elementwise,
    formula: &TokenStream,
    p: &TokenStream,
) -> TokenStream {
    let [states, steps] = [ScanRole::State, ScanRole::Step].map(|role| elementwise.count(role));
    let inputs = elementwise.inputs.iter().zip(&elementwise.rows);
    let inputs = inputs.map(|(name, row)| match row {
        Some(Row::Slice) => quote!(#p::row_of(#name.shape())),
        row => item(row.as_ref(), p),
    });
    let outputs = elementwise.outputs[states..].iter();
    let outputs = outputs.map(|row| item(row.as_ref(), p));
    let [states, steps] = [states, steps].map(|count| number(count).into_token_stream());
    quote!(#p::SliceScans::new(#formula, &[#(#inputs),*], (#states, #steps), &[#(#outputs),*]))
}

fn item(row: Option<&Row>, p: &TokenStream) -> TokenStream {
    match row.and_then(Row::length) {
        None => quote!(#p::Item::Number),
        Some(length) => quote!(#p::Item::Row(#length)),
    }
}
