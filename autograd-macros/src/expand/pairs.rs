//! Generates what a function of pairs has in place of an elementwise function's loops over elements.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, format_ident, quote};
use syn::Ident;

use super::elementwise::{self, blocks};
use super::items::Items;
use super::tokens::{local, number};
use super::values::{formula_name, of_note};
use crate::compiler;
use crate::lists::Lists as _;
use crate::model::{Definition, Elementwise, FunctionModel, Pairs, Reduce, Side};
use crate::spell::at;

/// Returns the call that applies the function to tensors, and the one that computes with arrays.
pub(super) fn calls(
    model: &FunctionModel,
    elementwise: &Elementwise,
    pairs: &Pairs,
    [loops, tensors, arrays]: [&TokenStream; 3],
    p: &TokenStream,
) -> (TokenStream, TokenStream) {
    let arrays =
        quote!(#arrays.map(<#p::Tensor<_, _> as ::core::convert::From<_>>::from).each_ref());
    let [applied, computed] =
        [tensors, &arrays].map(|inputs| call(model, (elementwise, pairs), loops, inputs, p));
    (applied, quote!(#computed.map(|output| output.into_array())))
}

/// Generates the call of the runtime, for inputs as tensors of any rank.
fn call(
    model: &FunctionModel,
    (elementwise, pairs): (&Elementwise, &Pairs),
    loops: &TokenStream,
    inputs: &TokenStream,
    p: &TokenStream,
) -> TokenStream {
    let sides = sides(pairs, p);
    let sides = quote!([#(#sides),*]);
    let count = elementwise.inputs.len();
    let places: Vec<usize> = (0..count)
        .filter(|&input| elementwise.differentiable[input])
        .listed();
    let (edges, places) = (number(places.len()), places.into_iter().map(number));
    let places = quote!(&[#(#places),*]);
    let extreme = |reduction: TokenStream| quote!(#p::Pairs::<Self>::extreme(#loops, #p::Reduction::#reduction, #inputs, #sides, #places));
    match pairs.reduce {
        Reduce::Sum => quote!(#p::Pairs::<Self>::sum(#loops, #inputs, #sides, #places)),
        Reduce::Max => extreme(quote!(Max)),
        Reduce::Min => extreme(quote!(Min)),
        Reduce::LogSumExp => {
            let (name, of_formula) = (weights_name(&model.definition.ident), local("loops"));
            let of_inputs = Items::inputs(elementwise).and_a_number();
            let of_outputs = Items::outputs(elementwise);
            let formula = quote!(#name(#of_formula.0));
            let weights = blocks([&of_inputs, &of_outputs], elementwise.order, &formula, p);
            let (count, more) = (number(count), number(count + 1));
            quote! {
                #p::Pairs::<Self>::log_sum_exp::<_, _, _, #count, #more, #edges>(
                    #loops,
                    |#of_formula| #weights,
                    #inputs,
                    #sides,
                    #places,
                )
            }
        }
    }
}

/// Generates the side of each tensor.
fn sides(pairs: &Pairs, p: &TokenStream) -> Vec<TokenStream> {
    let sides = pairs.sides.iter().map(|side| {
        let side = match side {
            Side::Row => quote!(Row),
            Side::Column => quote!(Column),
            Side::All => quote!(All),
        };
        quote!(#p::Side::#side)
    });
    sides.listed()
}

/// Generates the sides of the tensors as a constant of the formula, and whether its results are summed.
pub(super) fn sides_of_formula(elementwise: &Elementwise, p: &TokenStream) -> Option<TokenStream> {
    let pairs = elementwise.pairs.as_ref()?;
    let sides = sides(pairs, p);
    let is_summed = pairs.reduce == Reduce::Sum;
    Some(quote! {
        const SIDES: &'static [#p::Side] = &[#(#sides),*];
        const IS_SUMMED: ::core::primitive::bool = #is_summed;
    })
}

fn weights_name(ident: &Ident) -> Ident {
    format_ident!("{ident}Weights", span = at(ident))
}

/// Generates the formula of the weights of a logarithm of a sum: e to the power of the formula minus one number more.
pub(super) fn weights(
    definition: &Definition,
    elementwise: &Elementwise,
    p: &TokenStream,
) -> Option<TokenStream> {
    let pairs = elementwise.pairs.as_ref()?;
    if pairs.reduce != Reduce::LogSumExp {
        return None;
    }
    let (name, formula) = (
        weights_name(&definition.ident),
        formula_name(&definition.ident),
    );
    let of_formula = Items::inputs(elementwise);
    let count = of_formula.count();
    let items = of_formula.and_a_number();
    let (more, list) = (items.count(), items.list(p));
    let [real, elements, entries, at, numbers, constant, note] = [
        "R", "elements", "entries", "at", "numbers", "constant", "note",
    ]
    .map(local);
    let formula = formula.to_token_stream();
    let sides = sides(pairs, p);
    let of_loops = elementwise::of_loops(elementwise, p);
    let of_note = of_note();
    let inline = compiler::inline();
    Some(quote! {
        struct #name(#formula);

        impl #p::Formula<#more, 1> for #name {
            type Entries = <#formula as #p::Formula<#count, 1>>::Entries;

            const INPUTS: &'static [#p::Item] = #list;
            const SIDES: &'static [#p::Side] = &[#(#sides,)* #p::Side::Row];
            const IS_SUMMED: ::core::primitive::bool = true;
            #of_loops

            #inline
            fn entries(&self, #elements: #p::Elements) -> Self::Entries {
                #p::Formula::entries(&self.0, #elements)
            }

            #inline
            fn at<#real: #p::Real>(
                &self,
                #entries: &Self::Entries,
                #at: #p::Place,
                [#numbers @ .., #constant]: [#real; #more],
            ) -> [#real; 1]
            where
                ::core::primitive::f64: #p::Literal<#real>,
            {
                let [#elements] = #p::Formula::at(&self.0, #entries, #at, #numbers);
                [#p::Real::exp(#elements - #constant)]
            }

            fn list_values(&self, #note: #of_note) {
                #p::Formula::list_values(&self.0, #note);
            }
        }
    })
}
