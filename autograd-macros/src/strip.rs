//! Removes the attributes that only we understand from an item, token for token.
//!
//! This works on tokens and not on syntax, so that an item that could not be read keeps its meaning
//! too: left in place, our attributes would be unknown to the compiler and hide the real mistake.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};

use crate::parse::{is_helper, is_parameter_helper};

/// Removes our attributes from the members of a block, and from their parameters or those of a function.
pub(crate) fn helpers(item: TokenStream) -> TokenStream {
    let item = map_groups(item, Delimiter::Parenthesis, |parameters| {
        without_attributes(parameters, is_parameter_helper)
    });
    map_groups(item, Delimiter::Brace, |members| {
        let members = without_attributes(members, is_helper);
        map_groups(members, Delimiter::Parenthesis, |parameters| {
            without_attributes(parameters, is_parameter_helper)
        })
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
    tokens.into_iter().map(map).collect()
}

fn without_attributes(tokens: TokenStream, ours: fn(&Ident) -> bool) -> TokenStream {
    let mut kept: Vec<TokenTree> = Vec::new();
    for token in tokens {
        let follows_hash =
            matches!(kept.last(), Some(TokenTree::Punct(punct)) if punct.as_char() == '#');
        if follows_hash && attribute_name(&token).is_some_and(|name| ours(&name)) {
            kept.pop();
        } else {
            kept.push(token);
        }
    }
    kept.into_iter().collect()
}

/// Returns `forward` of the group `[forward(…)]`.
fn attribute_name(token: &TokenTree) -> Option<Ident> {
    let TokenTree::Group(group) = token else {
        return None;
    };
    if group.delimiter() != Delimiter::Bracket {
        return None;
    }
    let mut tokens = group.stream().into_iter();
    match (tokens.next(), tokens.next()) {
        (Some(TokenTree::Ident(name)), None | Some(TokenTree::Group(_))) => Some(name),
        (Some(TokenTree::Ident(name)), Some(TokenTree::Punct(equals)))
            if equals.as_char() == '=' =>
        {
            Some(name)
        }
        _ => None,
    }
}
