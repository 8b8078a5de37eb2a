//! Generates the structs beside the function: the saved values of a node, the flags of the needed gradients, and the
//! gradients by name.

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, quote};
use syn::{GenericParam, Generics, Ident, Visibility, WherePredicate};

use super::bounds;
use super::save;
use super::tokens::{beside, dimension, element, field, local, number, option, tensor};
use crate::docs;
use crate::lists::Lists as _;
use crate::model::{Backward, Definition, Forward, FunctionModel, Saved, Wants};
use crate::spell::has_word;
use crate::types::{Form, Kind, is_primitive};

/// Generates `LinearFunctionNeedsInputGrad`.
pub(super) fn needs_input_grad(definition: &Definition, forward: &Forward) -> TokenStream {
    let name = beside(definition, "NeedsInputGrad");
    let (cfgs, vis) = (&definition.cfgs, &forward.vis);
    let docs = docs::needs_input_grad(definition);
    let fields = forward.differentiable().into_iter().map(|(input, _)| {
        let (name, docs) = (field(&input.name), docs::needs_field(&input.name));
        quote!(#docs #vis #name: ::core::primitive::bool)
    });
    quote! {
        #(#cfgs)*
        #docs
        #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
        #[derive(::core::cmp::PartialEq, ::core::cmp::Eq)]
        #[allow(dead_code, clippy::struct_excessive_bools)]
        #vis struct #name {
            #(#fields),*
        }
    }
}

/// Returns a value of `LinearFunctionNeedsInputGrad`; `needs` has a flag for each differentiable input.
pub(super) fn needs(model: &FunctionModel, needs: impl Fn(Literal) -> TokenStream) -> TokenStream {
    let ty = beside(&model.definition, "NeedsInputGrad");
    let inputs = model.forward.differentiable();
    let fields = inputs.iter().enumerate().map(|(edge, (input, _))| {
        let (name, needs) = (field(&input.name), needs(number(edge)));
        quote!(#name: #needs)
    });
    quote!(#ty { #(#fields),* })
}

/// Generates `LinearFunctionGradients`, if a backward function returns it.
pub(super) fn gradients(model: &FunctionModel, root: &TokenStream) -> Option<TokenStream> {
    let mut backwards = model.backwards.iter();
    let backward = backwards.find(|backward| backward.function.by_name)?;
    let function = &backward.function;
    let forms = function.parameters.iter().filter_map(|asked| asked.form);
    let are_tensors = forms.clone().next().is_some() && forms.clone().all(Form::is_tensor);
    let fields = Fields {
        covers: &backward.covers,
        are_tensors,
        are_optional: function.asks_for(Wants::NeedsInputGrad),
        vis: &backward.vis,
    };
    let docs = docs::gradients(&model.definition, &function.ident);
    let docs = quote!(#docs #[derive(::core::fmt::Debug)]);
    Some(struct_of_gradients(
        &model.definition,
        &model.forward,
        &fields,
        &docs,
        root,
    ))
}

/// Generates the same struct for a function with mistakes, whose bodies do not use it.
pub(super) fn gradients_fallback(
    definition: &Definition,
    forward: &Forward,
    root: &TokenStream,
) -> TokenStream {
    let all: Vec<usize> = (0..forward.differentiable().len()).listed();
    let fields = Fields {
        covers: &all,
        are_tensors: false,
        are_optional: false,
        vis: &forward.vis,
    };
    let attributes = quote!(#[allow(dead_code)]);
    struct_of_gradients(definition, forward, &fields, &attributes, root)
}

/// The fields of the struct of gradients.
struct Fields<'a> {
    covers: &'a [usize],
    /// Whether they are tensors; else they are arrays.
    are_tensors: bool,
    are_optional: bool,
    vis: &'a Visibility,
}

fn struct_of_gradients(
    definition: &Definition,
    forward: &Forward,
    of: &Fields<'_>,
    attributes: &TokenStream,
    p: &TokenStream,
) -> TokenStream {
    let (inputs, vis, cfgs) = (forward.differentiable(), of.vis, &definition.cfgs);
    let field = |edge: &usize| {
        let (input, tensor) = inputs[*edge];
        let (element, dimension) = (
            element(&tensor.ty.content, p),
            dimension(&tensor.ty.content, p),
        );
        let mut ty = if of.are_tensors {
            quote!(#p::Tensor<#element, #dimension>)
        } else {
            quote!(#p::ndarray::Array<#element, #dimension>)
        };
        if tensor.kind == Kind::List {
            ty = quote!(::std::vec::Vec<#ty>);
        }
        if of.are_optional || tensor.kind == Kind::Optional {
            ty = option(&ty);
        }
        (field(&input.name), docs::gradient_field(&input.name), ty)
    };
    let fields = of.covers.iter().map(field).listed();
    let params = definition.generics.type_params().map(|param| &param.ident);
    // Others would be unused.
    let params = params.filter(|param| {
        let mut types = fields.iter().map(|(_, _, ty)| ty.clone());
        types.any(|ty| has_word(ty, *param))
    });
    let params = params.map(|param| {
        if forward.has_element(param) {
            quote!(#param: #p::Element)
        } else if forward.has_rank(param) {
            quote!(#param: #p::ndarray::Dimension)
        } else {
            param.to_token_stream()
        }
    });
    let params = params.listed();
    let generics = (!params.is_empty()).then(|| quote!(<#(#params),*>));
    let name = beside(definition, "Gradients");
    let fields = fields
        .iter()
        .map(|(name, docs, ty)| quote!(#docs #vis #name: #ty));
    quote! {
        #(#cfgs)*
        #attributes
        #vis struct #name #generics {
            #(#fields),*
        }
    }
}

/// Returns the name of the struct of saved values. The author can only mean it where a backward function asks for it;
/// elsewhere its name cannot be one of the author's.
pub(super) fn name(model: &FunctionModel) -> Ident {
    if is_asked_for(model) {
        beside(&model.definition, "Context")
    } else {
        local("__Context")
    }
}

pub(super) fn is_asked_for(model: &FunctionModel) -> bool {
    let asks = |backward: &Backward| backward.function.asks_for(Wants::Context);
    model.backwards.iter().any(asks)
}

/// Generates the struct of saved values, if there are any: beside the function where backward functions ask for it,
/// else in the `const _`.
pub(super) fn saved(model: &FunctionModel, p: &TokenStream) -> Option<TokenStream> {
    let askers = model.backwards.iter();
    let askers = askers.filter(|backward| backward.function.asks_for(Wants::Context));
    let (definition, forward) = (&model.definition, &model.forward);
    // Where no function asks for it, it only holds what is saved.
    let attributes = is_asked_for(model).then(|| {
        let (cfgs, docs) = (&definition.cfgs, docs::context(definition));
        quote!(#(#cfgs)* #docs #[derive(::core::fmt::Debug)])
    });
    let vis = askers.map(|asker| &asker.vis).max_by_key(|vis| reach(vis));
    let generics = bounds::completed(&definition.generics, forward, p);
    let holder = || {
        holder(
            &name(model),
            generics,
            forward,
            &model.saved,
            attributes.as_ref(),
            vis,
            p,
        )
    };
    (!model.saved.is_empty()).then(holder)
}

/// Generates the context of a function with mistakes, which leave open what is saved: with all tensors, and the values
/// that can be saved.
pub(super) fn fallback(definition: &Definition, forward: &Forward, p: &TokenStream) -> TokenStream {
    let mut saved: Vec<Saved> = Vec::new();
    for source in forward.sources() {
        let named = forward.source(source);
        let is_there = saved.iter().any(|earlier| earlier.name == *named.name);
        if !is_there && (named.tensor.is_some() || is_primitive(named.ty)) {
            saved.push(Saved {
                name: named.name.clone(),
                source,
                needed_for: Vec::new(),
            });
        }
    }
    let cfgs = &definition.cfgs;
    let attributes = quote!(#(#cfgs)* #[allow(dead_code)]);
    holder(
        &beside(definition, "Context"),
        // A bound that is missing in the block would be reported again where a function takes the struct.
        definition.generics.clone(),
        forward,
        &saved,
        Some(&attributes),
        Some(&forward.vis),
        p,
    )
}

/// Returns the reach of a visibility, as a number to compare.
fn reach(vis: &Visibility) -> u8 {
    match vis {
        Visibility::Public(_) => 3,
        Visibility::Restricted(within) if within.path.is_ident("crate") => 2,
        Visibility::Restricted(_) => 1,
        Visibility::Inherited => 0,
    }
}

/// Generates a struct with the parameters of the block.
fn holder(
    name: &Ident,
    mut generics: Generics,
    forward: &Forward,
    saved: &[Saved],
    attributes: Option<&TokenStream>,
    vis: Option<&Visibility>,
    p: &TokenStream,
) -> TokenStream {
    let fields = saved.iter().map(|saved| {
        let (name, ty) = (field(&saved.name), field_type(saved, forward, p));
        let is_known = attributes.is_some() && !saved.needed_for.is_empty();
        let docs = is_known.then(|| docs::context_field(saved, forward));
        quote!(#docs #vis #name: #ty)
    });
    if let Some(clause) = &mut generics.where_clause {
        // `Self` is another type there.
        let says_self = |one: &WherePredicate| has_word(one.to_token_stream(), "Self");
        let predicates = std::mem::take(&mut clause.predicates).into_iter();
        clause.predicates = predicates.filter(|one| !says_self(one)).collect();
    }
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let marker = marker(&generics).map(|(name, ty)| quote!(#name: #ty));
    quote! {
        #attributes
        #vis struct #name #impl_generics #where_clause {
            #(#fields,)*
            #marker
        }
    }
}

/// Returns the field that uses all parameters, as a struct has to, and its type.
pub(super) fn marker(generics: &Generics) -> Option<(Ident, TokenStream)> {
    let parameters: Vec<TokenStream> = generics
        .params
        .iter()
        .filter_map(|param| match param {
            GenericParam::Lifetime(param) => {
                let lifetime = &param.lifetime;
                Some(quote!(&#lifetime ()))
            }
            GenericParam::Type(param) => {
                let ident = &param.ident;
                Some(quote!(fn(*const #ident)))
            }
            GenericParam::Const(_) => None,
        })
        .listed();
    let name = local("__of");
    (!parameters.is_empty()).then(|| {
        (
            name,
            quote!(::core::marker::PhantomData<(#(#parameters,)*)>),
        )
    })
}

pub(super) fn field_type(saved: &Saved, forward: &Forward, p: &TokenStream) -> TokenStream {
    let named = forward.source(saved.source);
    let Some(ty) = named.tensor else {
        return option(&save::saved_as(saved.source, forward, p));
    };
    let tensor = tensor(&ty.content, named.ty, p);
    option(&if named.kind == Kind::List {
        quote!(::std::vec::Vec<#tensor>)
    } else {
        tensor
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn visibilities_are_ordered_by_how_far_they_reach() {
        let private: Visibility = parse_quote!();
        let growing = [
            private,
            parse_quote!(pub(super)),
            parse_quote!(pub(crate)),
            parse_quote!(pub),
        ];
        assert!(growing.is_sorted_by(|near, far| reach(near) < reach(far)));
    }
}
