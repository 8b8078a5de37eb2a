//! Writes types for generated code: by paths that start at the runtime's private module, whatever is imported.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{GenericParam, Generics, Ident, Type, TypeParam, TypePath};

use crate::lists::Lists as _;
use crate::types::{Content, Form, Kind, Passing, Rank, is_sized};

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

/// Returns the variable of a number of a formula whose derivatives are in reverse.
pub(crate) fn numbered(place: usize) -> Ident {
    local(format_args!("number_{place}"))
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
        } => rank_of_rows(dimension, p),
        Content::Alias(alias) => {
            let lasting = lasting(alias);
            quote_spanned!(at(alias)=> <#lasting as #p::TensorType>::Dim)
        }
    }
}

/// Writes the rank of `D::Larger` or `D::Larger::Larger` in types that the compiler reads.
pub(crate) fn rank_of_rows(dimension: &Type, p: &TokenStream) -> TokenStream {
    match of_rows(dimension) {
        Some((rank, others)) => others.iter().fold(
            quote!(#rank),
            |rank, other| quote!(<#rank as #p::ndarray::Dimension>::#other),
        ),
        None => dimension.to_token_stream(),
    }
}

/// Returns the parts of `D::Larger`, `D::Larger::Larger` or `D::Smaller`, which are ranks of tensors with rows or steps and
/// without, also where they are written with their trait.
pub(crate) fn of_rows(dimension: &Type) -> Option<(&Ident, Vec<&Ident>)> {
    let Type::Path(TypePath { qself, path, .. }) = dimension else {
        return None;
    };
    let is_other = |name: &&Ident| **name == "Larger" || **name == "Smaller";
    if let Some(of) = qself {
        let last = path.segments.last().map(|segment| &segment.ident);
        let last = last.filter(is_other)?;
        let Type::Path(inner) = &*of.ty else {
            return None;
        };
        let (rank, mut others) = match inner.path.get_ident() {
            Some(rank) if inner.qself.is_none() => (rank, Vec::new()),
            _ => of_rows(&of.ty)?,
        };
        others.push(last);
        return Some((rank, others));
    }
    let mut segments = path.segments.iter().map(|segment| &segment.ident);
    let rank = segments.next()?;
    let others: Vec<&Ident> = segments.listed();
    (!others.is_empty() && others.iter().all(is_other)).then_some((rank, others))
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

/// Writes the type of a parameter for one tensor, one that may be missing, or a list.
pub(crate) fn taken(kind: Kind, form: Form, content: &Content) -> TokenStream {
    let ty = array(form, content);
    match kind {
        Kind::Single => ty,
        Kind::Optional => option(&ty),
        Kind::List => quote!(&[#ty]),
    }
}

/// Writes several things as a tuple, and one as it is.
pub(crate) fn tuple(elements: impl IntoIterator<Item = TokenStream>) -> TokenStream {
    let elements = elements.into_iter().listed();
    match elements.as_slice() {
        [single] => single.clone(),
        several => quote!((#(#several),*)),
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
    tokens.into_iter().map(place_one).tokens()
}

/// Returns a type whose lifetimes are valid where none can be elided, as in a field.
pub(crate) fn lasting(ty: &Type) -> TokenStream {
    replaced(ty.to_token_stream(), &|word, before| {
        (before == Some('\'')).then(|| Ident::new("static", word.span()).into_token_stream())
    })
}

/// Returns a type with the parameters of a definition replaced by types that they may be; `None` if it names one whose
/// types are not known.
pub(crate) fn concrete(
    ty: &Type,
    generics: &Generics,
    stand_in: &dyn Fn(&TypeParam) -> Option<TokenStream>,
) -> Option<TokenStream> {
    let replacement = |word: &Ident| {
        generics.params.iter().find_map(|param| match param {
            GenericParam::Type(param) if param.ident == *word => Some(stand_in(param)),
            GenericParam::Const(param) if param.ident == *word => Some(Some(quote!(1))),
            _ => None,
        })
    };
    let mut is_known = true;
    for_each_word(ty.to_token_stream(), &mut |word| {
        is_known &= word != "Self" && word != "for" && word != "impl";
        is_known &= replacement(word).is_none_or(|known| known.is_some());
    });
    is_known.then(|| replaced(lasting(ty), &|word, _| replacement(word).flatten()))
}

/// Generates a constant at a type that does not compile if the runtime's `Probe` of the type, as it is given, has the
/// constant `of`.
pub(crate) fn probe(
    ty: &Type,
    concrete: &TokenStream,
    (of, message): (&str, &str),
    p: &TokenStream,
) -> TokenStream {
    let (span, of) = (at(ty), local(of));
    quote_spanned! {span=>
        const _: () = {
            #[allow(unused_imports)]
            use #p::HoldsNone as _;
            ::core::assert!(!<#p::Probe<#concrete>>::#of, #message);
        };
    }
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

/// Returns `mul_constant` as a type, `MulConstant`, by a name that none of its parameters has.
pub(crate) fn camel_case(name: &Ident, generics: &Generics) -> Ident {
    let text = name.unraw().to_string();
    let mut camel = String::new();
    for word in text.split('_').filter(|word| !word.is_empty()) {
        let mut letters = word.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        // Digits of two words stay apart, and none begins a name.
        let is_digit = |letter: Option<char>| letter.is_none_or(|letter| letter.is_ascii_digit());
        if is_digit(camel.chars().last()) && is_digit(word.chars().next()) {
            camel.push('_');
        }
        camel.extend(first.chain(letters));
    }
    let is_free = |ident: &Ident| {
        let mut types = generics.type_params().map(|param| &param.ident);
        let mut constants = generics.const_params().map(|param| &param.ident);
        !types.any(|taken| taken == ident) && !constants.any(|taken| taken == ident)
    };
    // `_self`, `fn f<F>()`, and letters whose capitals no name may have.
    let mut ident = [camel.clone(), format!("{camel}_"), text]
        .iter()
        .filter_map(|candidate| syn::parse_str::<Ident>(candidate).ok())
        .find(is_free)
        .unwrap_or_else(|| name.clone());
    ident.set_span(name.span());
    ident
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

pub(crate) fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(found) if found == word)
}

pub(crate) fn is_mark(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(mark) if mark.as_char() == sign)
}

/// Returns a token that is a group between such delimiters.
pub(crate) fn group(token: &TokenTree, delimiter: Delimiter) -> Option<&Group> {
    match token {
        TokenTree::Group(group) if group.delimiter() == delimiter => Some(group),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    #[test]
    fn types_are_named_after_functions() {
        let names = [
            ("linear", "Linear"),
            ("mul_constant", "MulConstant"),
            ("r#type", "Type"),
            ("_hidden", "Hidden"),
            ("conv2d", "Conv2d"),
            ("layer_norm_2", "LayerNorm2"),
            ("conv_2_3_d", "Conv2_3D"),
            ("_2d", "_2d"),
            ("__", "__"),
            ("_self", "Self_"),
            ("Already", "Already"),
            ("σ_grad", "ΣGrad"),
            ("t", "T_"),
            ("n", "N_"),
        ];
        let generics = parse_quote!(<T, const N: usize>);
        for (function, expected) in names {
            let function: Ident = syn::parse_str(function).unwrap();
            assert_eq!(camel_case(&function, &generics).to_string(), expected);
        }
    }
}
