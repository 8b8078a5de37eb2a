//! `math!` turns a formula in LaTeX into Markdown for documentation.
//!
//! `literal` reads the strings, and `markdown` writes the paragraph. With the feature `mathml`, `mathml` makes an
//! element of the formula that browsers typeset, and `tidy` removes everything that `written` does not list. Without
//! the feature, the formula stays a block of code, and nothing more is compiled. The documentation has the same
//! paragraphs in both cases.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod literal;
mod markdown;
#[cfg(any(feature = "mathml", test))]
mod mathml;
#[cfg(test)]
mod tests;
#[cfg(any(feature = "mathml", test))]
mod tidy;
mod written;

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

const USE: &str = "`math!` takes a formula in LaTeX as a string\n= help: write `math!(r\"\\frac{1}{1 + e^{-x}}\")`";

/// Turns a formula in LaTeX into Markdown for documentation.
///
/// ```
/// # use autograd_math as pullback;
/// /// y = 1 / (1 + e⁻ˣ)
/// #[doc = pullback::math!(r"\sigma(x) = \frac{1}{1 + e^{-x}}")]
/// /// It is between 0 and 1.
/// pub fn sigmoid(x: f64) -> f64 {
///     1.0 / (1.0 + (-x).exp())
/// }
/// # assert_eq!(sigmoid(0.0), 0.5);
/// ```
///
/// Write `math!` in `#[doc = …]`, or in `#![doc = …]` within a module: the formula is a paragraph by itself. The first
/// sentence should be readable without the formula, because editors and lists show the sentence alone.
///
/// With the feature `math` of `pullback`, the paragraph is MathML, which browsers typeset without a script or a
/// network, on the pages of rustdoc and of the catalogue. Without the feature it is a block of code with the unchanged
/// formula. The feature takes compile time; for documentation, use `cargo doc --features pullback/math`, and for
/// docs.rs
///
/// ```toml
/// [package.metadata.docs.rs]
/// features = ["pullback/math"]
/// ```
///
/// Several strings are several lines: `math!(r"a \\" r"b")`. A formula may use the mathematics of LaTeX, with
/// `\operatorname`, `\begin{cases}`, `aligned` and matrices, but no colors, lines in tables or new commands. With the
/// feature, a mistake in a formula is a compile error.
#[proc_macro]
pub fn math(formula: TokenStream) -> TokenStream {
    let mut lines = Vec::new();
    let [mut first, mut last] = [Span::call_site(); 2];
    for (index, token) in tokens(formula).into_iter().enumerate() {
        last = token.span();
        let Some(line) = literal::text(&token.to_string()) else {
            return error(USE, [last; 2]);
        };
        if index == 0 {
            first = last;
        }
        lines.push(line);
    }
    let written = if lines.is_empty() {
        Err(USE.to_owned())
    } else {
        markdown::paragraph(&lines.join("\n"), markdown::FORM)
    };
    match written {
        Ok(markdown) => TokenTree::from(Literal::string(&markdown)).into(),
        Err(message) => error(&message, [first, last]),
    }
}

/// Returns a part of the HTML that [`math!`] writes, as a slice of strings: the names of `elements` or `attributes`,
/// the `styles`, or the `frame` around an element. The catalogue's page accepts these and nothing else.
#[doc(hidden)]
#[proc_macro]
pub fn written(kind: TokenStream) -> TokenStream {
    let list = match kind.to_string().as_str() {
        "elements" => &written::ELEMENTS[..],
        "attributes" => &written::ATTRIBUTES,
        "styles" => &written::STYLES,
        "frame" => &written::FRAME,
        _ => {
            return error(
                "`written!` takes `elements`, `attributes`, `styles` or `frame`",
                [Span::call_site(); 2],
            );
        }
    };
    // The `Debug` of a slice of strings is Rust.
    format!("&{list:?}").parse().unwrap_or_default()
}

/// Returns the tokens, without the invisible groups that `macro_rules!` puts around those that it passes on.
fn tokens(stream: TokenStream) -> Vec<TokenTree> {
    let within = |token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => tokens(group.stream()),
        token => vec![token],
    };
    stream.into_iter().flat_map(within).collect()
}

/// Returns `::core::compile_error!(…)`, from the first of two places to the last.
fn error(message: &str, [first, last]: [Span; 2]) -> TokenStream {
    let mut message = TokenTree::from(Literal::string(message));
    message.set_span(last);
    let mut arguments = TokenTree::from(Group::new(Delimiter::Parenthesis, message.into()));
    arguments.set_span(last);
    let path = [
        Punct::new(':', Spacing::Joint).into(),
        Punct::new(':', Spacing::Alone).into(),
        Ident::new("core", first).into(),
        Punct::new(':', Spacing::Joint).into(),
        Punct::new(':', Spacing::Alone).into(),
        Ident::new("compile_error", first).into(),
        Punct::new('!', Spacing::Alone).into(),
    ];
    let placed = |mut token: TokenTree| {
        token.set_span(first);
        token
    };
    path.into_iter().map(placed).chain([arguments]).collect()
}
