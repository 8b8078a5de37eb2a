//! Small pieces that all of the expansion is made of.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::visit_mut::{VisitMut, visit_type_mut};
use syn::{Ident, Lifetime, Type};

use crate::model::{Definition, TensorInput};
use crate::types::{Content, Form, Rank, TensorType};

/// The path to the runtime's door for generated code.
pub(super) fn runtime(definition: &Definition, default_crate: &str) -> TokenStream {
    let default = local(default_crate);
    let given = definition.runtime.as_ref();
    let root = given.map_or_else(|| quote!(::#default), ToTokens::to_token_stream);
    quote!(#root::__private)
}

/// The short name of that path within the `const _` of an expansion.
pub(super) fn short() -> TokenStream {
    local("__p").into_token_stream()
}

/// Hygiene of the macro, place of the author's: errors land on `tokens`, and lints know that nobody
/// typed the code.
pub(super) fn at(tokens: &impl ToTokens) -> Span {
    Span::mixed_site().located_at(tokens.span())
}

/// A local variable of generated code.
pub(super) fn local(name: impl std::fmt::Display) -> Ident {
    Ident::new(&name.to_string(), Span::mixed_site())
}

/// `LinearFunctionContext`, `LinearFunctionNeedsInputGrad`
pub(super) fn beside(definition: &Definition, suffix: &str) -> Ident {
    format_ident!("{}{suffix}", definition.ident, span = at(&definition.ident))
}

/// The author's name for a generated field.
pub(super) fn field(name: &Ident) -> Ident {
    let mut field = name.clone();
    field.set_span(at(name));
    field
}

/// The tensor type for something that the author wrote as `on`.
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

/// The element type.
pub(super) fn element(content: &Content, p: &TokenStream) -> TokenStream {
    match content {
        Content::Known { element, .. } => element.to_token_stream(),
        Content::Alias(alias) => {
            let alias = lasting(alias);
            quote_spanned!(at(&alias)=> <#alias as #p::TensorType>::Element)
        }
    }
}

/// The dimension type.
pub(super) fn dimension(content: &Content, p: &TokenStream) -> TokenStream {
    match content {
        Content::Known {
            rank: Rank::Fixed(rank),
            ..
        } => {
            let name = Ident::new(&format!("Ix{rank}"), Span::mixed_site());
            quote!(#p::ndarray::#name)
        }
        Content::Known {
            rank: Rank::Dyn, ..
        } => quote!(#p::ndarray::IxDyn),
        Content::Known {
            rank: Rank::Named(dimension),
            ..
        } => dimension.to_token_stream(),
        Content::Alias(alias) => {
            let alias = lasting(alias);
            quote_spanned!(at(&alias)=> <#alias as #p::TensorType>::Dim)
        }
    }
}

/// `f32, Ix2`: the arguments of the runtime's generic functions.
pub(super) fn element_and_dimension(ty: &TensorType, p: &TokenStream) -> TokenStream {
    let (element, dimension) = (element(&ty.content, p), dimension(&ty.content, p));
    quote!(#element, #dimension)
}

/// `Option<…>`, wherever the author's own `Option` may be.
pub(super) fn option(inner: &TokenStream) -> TokenStream {
    quote!(::core::option::Option<#inner>)
}

/// A number as people write it.
pub(super) fn number(index: usize) -> Literal {
    Literal::usize_unsuffixed(index)
}

/// A `bool` expression: whether any of some inputs is needed.
pub(super) fn any_of(edges: &[usize], is_needed: impl Fn(Literal) -> TokenStream) -> TokenStream {
    let needed = edges.iter().map(|edge| is_needed(number(*edge)));
    quote!(#(#needed)||*)
}

/// A look at an input of `apply`, and the ending of the runtime's functions for one of its kind.
pub(super) fn look(name: &Ident, tensor: &TensorInput) -> (&'static str, TokenStream) {
    match (is_consumed(&tensor.ty), tensor.optional) {
        _ if tensor.list => ("_list", quote!(#name)),
        (false, false) => ("", quote!(#name)),
        (true, false) => ("", quote!(&#name)),
        (false, true) => ("_optional", quote!(#name)),
        (true, true) => ("_optional", quote!(::core::option::Option::as_ref(&#name))),
    }
}

/// Whether `apply` takes the tensor by value.
pub(super) fn is_consumed(ty: &TensorType) -> bool {
    ty.form == Form::Owned
}

/// A type whose elided lifetimes may stand where none can be elided, as in a field.
fn lasting(ty: &Type) -> Type {
    struct Elided;
    impl VisitMut for Elided {
        fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
            let span = lifetime.span();
            *lifetime = Lifetime::new("'static", span);
        }
    }
    let mut ty = ty.clone();
    visit_type_mut(&mut Elided, &mut ty);
    ty
}
