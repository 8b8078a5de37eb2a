//! The test that `gradcheck(…)` asks for: the function at inputs of the given shapes, with all of them
//! and without each optional one.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::Ident;
use syn::ext::IdentExt as _;

use super::tokens::{at, dimension, element, is_consumed, local, number, runtime, short};
use crate::model::{Concrete, Definition, FunctionModel, Gradcheck, Order, Returned, Sample};

/// The whole test.
pub(super) fn test(model: &FunctionModel, default_crate: &str) -> Option<TokenStream> {
    let gradcheck = model.gradcheck.as_ref()?;
    let Definition { cfgs, .. } = &model.definition;
    let (root, p) = (runtime(&model.definition, default_crate), &short());
    let name = name(&model.definition);
    let inputs = model.forward.inputs.iter().zip(&gradcheck.given);
    let samples = inputs.enumerate().filter_map(|(index, (input, given))| {
        let (tensor, Sample::Shape(shape)) = (input.tensor.as_ref()?, given) else {
            return None;
        };
        let element = concrete(element(&tensor.ty.content, p), gradcheck, p);
        let dimension = concrete(dimension(&tensor.ty.content, p), gradcheck, p);
        let (sample, seed) = (sample(index), number(index));
        Some(quote!(let #sample = #p::sample::<#element, #dimension>(&#shape, #seed);))
    });
    let inputs = model.forward.inputs.iter().enumerate();
    let optional = inputs.filter(|(_, input)| {
        let tensor = input.tensor.as_ref();
        tensor.is_some_and(|tensor| tensor.optional)
    });
    let runs = std::iter::once(None)
        .chain(optional.map(|(index, _)| Some(index)))
        .filter_map(|without| run(model, gradcheck, without, p));
    Some(quote! {
        #(#cfgs)*
        #[cfg(test)]
        #[::core::prelude::v1::test]
        fn #name() {
            use #root as #p;
            #(#samples)*
            #(#runs)*
        }
    })
}

/// One check, with all inputs or without one; `None` if that leaves nothing to differentiate by.
fn run(
    model: &FunctionModel,
    gradcheck: &Gradcheck,
    without: Option<usize>,
    p: &TokenStream,
) -> Option<TokenStream> {
    let forward = &model.forward;
    let (mut moved, mut arguments) = (Vec::new(), Vec::new());
    for (index, (input, given)) in forward.inputs.iter().zip(&gradcheck.given).enumerate() {
        let sample = sample(index);
        let Some(tensor) = &input.tensor else {
            arguments.push(match given {
                Sample::Shape(value) => value.to_token_stream(),
                Sample::Value(value) => value.to_token_stream(),
            });
            continue;
        };
        if without == Some(index) {
            arguments.push(quote!(::core::option::Option::None));
            continue;
        }
        let is_moved = tensor.edge.is_some();
        let mut argument = if is_moved {
            quote!(#sample)
        } else {
            quote!(&#sample)
        };
        if is_consumed(&tensor.ty) {
            argument = quote!(::core::clone::Clone::clone(#argument));
        }
        if tensor.optional {
            argument = quote!(::core::option::Option::Some(#argument));
        }
        arguments.push(argument);
        if is_moved {
            moved.push(sample);
        }
    }
    let self_ty = concrete(model.definition.self_ty.to_token_stream(), gradcheck, p);
    let mut call = quote!(<#self_ty>::apply(#(#arguments),*));
    if forward.fallible.is_some() {
        call = quote!(#p::succeeded(#call));
    }
    let body = outputs(model, &call);
    let name = &model.definition.name;
    let without = without.map_or_else(
        || quote!(::core::option::Option::None),
        |index| {
            let name = forward.inputs[index].name.unraw().to_string();
            quote!(::core::option::Option::Some(#name))
        },
    );
    let second_order = model.order == Order::Any;
    (!moved.is_empty()).then(|| {
        quote! {
            #p::gradcheck(
                #name,
                #without,
                #second_order,
                |(#(#moved,)*)| #body,
                (#(&#moved,)*),
            );
        }
    })
}

/// The differentiable ones among what `call` returns.
fn outputs(model: &FunctionModel, call: &TokenStream) -> TokenStream {
    let outputs: Vec<&Returned> = model.forward.outputs().collect();
    if outputs.iter().all(|output| output.has_gradient()) {
        return call.clone();
    }
    let named = outputs.iter().enumerate().map(|(index, output)| {
        let name = local(format_args!("output_{index}"));
        output.has_gradient().then_some(name)
    });
    let named: Vec<Option<Ident>> = named.collect();
    let pattern = named.iter().map(|name| {
        name.as_ref()
            .map_or_else(|| quote!(_), ToTokens::to_token_stream)
    });
    let kept = named.iter().flatten();
    quote!({
        let (#(#pattern),*) = #call;
        (#(#kept,)*)
    })
}

fn sample(index: usize) -> Ident {
    local(format_args!("input_{index}"))
}

/// Tokens of the author's with what the block's parameters become in their place; the compiler finds
/// out about the rest.
fn concrete(tokens: TokenStream, gradcheck: &Gradcheck, p: &TokenStream) -> TokenStream {
    let mut follows_apostrophe = false;
    let replaced = |token: TokenTree| match token {
        // A lifetime of the block has no name in the test.
        TokenTree::Ident(_) if std::mem::take(&mut follows_apostrophe) => {
            local("_").into_token_stream()
        }
        TokenTree::Ident(name) => {
            let mut parameters = gradcheck.parameters.iter();
            let found = parameters.find(|(parameter, _)| *parameter == name);
            match found {
                Some((_, concrete)) => spelled(concrete, p),
                None => name.into_token_stream(),
            }
        }
        TokenTree::Group(group) => {
            let inner = concrete(group.stream(), gradcheck, p);
            TokenTree::from(proc_macro2::Group::new(group.delimiter(), inner)).into()
        }
        token => {
            follows_apostrophe =
                matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '\'');
            token.into()
        }
    };
    tokens.into_iter().map(replaced).collect()
}

fn spelled(concrete: &Concrete, p: &TokenStream) -> TokenStream {
    match concrete {
        Concrete::Double => quote!(f64),
        Concrete::Rank(rank @ 0..=6) => {
            let name = local(format_args!("Ix{rank}"));
            quote!(#p::ndarray::#name)
        }
        Concrete::Rank(_) => quote!(#p::ndarray::IxDyn),
        Concrete::Inferred => quote!(_),
        Concrete::Given(given) => given.to_token_stream(),
    }
}

/// `linear_function_gradcheck`
fn name(definition: &Definition) -> Ident {
    let ident = definition
        .short
        .as_ref()
        .map_or(&definition.ident, |short| &short.ident);
    let text = ident.unraw().to_string();
    let letters: Vec<char> = text.chars().collect();
    let mut name = String::new();
    for (index, letter) in letters.iter().enumerate() {
        let is_upper = |index: Option<usize>| {
            let letter = index.and_then(|index| letters.get(index));
            letter.map(|letter| letter.is_uppercase())
        };
        // A word begins with a capital that follows a small letter, or comes before one.
        let (before, after) = (is_upper(index.checked_sub(1)), is_upper(Some(index + 1)));
        let begins = before == Some(false) || (before == Some(true) && after == Some(false));
        if letter.is_uppercase() && begins && !name.ends_with('_') {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    Ident::new(&format!("{name}_gradcheck"), at(ident))
}
