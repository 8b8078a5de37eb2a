//! Refuses a function that is defined twice in its module, as after copying: the compiler would report each generated
//! item, up to 17 of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::diagnostics::Diagnostics;

/// The items that this process has expanded. A name that occurs again may be that of an item in another module of the
/// file, so the tokens of the file are searched then.
static EXPANDED: Mutex<BTreeSet<(PathBuf, String)>> = Mutex::new(BTreeSet::new());

/// Returns an error for an item of `file` that comes after another item of its name in its module.
pub(crate) fn error(item: &TokenStream, file: &Path) -> Option<TokenStream> {
    let tokens: Vec<_> = item.clone().into_iter().collect();
    let item = Named::read(&tokens)?;
    let is_first = EXPANDED
        .lock()
        .ok()?
        .insert((file.to_owned(), text(item.name)));
    if is_first {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    // A byte order mark is not a token.
    if !item.is_twice(text.trim_start_matches('\u{feff}').parse().ok()?) {
        return None;
    }
    let mut diagnostics = Diagnostics::default();
    diagnostics.error_with_help(
        &item.name.iter().cloned().collect::<TokenStream>(),
        "this module has another `#[custom_function]` of this name",
        "each function is one item, under a name of its own",
    );
    diagnostics.finish().err()
}

/// An item without its attributes.
struct Named<'a> {
    /// `impl Linear`, or `fn linear`.
    name: &'a [TokenTree],
    whole: &'a [TokenTree],
}

impl<'a> Named<'a> {
    /// Reads the first function or block among the tokens.
    fn read(tokens: &'a [TokenTree]) -> Option<Self> {
        let is_start = |token| is_word(token, "fn") || is_word(token, "impl");
        let item = &tokens[tokens.iter().position(is_start)?..];
        let body = item
            .iter()
            .position(|token| group(token, Delimiter::Brace).is_some())?;
        let name = if is_word(&item[0], "fn") { 2 } else { body };
        Some(Self {
            name: item.get(..name)?,
            whole: &item[..=body],
        })
    }

    /// Returns whether the item comes after another of its name, in any module of a file. An item with a `cfg` may be
    /// compiled out, and does not count.
    fn is_twice(&self, tokens: TokenStream) -> bool {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut attributes = Vec::new();
        let (mut is_another, mut is_found) = (false, false);
        for (at, token) in tokens.iter().enumerate() {
            let is_attribute = at > 0 && is_mark(&tokens[at - 1]);
            if let Some(attribute) = group(token, Delimiter::Bracket).filter(|_| is_attribute) {
                attributes.extend(attribute.stream());
            } else if !is_mark(token) {
                let has = |word| attributes.iter().any(|token| is_word(token, word));
                if has("custom_function")
                    && !has("cfg")
                    && let Some(other) = Named::read(&tokens[at..])
                    && text(other.name) == text(self.name)
                {
                    is_found |= is_another && text(other.whole) == text(self.whole);
                    is_another = true;
                }
                attributes.clear();
            }
        }
        let mut inside = tokens.iter().filter_map(|token| match token {
            TokenTree::Group(group) => Some(group.stream()),
            _ => None,
        });
        is_found || inside.any(|tokens| self.is_twice(tokens))
    }
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}

fn is_mark(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(mark) if mark.as_char() == '#')
}

fn group(token: &TokenTree, delimiter: Delimiter) -> Option<&Group> {
    match token {
        TokenTree::Group(group) if group.delimiter() == delimiter => Some(group),
        _ => None,
    }
}

/// Returns the text of tokens, the same for tokens of a file and of the compiler: spaces between any two, and comments
/// as attributes.
fn text(tokens: &[TokenTree]) -> String {
    let word = |token: &TokenTree| match token {
        TokenTree::Group(group) => {
            let inside: Vec<_> = group.stream().into_iter().collect();
            format!("{:?} {} end", group.delimiter(), text(&inside))
        }
        token => token.to_string(),
    };
    let words: Vec<_> = tokens.iter().map(word).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    #[test]
    fn only_neighbours_are_twice() {
        let square = quote! {
            /// Returns x².
            #[pullback::custom_function(gradcheck(x = [3]))]
            #[inline]
            pub fn square(x: ArrayView1<f64>) -> Array1<f64> { &x * &x }
        };
        let cube = quote!(
            #[custom_function]
            impl<T: Element> Cube<T> {
                fn forward() {}
            }
        );
        let other = quote!(
            #[custom_function]
            impl<T: Element> Cube<T> {
                fn forward(x: u8) {}
            }
        );
        let twice = |file: &TokenStream| {
            [&square, &cube].map(|item| {
                let tokens: Vec<_> = item.clone().into_iter().collect();
                Named::read(&tokens).unwrap().is_twice(file.clone())
            })
        };
        assert_eq!(twice(&quote!(#square #cube)), [false, false]);
        assert_eq!(twice(&quote!(#square #cube #cube)), [false, true]);
        assert_eq!(twice(&quote!(#other #cube)), [false, true]);
        assert_eq!(twice(&quote!(#cube #other)), [false, false]);
        assert_eq!(
            twice(&quote!(mod a { #other #other } #cube)),
            [false, false]
        );
        assert_eq!(
            twice(&quote!(mod a { #square #cube #square })),
            [true, false]
        );
        assert_eq!(
            twice(&quote!(mod a { #square } mod b { #square })),
            [false, false]
        );
        assert_eq!(twice(&quote!(fn a() { #square } #square)), [false, false]);
        assert_eq!(
            twice(&quote!(#[cfg(a)] #square #[cfg(not(a))] #square)),
            [false, false]
        );
        assert_eq!(
            twice(&quote!(#square fn square() {} impl Cube {})),
            [false, false]
        );
    }
}
