//! Writes types for generated code: by paths that start at the runtime's private module, whatever
//! is imported.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Ident, Type};

use crate::types::{Content, Form, Passing, Rank, is_sized};

/// Returns the name of the private module within the `const _` of an expansion.
pub(crate) fn private() -> TokenStream {
    local("__p").into_token_stream()
}

/// Returns a span with the hygiene of the macro at the place of `tokens`: errors are reported there, and
/// lints know that the code is generated.
pub(crate) fn at(tokens: &impl ToTokens) -> Span {
    Span::mixed_site().located_at(tokens.span())
}

/// Returns a local variable of generated code.
pub(crate) fn local(name: impl std::fmt::Display) -> Ident {
    Ident::new(&name.to_string(), Span::mixed_site())
}

/// Writes the element type.
pub(crate) fn element(content: &Content, p: &TokenStream) -> TokenStream {
    match content {
        Content::Known { element, .. } => element.to_token_stream(),
        Content::Alias(alias) => {
            let lasting = lasting(alias);
            quote_spanned!(at(alias)=> <#lasting as #p::TensorType>::Element)
        }
    }
}

/// Writes the dimension type.
pub(crate) fn dimension(content: &Content, p: &TokenStream) -> TokenStream {
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
            let lasting = lasting(alias);
            quote_spanned!(at(alias)=> <#lasting as #p::TensorType>::Dim)
        }
    }
}

/// Writes `Option<…>`, whatever `Option` is in scope.
pub(crate) fn option(inner: &TokenStream) -> TokenStream {
    quote!(::core::option::Option<#inner>)
}

/// Writes the owned type of a value. Where the type is certainly sized, that is the type itself: it asks nothing of it.
pub(crate) fn owned(passing: &Passing) -> TokenStream {
    let owned = |ty: &Type| {
        let span = at(ty);
        if is_sized(ty) {
            ty.to_token_stream()
        } else {
            quote_spanned!(span=> <#ty as ::std::borrow::ToOwned>::Owned)
        }
    };
    match passing {
        Passing::Owned(ty) => ty.to_token_stream(),
        Passing::Reference(ty) => owned(ty),
        Passing::OptionalReference(ty) => option(&owned(ty)),
    }
}

/// Writes the type of a tensor in one of the forms in which a backward function takes or returns it.
pub(crate) fn array(form: Form, content: &Content) -> TokenStream {
    let p = &private();
    let (element, dimension) = (element(content, p), dimension(content, p));
    match form {
        Form::View => quote!(#p::ndarray::ArrayView<'_, #element, #dimension>),
        Form::ViewMut => quote!(#p::ndarray::ArrayViewMut<'_, #element, #dimension>),
        Form::Owned => quote!(#p::ndarray::Array<#element, #dimension>),
        Form::TensorRef => quote!(&#p::Tensor<#element, #dimension>),
        Form::Tensor => quote!(#p::Tensor<#element, #dimension>),
    }
}

/// Returns the same tokens, all at one place, where the compiler is to report what does not fit them. Names
/// keep their meaning.
pub(crate) fn placed(tokens: TokenStream, place: Span) -> TokenStream {
    let place_one = |mut token: TokenTree| {
        if let TokenTree::Group(group) = &token {
            let inner = placed(group.stream(), place);
            token = Group::new(group.delimiter(), inner).into();
        }
        token.set_span(token.span().located_at(place));
        token
    };
    tokens.into_iter().map(place_one).collect()
}

/// Returns a type whose lifetimes are valid where none can be elided, as in a field.
pub(crate) fn lasting(ty: &Type) -> TokenStream {
    replaced(ty.to_token_stream(), &|word, before| {
        (before == Some('\'')).then(|| Ident::new("static", word.span()).into_token_stream())
    })
}

/// Returns the tokens with some words replaced; `replace` gets each word with the sign before it.
pub(crate) fn replaced(
    tokens: TokenStream,
    replace: &dyn Fn(&Ident, Option<char>) -> Option<TokenStream>,
) -> TokenStream {
    let mut before = None;
    let mut replaced_tokens = TokenStream::new();
    for token in tokens {
        let sign = before.take();
        replaced_tokens.extend(match token {
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), replaced(group.stream(), replace));
                inner.set_span(group.span());
                inner.into_token_stream()
            }
            TokenTree::Ident(word) => {
                replace(&word, sign).unwrap_or_else(|| word.into_token_stream())
            }
            TokenTree::Punct(punct) => {
                before = Some(punct.as_char());
                punct.into_token_stream()
            }
            TokenTree::Literal(literal) => literal.into_token_stream(),
        });
    }
    replaced_tokens
}

/// Returns whether a word is among the tokens.
pub(crate) fn has_word<W: ?Sized>(tokens: TokenStream, word: &W) -> bool
where
    Ident: PartialEq<W>,
{
    let mut has_it = false;
    for_each_word(tokens, &mut |other| has_it |= other == word);
    has_it
}

/// Calls `look` with each word among the tokens.
pub(crate) fn for_each_word(tokens: TokenStream, look: &mut dyn FnMut(&Ident)) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => for_each_word(group.stream(), look),
            TokenTree::Ident(word) => look(&word),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}
