//! `math!`: a formula for documentation, from its LaTeX to Markdown.
//!
//! With the feature `math`, `mathml` makes an element of it that browsers set; without, it stays a block of
//! code, and nothing more is compiled. Either way a program's documentation has the same paragraphs.

#[cfg(any(feature = "math", test))]
mod mathml;
#[cfg(any(feature = "math", test))]
mod tidy;

use proc_macro2::TokenStream;
use quote::quote;
use syn::LitStr;
use syn::parse::{Parse, ParseStream, Parser};

/// The literals, one line or more each.
struct Formula(Vec<LitStr>);

impl Parse for Formula {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let mut literals = Vec::new();
        while !input.is_empty() {
            let literal = input
                .parse()
                .map_err(|error| syn::Error::new(error.span(), USE))?;
            literals.push(literal);
        }
        if literals.is_empty() {
            return Err(syn::Error::new(input.span(), USE));
        }
        Ok(Self(literals))
    }
}

const USE: &str = "`math!` takes a formula of LaTeX in a string\n= help: write `math!(r\"\\frac{1}{1 + e^{-x}}\")`";

/// Expands `math!(…)` to a string of Markdown, with MathML in it if this is built with the feature.
pub(crate) fn expand(input: TokenStream) -> TokenStream {
    #[cfg(feature = "math")]
    let write = element;
    #[cfg(not(feature = "math"))]
    let write = |source: &str| Ok(code(source));
    expand_with(input, write)
}

fn expand_with(input: TokenStream, write: impl Fn(&str) -> Result<String, String>) -> TokenStream {
    let Formula(literals) = match Formula::parse.parse2(input) {
        Ok(formula) => formula,
        Err(error) => return error.to_compile_error(),
    };
    let lines: Vec<String> = literals.iter().map(LitStr::value).collect();
    let source = without_indent(&lines.join("\n"));
    let written = if source.is_empty() {
        Err("this formula is empty".to_owned())
    } else {
        write(&source)
    };
    match written {
        Ok(markdown) => quote!(#markdown),
        Err(message) => {
            let on = quote!(#(#literals)*);
            syn::Error::new_spanned(on, message).to_compile_error()
        }
    }
}

/// The formula as an element, which scrolls where it is too wide.
///
/// `<div>` begins a block that Markdown leaves alone up to the next empty line.
#[cfg(any(feature = "math", test))]
fn element(source: &str) -> Result<String, String> {
    let math = mathml::of(source)?;
    Ok(paragraph(&format!(
        "<div style=\"overflow:auto hidden;margin:1em 0;padding:.2em 0\">{math}</div>"
    )))
}

/// The formula as it was written, in a block of code that nothing in it can end.
#[cfg(any(not(feature = "math"), test))]
fn code(source: &str) -> String {
    let runs = source.split(|letter| letter != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    paragraph(&format!("{fence}text\n{source}\n{fence}"))
}

/// The block with empty lines around it, whatever stands next to it. Of those that an attribute begins and ends
/// with, rustdoc takes off one before and two behind.
fn paragraph(block: &str) -> String {
    format!("\n\n{block}\n\n\n")
}

/// The lines without empty ones around them, and without the spaces that all of them begin with.
fn without_indent(source: &str) -> String {
    let is_empty = |line: &&str| line.trim().is_empty();
    let lines: Vec<&str> = source.lines().map(str::trim_end).collect();
    let indents = lines.iter().filter(|line| !is_empty(line));
    let indents = indents.map(|line| line.len() - line.trim_start().len());
    // White space may be of several bytes: no line is cut within a letter.
    let indent = indents.min().unwrap_or(0);
    let cut = lines
        .iter()
        .map(|line| line.get(indent..).unwrap_or(line.trim_start()));
    let cut: Vec<&str> = cut.skip_while(is_empty).collect();
    cut.join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests;
