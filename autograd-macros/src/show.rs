//! Shows tokens as text, the way that people type them.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;

/// Returns the tokens as people type them: `ArrayView2<f32>`, `&'a [usize]`.
///
/// The compiler's own rendering of a token stream differs between versions, and these texts are
/// compared and shown.
pub(crate) fn show(tokens: &impl ToTokens) -> String {
    let mut text = String::new();
    show_stream(tokens.to_token_stream(), &mut text);
    text
}

fn show_stream(tokens: TokenStream, text: &mut String) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::None => ("", ""),
                };
                // `&mut [T]`, `&'a [T]`: no type is ever indexed.
                if open == "[" && text.ends_with(is_word) {
                    text.push(' ');
                }
                text.push_str(open);
                show_stream(group.stream(), text);
                text.push_str(close);
            }
            TokenTree::Punct(punct) => match punct.as_char() {
                ',' | ';' => text.extend([punct.as_char(), ' ']),
                '-' | '+' | '=' if text.is_empty() || text.ends_with([' ', '(', '[']) => {
                    text.push(punct.as_char());
                }
                '-' | '+' | '=' => text.extend([' ', punct.as_char()]),
                '\'' if text.ends_with('+') => text.push_str(" '"),
                '>' if text.ends_with('-') => text.push_str("> "),
                other => text.push(other),
            },
            word => {
                // Two words in a row (`dyn Fn`, `'a f32`) and the bound after a `+` need a space.
                if text.ends_with(is_word) || text.ends_with(['+', '=']) {
                    text.push(' ');
                }
                text.push_str(&word.to_string());
            }
        }
    }
}

fn is_word(last: char) -> bool {
    last.is_alphanumeric() || last == '_'
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    #[test]
    fn signs_are_shown_as_typed() {
        let values: [syn::Expr; 3] = [
            parse_quote!(-1.0),
            parse_quote!([-1.0, -2.0]),
            parse_quote!(f(-x)),
        ];
        let shown = values.each_ref().map(show);
        assert_eq!(shown, ["-1.0", "[-1.0, -2.0]", "f(-x)"]);
    }

    #[test]
    fn types_are_shown_as_typed() {
        let types: [syn::Type; 5] = [
            parse_quote!(Option<ArrayView2<'a, f32>>),
            parse_quote!(&'a mut [usize]),
            parse_quote!(Box<dyn Fn(f64) -> f64 + Send + 'a>),
            parse_quote!([[f64; 3]; N]),
            parse_quote!(<T as pullback::Element>::Real),
        ];
        let shown = types.each_ref().map(show);
        let expected = [
            "Option<ArrayView2<'a, f32>>",
            "&'a mut [usize]",
            "Box<dyn Fn(f64) -> f64 + Send + 'a>",
            "[[f64; 3]; N]",
            "<T as pullback::Element>::Real",
        ];
        assert_eq!(shown, expected);
    }
}
