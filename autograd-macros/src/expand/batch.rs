//! Generates `apply_batch`: the function on each example of a batch.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::{Generics, Ident, parse_quote};

use super::backward::nested;
use super::interface::{self, lifetime_of};
use super::tokens::{
    at, dimension, element, element_and_dimension, is_consumed, local, option, reference, tuple,
};
use super::{apply, probes, residual};
use crate::docs;
use crate::lists::Lists as _;
use crate::model::{Batch, Definition, Forward, FunctionModel, Input, Returned, TensorInput};
use crate::types::{Content, Kind, Rank, last_segment};

/// Generates the whole function.
pub(super) fn function(model: &FunctionModel, p: &TokenStream) -> Option<TokenStream> {
    let batch = model.batch.as_ref()?;
    let (definition, forward) = (&model.definition, &model.forward);
    let docs = docs::apply_batch(model, batch);
    Some(method(
        definition,
        forward,
        batch,
        &docs,
        &body(model, batch, p),
        p,
    ))
}

/// Generates the function around a given body, which the fallback has too.
pub(super) fn method(
    definition: &Definition,
    forward: &Forward,
    batch: &Batch,
    attributes: &TokenStream,
    body: &TokenStream,
    p: &TokenStream,
) -> TokenStream {
    let ranks = Ranks::of(definition, forward, batch);
    let generics = ranks.generics(&forward.generics, p);
    let (parameters_of, _, where_clause) = generics.split_for_impl();
    let vis = &forward.vis;
    let inputs = forward.inputs.iter().zip(&batch.is_batched);
    let parameters = inputs.map(|(input, is_batched)| match &input.tensor {
        Some(tensor) if *is_batched => batched(input, tensor, &ranks, p),
        _ => interface::parameter(input, true, p),
    });
    let returns = returns(forward, &ranks, p);
    let must_use = interface::is_for_its_value(forward).then(|| quote!(#[must_use]));
    quote! {
        #attributes
        #must_use
        #[track_caller]
        #vis fn apply_batch #parameters_of (#(#parameters),*) -> #returns #where_clause {
            #body
        }
    }
}

/// The ranks with one more axis, of which those that are parameters of the block become parameters of the function: so
/// they follow from the arguments.
struct Ranks<'a>(Vec<(&'a Ident, Ident)>);

impl<'a> Ranks<'a> {
    fn of(definition: &'a Definition, forward: &Forward, batch: &Batch) -> Self {
        let inputs = forward.inputs.iter().zip(&batch.is_batched);
        let batched = inputs.filter(|(_, is_batched)| **is_batched);
        let ranks = batched.filter_map(|(input, _)| named_rank(&input.tensor.as_ref()?.ty.content));
        let ranks: Vec<&Ident> = ranks.listed();
        let params = definition.generics.type_params().map(|param| &param.ident);
        let params = params.filter(|param| ranks.contains(param));
        Self(
            params
                .map(|param| (param, local(format_args!("Batch{param}"))))
                .listed(),
        )
    }

    fn generics(&self, lifetimes: &Generics, p: &TokenStream) -> Generics {
        let mut generics = lifetimes.clone();
        for (rank, larger) in &self.0 {
            let larger = parse_quote!(#larger: #p::ndarray::Dimension<Smaller = #rank>);
            generics.params.push(larger);
        }
        generics
    }

    /// Returns the type of a tensor with one more axis.
    fn tensor(&self, content: &Content, p: &TokenStream) -> TokenStream {
        if let Content::Known {
            element,
            rank: Rank::Fixed(rank),
        } = content
        {
            let name = local(format_args!("Tensor{}", rank + 1));
            return quote!(#p::#name<#element>);
        }
        let (element, dimension) = self.parameters(content, p);
        quote!(#p::Tensor<#element, #dimension>)
    }

    /// Returns the element type and the dimension of such a tensor.
    fn parameters(&self, content: &Content, p: &TokenStream) -> (TokenStream, TokenStream) {
        let known = named_rank(content);
        let known = self.0.iter().find(|(rank, _)| Some(*rank) == known);
        let larger = if let Some((_, larger)) = known {
            larger.to_token_stream()
        } else {
            let dimension = dimension(content, p);
            quote!(<#dimension as #p::ndarray::Dimension>::Larger)
        };
        (element(content, p), larger)
    }
}

/// Returns the name of a rank that has one.
fn named_rank(content: &Content) -> Option<&Ident> {
    match content {
        Content::Known {
            rank: Rank::Named(rank),
            ..
        } => Some(&last_segment(rank)?.ident),
        _ => None,
    }
}

/// Returns a parameter with one more axis.
fn batched(input: &Input, tensor: &TensorInput, ranks: &Ranks<'_>, p: &TokenStream) -> TokenStream {
    let (name, ty) = (&input.name, &input.ty);
    let mut taken = ranks.tensor(&tensor.ty.content, p);
    if tensor.kind == Kind::List {
        let lifetime = lifetime_of(ty);
        let (element, dimension) = ranks.parameters(&tensor.ty.content, p);
        let element = quote_spanned!(at(ty)=> impl #p::ListElement<#element, #dimension>);
        return quote!(#name: &#lifetime [#element]);
    }
    if !is_consumed(&tensor.ty) {
        let lifetime = &tensor.ty.lifetime;
        taken = quote_spanned!(at(ty)=> &#lifetime #taken);
    }
    if tensor.kind == Kind::Optional {
        taken = option(&taken);
    }
    quote!(#name: #taken)
}

/// Returns the return type: outputs with one more axis, and values in a `Vec`.
fn returns(forward: &Forward, ranks: &Ranks<'_>, p: &TokenStream) -> TokenStream {
    let output = |output: &Returned| {
        let one = match &output.tensor {
            Some(tensor) => ranks.tensor(&tensor.content, p),
            None => output.ty.to_token_stream(),
        };
        if output.tensor.is_some() && output.kind != Kind::List {
            one
        } else {
            quote!(::std::vec::Vec<#one>)
        }
    };
    let outputs = tuple(forward.outputs().map(output));
    match &forward.fallible {
        Some(result) => {
            let error = interface::error_of(result, p);
            quote!(::core::result::Result<#outputs, #p::ExampleError<#error>>)
        }
        None => outputs,
    }
}

fn body(model: &FunctionModel, batch: &Batch, p: &TokenStream) -> TokenStream {
    let forward = &model.forward;
    let (call, example, called_at) = (local("call"), local("example"), local("called_at"));
    let inputs = || forward.inputs.iter().zip(&batch.is_batched);
    let probes = probes::statements(model, p);
    let lists = inputs().filter_map(|(input, is_batched)| list(input, *is_batched, p));
    let values = forward.inputs.iter().filter(|input| input.tensor.is_none());
    let shared =
        values.map(|Input { name, ty, .. }| quote_spanned!(at(ty)=> #p::is_shared(&#name);));
    let tensors = inputs().filter_map(|(input, is_batched)| given(input, *is_batched, p));
    let parts = inputs().filter_map(|(input, is_batched)| {
        let tensor = input.tensor.as_ref().filter(|_| *is_batched)?;
        Some(part(input, tensor, p))
    });
    let run = run(model, batch, p);
    let (stacked, of_values) = (local("stacked"), local("values"));
    let has_values = values_of(forward).next().is_some();
    let of_values = if has_values {
        quote!(#of_values)
    } else {
        quote!(_)
    };
    let (run_all, question) = match forward.fallible {
        Some(_) => (local("try_run"), Some(quote!(?))),
        None => (local("run"), None),
    };
    let taken = taken(forward);
    let finish = interface::finish(forward, |output| output.name.to_token_stream());
    quote! {
        #probes
        #(#lists)*
        #(#shared)*
        let #call = #p::BatchCall::new(<Self as #p::Function>::NAME, [#(#tensors),*]);
        let #called_at = #call.called_at();
        let (mut #stacked, #of_values) = #call.#run_all(|#example| {
            #(#parts)*
            #run
        }) #question;
        #taken
        #finish
    }
}

/// Returns the outputs that are not tensors.
fn values_of(forward: &Forward) -> impl Iterator<Item = &Returned> {
    forward.outputs().filter(|output| output.tensor.is_none())
}

/// Returns a tensor input, as the runtime gets it.
fn given(input: &Input, is_batched: bool, p: &TokenStream) -> Option<TokenStream> {
    let tensor = input.tensor.as_ref()?;
    let (name, reference) = (input.name.unraw().to_string(), reference(input, tensor));
    let is_list = tensor.kind == Kind::List;
    Some(quote! {
        #p::BatchInput {
            name: #name,
            is_batched: #is_batched,
            is_list: #is_list,
            tensors: #p::Argument::erased(#reference),
        }
    })
}

/// Runs the function of one example, and returns its tensors and its values.
fn run(model: &FunctionModel, batch: &Batch, p: &TokenStream) -> TokenStream {
    let (forward, link) = (&model.forward, residual::no_link(model, p));
    let (located, called_at) = (apply::located_name(forward), local("called_at"));
    let inputs = forward.inputs.iter().zip(&batch.is_batched);
    let arguments = inputs.map(|(input, is_batched)| argument(input, *is_batched));
    let run = quote!(Self::#located(#called_at, #link #(#arguments),*));
    let outputs = local("outputs");
    let pushes = forward.outputs().filter_map(|output| {
        let (name, text) = (&output.name, output.name.unraw().to_string());
        let push = local(match output.kind {
            Kind::List => "push_list",
            Kind::Single | Kind::Optional => "push",
        });
        output.tensor.as_ref()?;
        Some(quote!(#outputs.#push(#text, #name);))
    });
    let values: Vec<TokenStream> = values_of(forward)
        .map(|output| output.name.to_token_stream())
        .listed();
    let values = nested(&values);
    let pushed = quote! {
        let mut #outputs = <#p::BatchOutputs as ::core::default::Default>::default();
        #(#pushes)*
        (#outputs, #values)
    };
    let names = tuple(
        forward
            .outputs()
            .map(|output| output.name.to_token_stream()),
    );
    if forward.fallible.is_none() {
        return quote!(let #names = #run; #pushed);
    }
    let error = local("error");
    quote! {
        match #run {
            ::core::result::Result::Ok(#names) => ::core::result::Result::Ok({ #pushed }),
            ::core::result::Result::Err(#error) => ::core::result::Result::Err(#error),
        }
    }
}

/// Takes the outputs of all examples.
fn taken(forward: &Forward) -> TokenStream {
    let (stacked, values) = (local("stacked"), local("values"));
    let last = values_of(forward).count();
    let unzipped = (1..).zip(values_of(forward));
    let unzipped = unzipped.map(|(place, Returned { name, .. })| {
        let others = if place == last {
            quote!(_)
        } else {
            quote!(#values)
        };
        quote! {
            let (#name, #others): (::std::vec::Vec<_>, ::std::vec::Vec<_>) =
                ::core::iter::Iterator::unzip(::core::iter::IntoIterator::into_iter(#values));
        }
    });
    let tensors = forward.outputs().filter_map(|output| {
        let (name, text) = (&output.name, output.name.unraw().to_string());
        output.tensor.as_ref()?;
        Some(match output.kind {
            Kind::List => quote!(let #name = #stacked.list(#text);),
            Kind::Single | Kind::Optional => quote!(let #name = #stacked.tensor();),
        })
    });
    quote!(#(#unzipped)* #(#tensors)*)
}

/// Gathers references to the tensors of a list.
fn list(input: &Input, is_batched: bool, p: &TokenStream) -> Option<TokenStream> {
    let tensor = input
        .tensor
        .as_ref()
        .filter(|tensor| tensor.kind == Kind::List)?;
    let name = &input.name;
    if is_batched {
        return Some(quote!(let #name = #p::references(#name);));
    }
    let parameters = element_and_dimension(&tensor.ty, p);
    Some(quote!(let #name = #p::references::<#parameters, _>(#name);))
}

/// Declares the example's part of an input.
fn part(input: &Input, tensor: &TensorInput, p: &TokenStream) -> TokenStream {
    let (name, part, example) = (&input.name, part_name(input), local("example"));
    let parameters = element_and_dimension(&tensor.ty, p);
    match tensor.kind {
        Kind::Single => quote!(let #part = #example.tensor::<#parameters>();),
        Kind::Optional => quote! {
            let #part = ::core::option::Option::map(
                ::core::option::Option::as_ref(&#name),
                |_| #example.tensor::<#parameters>(),
            );
        },
        Kind::List => quote! {
            let #part = #example.list::<#parameters>(#name.len());
            let #part = #p::references(&#part);
        },
    }
}

fn part_name(input: &Input) -> Ident {
    local(format_args!("part_{}", input.name.unraw()))
}

/// Returns an argument of `apply` for an example.
fn argument(input: &Input, is_batched: bool) -> TokenStream {
    let name = &input.name;
    let Some(tensor) = &input.tensor else {
        return quote_spanned!(at(&input.ty)=> ::core::clone::Clone::clone(&#name));
    };
    let is_consumed = is_consumed(&tensor.ty);
    if is_batched {
        let part = part_name(input);
        return match tensor.kind {
            Kind::Single | Kind::Optional if is_consumed => quote!(#part),
            Kind::Single => quote!(&#part),
            Kind::Optional => quote!(::core::option::Option::as_ref(&#part)),
            Kind::List => quote!(&#part[..]),
        };
    }
    match tensor.kind {
        Kind::List => quote!(&#name[..]),
        Kind::Single | Kind::Optional if is_consumed => quote!(::core::clone::Clone::clone(&#name)),
        Kind::Single | Kind::Optional => quote!(#name),
    }
}
