//! Makes the closures of a formula part of its loop.
//!
//! A loop is vector code only if all of its body is in it, and the compiler leaves a closure that is called more than
//! once a function of its own if it is large, as it is where numbers carry derivatives. `#[inline(always)]` is allowed
//! before an argument; a closure that is bound to a variable becomes one, of `identity`.

use proc_macro2::{Delimiter, Group, Ident, Spacing, TokenStream, TokenTree};
use quote::quote_spanned;

use crate::lists::Lists as _;
use crate::spell::{at, is_mark, is_word};

/// Words after which parentheses are not those of a call.
const KEYWORDS: [&str; 12] = [
    "as", "break", "else", "if", "in", "let", "match", "move", "mut", "ref", "return", "while",
];

/// Returns the body of a formula with its closures marked.
pub(super) fn inlined(body: Group) -> Group {
    let mut inlined = Group::new(body.delimiter(), of_statements(body.stream()));
    inlined.set_span(body.span());
    inlined
}

/// Marks the closures of the statements, or of whatever tokens these are.
fn of_statements(tokens: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.into_iter().listed();
    let mut written = TokenStream::new();
    let mut place = 0;
    while place < tokens.len() {
        let token = &tokens[place];
        if let Some(start) = bound_closure(&tokens[place..]) {
            let start = place + start;
            let is_end = |token: &TokenTree| is_mark(token, ';');
            let length = tokens[start..].iter().position(is_end);
            let end = length.map_or(tokens.len(), |length| start + length);
            written.extend(tokens[place..start].iter().cloned());
            let closure = within(&tokens[start..end]);
            written.extend(quote_spanned! {at(&tokens[start])=>
                ::core::convert::identity(#[inline(always)] #closure)
            });
            place = end;
            continue;
        }
        let before = place.checked_sub(1).map(|before| &tokens[before]);
        written.extend([group(token, before)]);
        place += 1;
    }
    written
}

/// Returns the place of the closure that a statement binds to a variable: `let cross = |a, b| …;`.
fn bound_closure(tokens: &[TokenTree]) -> Option<usize> {
    if !is_word(tokens.first()?, "let") {
        return None;
    }
    let mut place = 1;
    loop {
        match tokens.get(place)? {
            TokenTree::Punct(mark) if mark.as_char() == '=' && mark.spacing() == Spacing::Alone => {
                break;
            }
            token if is_mark(token, ';') => return None,
            _ => place += 1,
        }
    }
    begins_closure(&tokens[place + 1..]).then_some(place + 1)
}

/// Returns the tokens with the closures in their groups marked.
fn within(tokens: &[TokenTree]) -> TokenStream {
    let before = std::iter::once(None).chain(tokens.iter().map(Some));
    let pairs = tokens.iter().zip(before);
    pairs.map(|(token, before)| group(token, before)).tokens()
}

/// Returns a token; of a group, with the closures in it marked. `before` is the token before it.
fn group(token: &TokenTree, before: Option<&TokenTree>) -> TokenTree {
    let TokenTree::Group(group) = token else {
        return token.clone();
    };
    let is_call = match before {
        Some(TokenTree::Ident(name)) => !is_keyword(name),
        // `sum::<T>(…)`
        Some(token) => is_mark(token, '>'),
        None => false,
    };
    let inner = match group.delimiter() {
        // The arguments of a macro mean what it makes of them.
        _ if before.is_some_and(|token| is_mark(token, '!')) => group.stream(),
        Delimiter::Parenthesis if is_call => of_arguments(group.stream()),
        _ => of_statements(group.stream()),
    };
    let mut marked = Group::new(group.delimiter(), inner);
    marked.set_span(group.span());
    marked.into()
}

/// Marks the arguments of a call that are closures, and the closures within arguments.
fn of_arguments(tokens: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.into_iter().listed();
    let mut written = TokenStream::new();
    for (place, token) in tokens.iter().enumerate() {
        let before = place.checked_sub(1).map(|before| &tokens[before]);
        let is_first = before.is_none_or(|token| is_mark(token, ','));
        if is_first && begins_closure(&tokens[place..]) {
            written.extend(quote_spanned!(at(token)=> #[inline(always)]));
        }
        written.extend([group(token, before)]);
    }
    written
}

/// Returns whether an expression that begins here is a closure.
pub(super) fn begins_closure(tokens: &[TokenTree]) -> bool {
    match tokens {
        [first, second, ..] if is_word(first, "move") => is_mark(second, '|'),
        [first, ..] => is_mark(first, '|'),
        [] => false,
    }
}

pub(crate) fn is_keyword(word: &Ident) -> bool {
    KEYWORDS.iter().any(|keyword| word == keyword)
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    /// Returns the tokens without spaces.
    fn shown(tokens: &TokenStream) -> String {
        tokens.to_string().split_whitespace().collect()
    }

    #[test]
    fn closures_are_marked_where_that_is_allowed() {
        let cases = [
            (
                quote!(let f = |a: [T; 2], b| a[0] | b; f(x, y)),
                quote!(let f = ::core::convert::identity(#[inline(always)] |a: [T; 2], b| a[0] | b); f(x, y)),
            ),
            (
                quote!(row.map(|x| x.exp()).iter().fold(zero, move |a, b| a + b)),
                quote!(
                    row.map(
                        #[inline(always)]
                        |x| x.exp()
                    )
                    .iter()
                    .fold(
                        zero,
                        #[inline(always)]
                        move |a, b| a + b
                    )
                ),
            ),
            (
                quote!(let y: [T; 2] = std::array::from_fn::<_, 2, _>(|k| { let g = || x[k]; g() }); y),
                quote! {
                    let y: [T; 2] = std::array::from_fn::<_, 2, _>(
                        #[inline(always)] |k| { let g = ::core::convert::identity(#[inline(always)] || x[k]); g() }
                    );
                    y
                },
            ),
            (quote!(return (|x| x)(y)), quote!(return (|x| x)(y))),
            (
                quote!(match n {
                    0 | 1 => x,
                    _ => y,
                }),
                quote!(match n {
                    0 | 1 => x,
                    _ => y,
                }),
            ),
            (
                quote!(assert!(f(|x| x)); let y = a | b; y),
                quote!(assert!(f(|x| x)); let y = a | b; y),
            ),
        ];
        for (written, expected) in cases {
            assert_eq!(shown(&of_statements(written)), shown(&expected));
        }
    }
}
