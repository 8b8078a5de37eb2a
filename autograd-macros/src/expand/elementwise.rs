//! Generates what a function of numbers becomes: the function of numbers itself, the formula that the runtime's loops
//! call, and the functions on arrays and tensors that run them.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Attribute, FnArg, Ident, ReturnType, Type, parse_quote};

use super::interface::tuple;
use super::short::{OF_BOTH, OF_THE_BODY, is_one_of};
use super::tokens::{at, beside, local, number};
use crate::docs;
use crate::model::{Definition, Elementwise, Forward, Short};
use crate::spell::{lasting, owned};
use crate::types::{Passing, bound, peel};

/// Generates `Squash::scalar`, with the body as it is written.
pub(super) fn scalar(
    definition: &Definition,
    short: &Short,
    elementwise: &Elementwise,
    root: &TokenStream,
    body: &TokenStream,
) -> TokenStream {
    let Definition { ident, cfgs, .. } = definition;
    let Short { attrs, vis, .. } = short;
    let is_moved = |attr: &&Attribute| {
        (is_one_of(attr, &OF_THE_BODY) || is_one_of(attr, &OF_BOTH))
            && !is_one_of(attr, &["inline", "cold"])
    };
    let attrs = attrs.iter().filter(is_moved);
    let docs = docs::scalar(short);
    let mut scalar = (*elementwise.scalar).clone();
    scalar.ident = format_ident!("scalar", span = scalar.ident.span());
    scalar.asyncness = None;
    let numbers = &elementwise.number;
    let bound = quote_spanned!(at(numbers)=> f64: #root::Literal<#numbers>);
    scalar
        .generics
        .make_where_clause()
        .predicates
        .push(parse_quote!(#bound));
    let units = definition.generics.type_params().map(|_| quote!(()));
    quote! {
        #(#cfgs)*
        #[allow(
            clippy::inline_always,
            clippy::multiple_bound_locations,
            clippy::must_use_candidate,
            clippy::needless_pass_by_value,
            clippy::too_many_arguments,
            clippy::trivially_copy_pass_by_ref,
            clippy::type_complexity,
        )]
        impl #ident<#(#units),*> {
            #docs
            #(#attrs)*
            #[inline(always)]
            #vis #scalar #body
        }
    }
}

/// Generates the formula: the function of numbers with its values.
pub(super) fn formula(
    definition: &Definition,
    elementwise: &Elementwise,
    p: &TokenStream,
) -> TokenStream {
    let ident = &definition.ident;
    let name = formula_name(ident);
    let fields = elementwise.values.iter().map(|(name, ty)| {
        let ty = lasting(&Type::Verbatim(owned(&Passing::of(ty))));
        quote!(#name: #ty)
    });
    let (inputs, outputs) = (elementwise.inputs.len(), elementwise.outputs);
    let numbers: Vec<Ident> = (0..inputs)
        .map(|input| local(format_args!("x_{input}")))
        .collect();
    let arguments = elementwise.scalar.inputs.iter().filter_map(|argument| {
        let FnArg::Typed(parameter) = argument else {
            return None;
        };
        let name = bound(&parameter.pat)?;
        if let Some(input) = elementwise.inputs.iter().position(|input| input == name) {
            return Some(numbers[input].to_token_stream());
        }
        let (_, ty) = elementwise.values.iter().find(|(value, _)| value == name)?;
        Some(match Passing::of(ty) {
            Passing::Owned(_) => quote!(::core::clone::Clone::clone(&self.#name)),
            Passing::Reference(ty) => {
                let ty = lasting(&ty);
                quote!(::core::borrow::Borrow::<#ty>::borrow(&self.#name))
            }
            Passing::OptionalReference(_) => quote! {
                ::core::option::Option::map(
                    ::core::option::Option::as_ref(&self.#name),
                    ::core::borrow::Borrow::borrow,
                )
            },
        })
    });
    let units = definition.generics.type_params().map(|_| quote!(()));
    let call = quote!(<#ident<#(#units),*>>::scalar(#(#arguments),*));
    let results: Vec<Ident> = (0..outputs)
        .map(|output| local(format_args!("y_{output}")))
        .collect();
    let body = if returns_tuple(elementwise) {
        quote!(let (#(#results,)*) = #call; [#(#results),*])
    } else {
        quote!([#call])
    };
    let (inputs, outputs) = (number(inputs), number(outputs));
    let real = local("R");
    quote! {
        struct #name { #(#fields),* }

        impl #p::Formula<#inputs, #outputs> for #name {
            #[inline(always)]
            fn at<#real: #p::Real>(&self, [#(#numbers),*]: [#real; #inputs]) -> [#real; #outputs]
            where
                f64: #p::Literal<#real>,
            {
                #body
            }
        }
    }
}

/// Generates forward and the two functions that run the loops for derivatives.
pub(super) fn functions(
    definition: &Definition,
    short: &Short,
    elementwise: &Elementwise,
    forward: &Forward,
    p: &TokenStream,
) -> TokenStream {
    let (vis, sig, docs) = (&short.vis, &short.kernel, docs::short_kernel(short));
    let inputs = &elementwise.inputs;
    let name = quote!(<Self as #p::Function>::NAME);
    let taken = blocks(definition, elementwise, true, p);
    let lent = blocks(definition, elementwise, false, p);
    let results: Vec<Ident> = (0..elementwise.outputs)
        .map(|output| local(format_args!("y_{output}")))
        .collect();
    let returned = if returns_tuple(elementwise) {
        quote!((#(#results,)*))
    } else {
        quote!(#(#results)*)
    };
    let (number, rank) = (&elementwise.number, rank(definition));
    let tensor = quote!(#p::Tensor<#number, #rank>);
    let values = value_parameters(elementwise);
    let gradients = forward.differentiable_outputs();
    let gradients: Vec<Ident> = gradients
        .iter()
        .map(|(output, _)| output.gradient_name())
        .collect();
    let needs_type = beside(definition, "NeedsInputGrad");
    let needs = inputs.iter().map(|input| quote!(needs.#input));
    let of_inputs: Vec<Ident> = (0..inputs.len())
        .map(|input| local(format_args!("g_{input}")))
        .collect();
    let gradient_types = inputs
        .iter()
        .map(|_| quote!(::core::option::Option<#tensor>));
    let gradient_types = tuple(gradient_types);
    let all = tuple(of_inputs.iter().map(|of| quote!(#of)));
    let tangents: Vec<Ident> = inputs
        .iter()
        .map(|input| format_ident!("tangent_{input}"))
        .collect();
    let tangent_types = results.iter().map(|_| quote!(#tensor));
    let tangent_types = tuple(tangent_types);
    let along = tuple(results.iter().map(|of| quote!(#of)));
    quote! {
        #docs
        #[track_caller]
        #[allow(clippy::too_many_arguments, clippy::type_complexity, clippy::needless_pass_by_value)]
        #vis #sig {
            let [#(#results),*] = #p::values(#name, &#taken, &[#(#inputs),*]);
            #returned
        }

        #[track_caller]
        #[allow(clippy::too_many_arguments, clippy::type_complexity)]
        fn gradients(
            #(#gradients: ::core::option::Option<&#tensor>,)*
            #(#inputs: &#tensor,)*
            #(#values,)*
            needs: #needs_type,
        ) -> #gradient_types {
            let [#(#of_inputs),*] = #p::gradients(
                #name,
                #lent,
                [#(#inputs),*],
                [#(#gradients),*],
                [#(#needs),*],
            );
            #all
        }

        #[track_caller]
        #[allow(clippy::too_many_arguments, clippy::type_complexity)]
        fn tangents(
            #(#tangents: ::core::option::Option<&#tensor>,)*
            #(#inputs: &#tensor,)*
            #(#values,)*
        ) -> #tangent_types {
            let [#(#results),*] = #p::tangents(#name, #lent, [#(#inputs),*], [#(#tangents),*]);
            #along
        }
    }
}

fn formula_name(ident: &Ident) -> Ident {
    format_ident!("{ident}Formula", span = at(ident))
}

fn rank(definition: &Definition) -> Option<&Ident> {
    definition
        .generics
        .type_params()
        .nth(1)
        .map(|param| &param.ident)
}

fn returns_tuple(elementwise: &Elementwise) -> bool {
    let output = &elementwise.scalar.output;
    matches!(output, ReturnType::Type(_, ty) if matches!(peel(ty), Type::Tuple(_)))
}

fn value_parameters(elementwise: &Elementwise) -> Vec<TokenStream> {
    let parameter = |(name, ty): &(Ident, Type)| match Passing::of(ty) {
        Passing::Owned(ty) | Passing::Reference(ty) => quote!(#name: &#ty),
        Passing::OptionalReference(ty) => quote!(#name: ::core::option::Option<&#ty>),
    };
    elementwise.values.iter().map(parameter).collect()
}

/// Returns the loops of the formula, made of the values: `taken` as they are in forward, or lent.
fn blocks(
    definition: &Definition,
    elementwise: &Elementwise,
    taken: bool,
    p: &TokenStream,
) -> TokenStream {
    let name = formula_name(&definition.ident);
    let fields = elementwise.values.iter().map(|(name, ty)| {
        let value = match Passing::of(ty) {
            Passing::Owned(_) if taken => quote!(#name),
            Passing::Owned(_) | Passing::Reference(_) => {
                quote!(::std::borrow::ToOwned::to_owned(#name))
            }
            Passing::OptionalReference(_) => {
                quote!(::core::option::Option::map(#name, ::std::borrow::ToOwned::to_owned))
            }
        };
        quote!(#name: #value)
    });
    let numbers = [
        elementwise.inputs.len(),
        elementwise.outputs,
        elementwise.order,
    ];
    let numbers = numbers.map(number);
    quote!(#p::Blocks::<_, #(#numbers),*>(#name { #(#fields),* }))
}
