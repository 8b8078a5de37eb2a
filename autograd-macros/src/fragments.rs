//! What `macro_rules!` passes on of its arguments: each fragment is in a group without delimiters.
//!
//! Such a group hides what it has, a body or a number, from whoever reads tokens. It keeps an expression together, but only
//! until a procedural macro returns it: the compiler then computes `scale * $sum` as `scale * x + y`. So it is opened, or
//! becomes one in parentheses.

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};
use syn::Expr;

use crate::lists::Lists as _;
use crate::spell::{is_mark, is_word};

/// What tokens are a part of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// An item: a function, or a block of them.
    Item,
    /// The members of a block.
    Members,
    /// What is in parentheses: arguments, or an expression.
    Arguments,
    /// The arguments of a macro, which puts them where it likes.
    OfMacro,
    Other,
}

/// Returns the arguments of an attribute without such groups, where nothing needs them.
pub(crate) fn opened(args: TokenStream) -> TokenStream {
    opened_in(args, Part::Other)
}

/// Returns an item without such groups, where nothing needs them.
pub(crate) fn opened_item(item: TokenStream) -> TokenStream {
    opened_in(item, Part::Item)
}

fn opened_in(tokens: TokenStream, part: Part) -> TokenStream {
    let mut is_block = false;
    let mut opened: Vec<TokenTree> = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        is_block |= is_word(&token, "impl");
        let TokenTree::Group(group) = token else {
            opened.push(token);
            continue;
        };
        let is_attribute = opened.last().is_some_and(|before| is_mark(before, '#'));
        let within = match (group.delimiter(), part) {
            (Delimiter::None, part) => part,
            (Delimiter::Brace, Part::Item) if is_block => Part::Members,
            _ if part == Part::OfMacro => part,
            _ if opened.last().is_some_and(|before| is_mark(before, '!')) => Part::OfMacro,
            (Delimiter::Parenthesis, _) => Part::Arguments,
            _ => Part::Other,
        };
        let inner = opened_in(group.stream(), within);
        let delimiter = match group.delimiter() {
            Delimiter::None if stands_alone(&opened, tokens.peek(), part) => {
                opened.extend(inner);
                continue;
            }
            Delimiter::None if falls_apart(&inner) => Delimiter::Parenthesis,
            Delimiter::None if matches!(part, Part::Item | Part::Members) || is_whole(&inner) => {
                opened.extend(inner);
                continue;
            }
            delimiter => delimiter,
        };
        let inner = if is_attribute { alone(inner) } else { inner };
        let mut own = Group::new(delimiter, inner);
        own.set_span(group.span());
        opened.push(TokenTree::Group(own));
    }
    opened.into_iter().tokens()
}

/// Returns whether no operator can take apart what is between these tokens and the next: an argument, or the value of
/// `let f = …;`. Either is looked at for a closure.
fn stands_alone(before: &[TokenTree], next: Option<&TokenTree>, part: Part) -> bool {
    let is_argument = part == Part::Arguments
        && before.last().is_none_or(|token| is_mark(token, ','))
        && next.is_none_or(|token| is_mark(token, ','));
    let is_value = match before {
        [.., TokenTree::Punct(first), equal] if is_mark(equal, '=') => {
            first.spacing() == Spacing::Alone
        }
        [.., equal] => is_mark(equal, '='),
        [] => false,
    };
    let is_value = is_value && next.is_some_and(|next| is_mark(next, ';'));
    is_argument || is_value && part != Part::OfMacro
}

/// Returns whether tokens are an expression that operators beside it would take apart.
fn falls_apart(tokens: &TokenStream) -> bool {
    let expression = syn::parse2(tokens.clone());
    expression.is_ok_and(|expression: Expr| {
        matches!(
            expression,
            Expr::Binary(_) | Expr::Cast(_) | Expr::Closure(_) | Expr::Range(_) | Expr::Unary(_)
        )
    })
}

/// Returns what a group without delimiters has, if there is nothing else.
fn alone(tokens: TokenStream) -> TokenStream {
    let mut trees = tokens.clone().into_iter();
    match (trees.next(), trees.next()) {
        (Some(TokenTree::Group(group)), None) if group.delimiter() == Delimiter::None => {
            group.stream()
        }
        _ => tokens,
    }
}

/// Returns whether tokens stay together by themselves: a literal, a path, a block.
fn is_whole(tokens: &TokenStream) -> bool {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().listed();
    let is_of_path = |tree: &TokenTree| matches!(tree, TokenTree::Ident(_)) || is_mark(tree, ':');
    match &trees[..] {
        [TokenTree::Literal(_)] => true,
        [TokenTree::Group(group)] => group.delimiter() == Delimiter::Brace,
        trees => trees.iter().all(is_of_path),
    }
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    /// Returns what a macro passes on as a fragment.
    fn fragment(tokens: TokenStream) -> TokenTree {
        Group::new(Delimiter::None, tokens).into()
    }

    #[test]
    fn fragments_keep_together_without_parentheses_where_nothing_takes_them_apart() {
        let closure = fragment(quote!(|x| x + 1));
        let sum = fragment(quote!(x + y));
        let cases = [
            (
                quote!(let f = #closure; f(x)),
                quote!(let f = |x| x + 1; f(x)),
            ),
            (quote!(let s: T = #sum; s), quote!(let s: T = x + y; s)),
            (quote!(s = #sum * 2;), quote!(s = (x + y) * 2;)),
            (
                quote!(let same = x == #sum; let less = x <= #closure;),
                quote!(let same = x == (x + y); let less = x <= (|x| x + 1);),
            ),
            (quote!(s -= #sum;), quote!(s -= (x + y);)),
            (
                quote!(f(#closure, #sum, 2 * #sum, [#sum])),
                quote!(f(|x| x + 1, x + y, 2 * (x + y), [(x + y)])),
            ),
            (quote!((#closure)(x)), quote!((|x| x + 1)(x))),
            (
                quote!(times!(#sum); times! { f(#sum); let s = #sum; }),
                quote!(times!((x + y)); times! { f((x + y)); let s = (x + y); }),
            ),
        ];
        for (passed_on, expected) in cases {
            assert_eq!(opened(passed_on).to_string(), expected.to_string());
        }
    }
}
