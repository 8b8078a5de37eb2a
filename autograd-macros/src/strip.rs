//! Removes the attributes that only we understand from an item, token for token.
//!
//! This works on tokens and not on syntax, so that an item that could not be read keeps its meaning
//! too: left in place, our attributes would be unknown to the compiler and hide the real mistake.

use std::ops::Range;

use proc_macro2::{Delimiter, Group, Ident, Spacing, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote};
use syn::{Meta, Path};

use crate::lists::Lists as _;
use crate::parse::{Part, is_argument, is_of_a_block, is_ours_on_parameter};
use crate::spell::for_each_word;

/// Removes our attributes from the parameters of a function.
pub(crate) fn parameters(item: TokenStream) -> TokenStream {
    map_groups(item, Delimiter::Parenthesis, |parameters| {
        without_attributes(parameters, is_ours_on_parameter)
    })
}

/// Removes our attributes from the members of a block, and from their parameters or those of a function.
pub(crate) fn helpers(item: TokenStream) -> TokenStream {
    map_groups(parameters(item), Delimiter::Brace, |members| {
        parameters(without_attributes(members, |name| {
            Part::meant(name).is_some()
        }))
    })
}

/// Removes other `#[custom_function(…)]` above an item, and its arguments that are attributes, and returns the path of
/// each with the arguments that it has.
pub(crate) fn repeated(item: TokenStream) -> (TokenStream, Vec<(Path, TokenStream)>) {
    let (mut rest, mut repeated) = (Vec::new(), Vec::new());
    for token in item {
        let is_above = rest.iter().all(is_of_an_attribute);
        if let TokenTree::Group(group) = &token
            && group.delimiter() == Delimiter::Bracket
            && is_above
            && let Some(other) = other_arguments(&group.stream())
        {
            rest.pop();
            repeated.push(other);
        } else {
            rest.push(token);
        }
    }
    (rest.into_iter().tokens(), repeated)
}

fn other_arguments(attribute: &TokenStream) -> Option<(Path, TokenStream)> {
    let meta: Meta = syn::parse2(attribute.clone()).ok()?;
    let path = meta.path().clone();
    let arguments = match (path.get_ident(), meta) {
        // What the gradient is, it does not say.
        (Some(name), _) if name == "grad" || is_of_a_block(name) => TokenStream::new(),
        (Some(name), _) if is_argument(name) => attribute.clone(),
        (_, meta) if path.segments.last()?.ident == "custom_function" => match meta {
            Meta::List(list) => list.tokens,
            Meta::Path(_) | Meta::NameValue(_) => TokenStream::new(),
        },
        _ => return None,
    };
    Some((path, arguments))
}

fn is_of_an_attribute(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Bracket,
        TokenTree::Punct(punct) => punct.as_char() == '#',
        TokenTree::Ident(_) | TokenTree::Literal(_) => false,
    }
}

/// Empties the bodies of some functions of a block, by name and body, which then cannot fail to compile.
pub(crate) fn without_bodies(
    item: TokenStream,
    is_emptied: impl Fn(&Ident, &TokenStream) -> bool,
    body: &TokenStream,
) -> TokenStream {
    map_groups(item, Delimiter::Brace, |members| {
        let (mut after_fn, mut function) = (false, None);
        let member = |token| match token {
            TokenTree::Ident(word) => {
                if after_fn {
                    function = Some(word.clone());
                }
                after_fn = word == "fn";
                TokenTree::Ident(word)
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let of = function.take();
                if !of.is_some_and(|name| is_emptied(&name, &group.stream())) {
                    return TokenTree::Group(group);
                }
                let mut emptied = Group::new(Delimiter::Brace, body.clone());
                emptied.set_span(group.span());
                TokenTree::Group(emptied)
            }
            token => token,
        };
        members.into_iter().map(member).tokens()
    })
}

/// Allows that a function of a block does not use some of its parameters, which others ask for.
pub(crate) fn with_unused(item: TokenStream, function: &Ident, names: &[&Ident]) -> TokenStream {
    map_groups(item, Delimiter::Brace, |members| {
        let mut members: Vec<TokenTree> = members.into_iter().listed();
        let is_word = |token: &TokenTree, word: &Ident| matches!(token, TokenTree::Ident(other) if other == word);
        let keyword = Ident::new("fn", Span::call_site());
        let mut pairs = members.windows(2);
        let named =
            pairs.position(|pair| is_word(&pair[0], &keyword) && is_word(&pair[1], function));
        let group = |delimiter| {
            let is_one = move |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == delimiter);
            let mut after = members.iter().enumerate().skip(named? + 2);
            after.find(|(_, token)| is_one(token))
        };
        let (parameters, body) = (group(Delimiter::Parenthesis), group(Delimiter::Brace));
        if let (Some((place, TokenTree::Group(parameters))), Some((_, body))) = (parameters, body) {
            let names = unused(names, &body.to_token_stream());
            let mut allowed =
                Group::new(Delimiter::Parenthesis, allowed(parameters.stream(), &names));
            allowed.set_span(parameters.span());
            members[place] = TokenTree::Group(allowed);
        }
        members.into_iter().tokens()
    })
}

/// Returns the names that a body does not mention.
pub(crate) fn unused<'a>(names: &[&'a Ident], body: &TokenStream) -> Vec<&'a Ident> {
    let mut unused = names.to_vec();
    for_each_word(body.clone(), &mut |word| {
        unused.retain(|name| *name != word);
    });
    unused
}

/// Puts `#[allow(unused_variables)]` before the parameters of these names.
fn allowed(parameters: TokenStream, names: &[&Ident]) -> TokenStream {
    let mut allowed = TokenStream::new();
    let mut pattern: Vec<TokenTree> = Vec::new();
    let mut tokens = parameters.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let is_punct = |token: Option<&TokenTree>, sign| {
            matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign
                && punct.spacing() == Spacing::Alone)
        };
        let is_named = matches!(&token, TokenTree::Ident(name) if names.contains(&name));
        if is_named && is_punct(tokens.peek(), ':') && pattern.iter().all(is_before_a_name) {
            allowed.extend(quote!(#[allow(unused_variables)]));
        }
        let ends = is_punct(Some(&token), ',');
        pattern.push(token);
        if ends {
            allowed.extend(pattern.drain(..));
        }
    }
    allowed.extend(pattern);
    allowed
}

/// Returns whether a token may be in a pattern before the name that it binds: `mut x`, `&x`, `ref x`, an attribute.
fn is_before_a_name(token: &TokenTree) -> bool {
    match token {
        TokenTree::Ident(word) => word == "mut" || word == "ref",
        TokenTree::Punct(sign) => ['&', '#'].contains(&sign.as_char()),
        TokenTree::Group(group) => group.delimiter() == Delimiter::Bracket,
        TokenTree::Literal(_) => false,
    }
}

/// Empties the body of a function.
pub(crate) fn without_body(function: TokenStream, body: &TokenStream) -> TokenStream {
    map_groups(function, Delimiter::Brace, |_| body.clone())
}

/// Removes members of a block, by the places of their tokens.
pub(crate) fn without_members(item: TokenStream, places: &[Range<usize>]) -> TokenStream {
    map_groups(item, Delimiter::Brace, |members| {
        let members = members.into_iter().enumerate();
        let is_kept =
            |(place, _): &(usize, TokenTree)| !places.iter().any(|places| places.contains(place));
        members.filter(is_kept).map(|(_, token)| token).tokens()
    })
}

/// Rewrites the direct groups of one kind.
fn map_groups(
    tokens: TokenStream,
    delimiter: Delimiter,
    rewrite: impl Fn(TokenStream) -> TokenStream,
) -> TokenStream {
    let map = |token| match token {
        TokenTree::Group(group) if group.delimiter() == delimiter => {
            let mut rewritten = Group::new(delimiter, rewrite(group.stream()));
            rewritten.set_span(group.span());
            TokenTree::Group(rewritten)
        }
        token => token,
    };
    tokens.into_iter().map(map).tokens()
}

fn without_attributes(tokens: TokenStream, is_ours: fn(&Ident) -> bool) -> TokenStream {
    let mut kept: Vec<TokenTree> = Vec::new();
    for token in tokens {
        let follows_hash =
            matches!(kept.last(), Some(TokenTree::Punct(punct)) if punct.as_char() == '#');
        let is_attribute = matches!(&token, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket
            && names_ours(group.stream(), is_ours));
        if follows_hash && is_attribute {
            kept.pop();
        } else {
            kept.push(token);
        }
    }
    kept.into_iter().tokens()
}

/// Returns whether the attribute is ours: `forward(…)`, `path::forward`, `cfg_attr(…, forward)`.
fn names_ours(attribute: TokenStream, is_ours: fn(&Ident) -> bool) -> bool {
    let mut tokens = attribute.into_iter().peekable();
    let (mut name, mut segments) = (None, 0);
    while let Some(TokenTree::Ident(word)) = tokens.peek() {
        name = Some(word.clone());
        segments += 1;
        tokens.next();
        while matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == ':') {
            tokens.next();
        }
    }
    let Some(name) = name else {
        return false;
    };
    match tokens.next() {
        Some(TokenTree::Group(group)) if name == "cfg_attr" => {
            let mut inner = group.stream().into_iter();
            inner.any(|token| matches!(token, TokenTree::Ident(word) if is_ours(&word)))
        }
        None | Some(TokenTree::Group(_)) => is_ours(&name) && (segments == 1 || !is_near(&name)),
        Some(TokenTree::Punct(equals)) => {
            equals.as_char() == '=' && segments == 1 && is_ours(&name)
        }
        Some(_) => false,
    }
}

/// Returns whether a name is only nearly ours: by a path, it may be something else.
fn is_near(name: &Ident) -> bool {
    Part::meant(name).is_none_or(|ours| name != ours.name())
}
