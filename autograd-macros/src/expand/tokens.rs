//! Generates small pieces that the whole expansion uses.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Ident, Type};

use crate::model::{Definition, Input, TensorInput};
pub(super) use crate::spell::{at, dimension, element, local, option, private, tuple};
use crate::types::{self, Content, Form, Kind, Rank, TensorType, option_of};

/// Returns the path of the runtime's module for generated code.
pub(super) fn runtime(definition: &Definition, default_crate: &str) -> TokenStream {
    let default = local(default_crate);
    let given = definition.runtime.as_ref();
    let root = given.map_or_else(|| quote!(::#default), ToTokens::to_token_stream);
    quote!(#root::__private)
}

/// Returns `LinearFunctionContext`, `LinearFunctionGradients` or `LinearFunctionNeedsInputGrad`.
pub(super) fn beside(definition: &Definition, suffix: &str) -> Ident {
    format_ident!("{}{suffix}", definition.ident, span = at(&definition.ident))
}

/// Returns the written name for a generated field.
pub(super) fn field(name: &Ident) -> Ident {
    let mut field = name.clone();
    field.set_span(at(name));
    field
}

/// Returns the tensor type for something that is written as `on`.
pub(super) fn tensor(content: &Content, on: &Type, p: &TokenStream) -> TokenStream {
    let span = at(on);
    if let Content::Known { element, rank } = content {
        match rank {
            Rank::Fixed(rank) => {
                let name = Ident::new(&format!("Tensor{rank}"), span);
                return quote_spanned!(span=> #p::#name<#element>);
            }
            Rank::Dyn => return quote_spanned!(span=> #p::TensorD<#element>),
            Rank::Named(_) => {}
        }
    }
    let (element, dimension) = (element(content, p), dimension(content, p));
    quote_spanned!(span=> #p::Tensor<#element, #dimension>)
}

/// Returns `f32, Ix2`, the arguments of the runtime's generic functions.
pub(super) fn element_and_dimension(ty: &TensorType, p: &TokenStream) -> TokenStream {
    let (element, dimension) = (element(&ty.content, p), dimension(&ty.content, p));
    quote!(#element, #dimension)
}

/// Returns a number as people write it.
pub(super) fn number(index: usize) -> Literal {
    Literal::usize_unsuffixed(index)
}

/// Returns a `bool` expression: whether any of some inputs is needed.
pub(super) fn any_of(edges: &[usize], is_needed: impl Fn(Literal) -> TokenStream) -> TokenStream {
    let needed = edges.iter().map(|edge| is_needed(number(*edge)));
    quote!(#(#needed)||*)
}

/// Returns an input of `apply` by reference, as the runtime's `Argument`: `&Tensor`, `Option<&Tensor>` or `&[&Tensor]`.
pub(super) fn reference(input: &Input, tensor: &TensorInput) -> TokenStream {
    let name = &input.name;
    match (is_consumed(&tensor.ty), tensor.kind) {
        (true, Kind::Optional) => quote!(::core::option::Option::as_ref(&#name)),
        (true, Kind::Single | Kind::List) => quote!(&#name),
        // `apply` has gathered references to its tensors.
        (false, Kind::List) => quote!(&#name[..]),
        (false, _) if input.is_in_place() => quote!(&*#name),
        (false, _) => quote!(#name),
    }
}

/// Returns tensors that are given by reference, in the form that is asked for.
pub(super) fn in_form(
    tensors: &TokenStream,
    form: Form,
    kind: Kind,
    span: Span,
    p: &TokenStream,
) -> TokenStream {
    match form {
        Form::View | Form::ViewMut => {
            let slice = (kind == Kind::List).then(|| quote!(&));
            quote_spanned!(span=> #slice #p::View::view(#tensors))
        }
        Form::Owned if kind == Kind::Optional => {
            quote_spanned!(span=> ::core::option::Option::map(#tensors, #p::Tensor::to_array))
        }
        Form::Owned => quote_spanned!(span=> #p::Tensor::to_array(#tensors)),
        Form::TensorRef | Form::Tensor => tensors.clone(),
    }
}

/// Returns an array as the owned type `ty`, which may be an alias: of a view, that is a mistake, which is reported there.
pub(super) fn owned(array: TokenStream, ty: &Type, p: &TokenStream) -> TokenStream {
    let inner = option_of(ty).unwrap_or(ty);
    if types::array(inner).is_some() {
        return array;
    }
    let span = at(ty);
    let from_array = quote_spanned!(span=> <#inner as #p::FromArray>::from_array);
    if option_of(ty).is_some() {
        quote_spanned!(span=> ::core::option::Option::map(#array, #from_array))
    } else {
        quote_spanned!(span=> #from_array(#array))
    }
}

/// Returns whether `apply` takes the tensor by value.
pub(super) fn is_consumed(ty: &TensorType) -> bool {
    ty.form == Form::Owned
}
