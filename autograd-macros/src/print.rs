//! Printing expansions, to look at one as it is compiled: `PULLBACK_EXPAND=LinearFunction cargo build`.
//!
//! A formatter would be a dependency of every user's build, so lines are broken here, after braces,
//! semicolons and the commas between fields. That is enough to read; it is not rustfmt.

use std::env;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use syn::Ident;
use syn::ext::IdentExt as _;

use crate::model::Definition;

/// Prints the expansion of a definition to stderr if `PULLBACK_EXPAND` names its type or its function.
pub(crate) fn if_wanted(definition: &Definition, expansion: &TokenStream) {
    let function = definition.short.as_ref().map(|short| &short.ident);
    let names = [Some(&definition.ident), function];
    let names: Vec<&Ident> = names.into_iter().flatten().collect();
    if_any_is_wanted(&names, &definition.name, expansion);
}

/// Prints the expansion of what has these names, and is shown as `name`, if `PULLBACK_EXPAND` has one of
/// them.
pub(crate) fn if_any_is_wanted(names: &[&Ident], name: &str, expansion: &TokenStream) {
    if let Ok(wanted) = env::var("PULLBACK_EXPAND")
        && are_named(names, &wanted)
    {
        eprintln!("// the expansion of `{name}`\n\n{}", format(expansion));
    }
}

/// Whether `wanted`, one name or several with commas between them, has one of these.
fn are_named(names: &[&Ident], wanted: &str) -> bool {
    let mut names = names.iter().map(|name| name.unraw());
    names.any(|name| wanted.split(',').any(|wanted| name == wanted.trim()))
}

/// The tokens in lines, indented by their braces.
fn format(tokens: &TokenStream) -> String {
    let mut lines = Lines::default();
    lines.stream(tokens.clone(), true);
    lines.end();
    lines.text
}

#[derive(Default)]
struct Lines {
    text: String,
    depth: usize,
    line: String,
    /// The last piece of the line, and whether a sign there is one before a value: `-x`, `&x`.
    last: String,
    is_sign: bool,
}

impl Lines {
    fn stream(&mut self, tokens: TokenStream, in_braces: bool) {
        let mut tokens = tokens.into_iter().peekable();
        // Commas between generic arguments end no line.
        let mut angles = 0_usize;
        while let Some(token) = tokens.next() {
            let mut piece = match token {
                TokenTree::Group(group) => {
                    let is_attribute = matches!(self.last.as_str(), "#" | "#!");
                    self.group(group.delimiter(), group.stream());
                    let next = tokens.peek().map(ToString::to_string);
                    let goes_on =
                        next.is_some_and(|next| [",", ";", ".", "?", "else"].contains(&&*next));
                    let is_block = group.delimiter() == Delimiter::Brace;
                    if is_attribute || (is_block && !goes_on) {
                        self.end();
                    }
                    continue;
                }
                TokenTree::Punct(punct) if punct.spacing() == Spacing::Alone => punct.to_string(),
                TokenTree::Punct(punct) => {
                    let mut piece = punct.to_string();
                    while let Some(TokenTree::Punct(next)) = tokens.peek()
                        && is_operator(&format!("{piece}{next}"))
                    {
                        piece.push(next.as_char());
                        tokens.next();
                    }
                    piece
                }
                word => word.to_string(),
            };
            if piece == "'" {
                piece.extend(tokens.next().map(|name| name.to_string()));
            }
            if piece == ">" && angles == 0 {
                // A comparison.
                self.line.push(' ');
            }
            self.put(&piece);
            match piece.as_str() {
                "<" => angles += 1,
                ">" => angles = angles.saturating_sub(1),
                ";" => angles = 0,
                _ => {}
            }
            if in_braces && (piece == ";" || (piece == "," && angles == 0)) {
                self.end();
            }
        }
    }

    fn group(&mut self, delimiter: Delimiter, stream: TokenStream) {
        let (open, close) = match delimiter {
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::None => return self.stream(stream, false),
            Delimiter::Brace => ("{", "}"),
        };
        self.put(open);
        if delimiter == Delimiter::Brace && !stream.is_empty() {
            self.end();
            self.depth += 1;
            self.stream(stream, true);
            self.end();
            self.depth -= 1;
        } else {
            self.stream(stream, false);
        }
        self.put(close);
    }

    fn put(&mut self, piece: &str) {
        let follows_value = is_value(&self.last);
        if self.is_spaced(piece, follows_value) {
            self.line.push(' ');
        }
        self.is_sign = matches!(piece, "&" | "*" | "-" | "!") && !follows_value;
        self.line.push_str(piece);
        piece.clone_into(&mut self.last);
    }

    /// Whether a space stands between the last piece and the next.
    fn is_spaced(&self, next: &str, follows_value: bool) -> bool {
        let last = self.last.as_str();
        let is_tight = |piece| matches!(piece, "::" | "." | ".." | "#" | "#!" | "<" | "(" | "[");
        if last.is_empty() || self.is_sign || (is_tight(last) && next != "{") {
            return false;
        }
        match next {
            "," | ";" | ":" | "?" | ")" | "]" | ">" | "." | ".." => false,
            "<" | "(" | "[" | "::" | "!" => !follows_value && last != "!",
            "}" => last != "{",
            _ => true,
        }
    }

    fn end(&mut self) {
        if !self.line.is_empty() {
            let indentation = "    ".repeat(self.depth);
            self.text.extend([&indentation, self.line.as_str(), "\n"]);
        }
        self.line.clear();
        self.last.clear();
    }
}

fn is_operator(piece: &str) -> bool {
    const OPERATORS: [&str; 16] = [
        "::", "->", "=>", "==", "!=", "<=", ">=", "&&", "||", "+=", "-=", "*=", "/=", "..", "..=",
        "#!",
    ];
    OPERATORS.contains(&piece)
}

/// Whether a piece ends a value or a type, so that what follows is no sign before one.
fn is_value(piece: &str) -> bool {
    const KEYWORDS: [&str; 9] = [
        "return", "in", "if", "match", "mut", "let", "else", "as", "use",
    ];
    let last = piece.chars().last();
    last.is_some_and(|last| last.is_alphanumeric() || "_)]}>\"'".contains(last))
        && !KEYWORDS.contains(&piece)
        && !matches!(piece, "->" | "=>")
        && !piece.starts_with('\'')
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;
    use quote::quote;

    use super::*;
    use crate::{parse, stages, validate};

    fn expanded() -> (Definition, TokenStream) {
        let args = quote!(grad(tensor) = &grad_output * *constant);
        let item = quote! {
            /// y = c·x
            pub fn mul_constant<'a>(tensor: ArrayView2<'a, f64>, constant: f64) -> Array2<f64> {
                if constant == -1.0 { -&tensor } else { &tensor * constant }
            }
        };
        let expanded = stages::custom_function(args.clone(), item.clone(), "pullback");
        let model = validate::function(parse::arguments(args), parse::item(item));
        let Ok(model) = model else {
            panic!("{expanded}");
        };
        (model.definition, expanded)
    }

    #[test]
    fn expansions_are_printed_in_lines() {
        let (_, expanded) = expanded();
        let text = format(&expanded);
        expect_file!["./expand/snapshots/printed.txt"].assert_eq(&text);
        // Nothing is lost, and nothing runs into something else.
        let again: TokenStream = text.parse().expect("tokens");
        let parse = |tokens| prettyplease::unparse(&syn::parse2(tokens).expect("a file"));
        assert_eq!(parse(again), parse(expanded));
    }

    #[test]
    fn a_definition_is_named_by_its_type_or_its_function() {
        let (definition, _) = expanded();
        let function = &definition.short.as_ref().expect("a function").ident;
        let names = [&definition.ident, function];
        for wanted in ["MulConstant", "mul_constant", "Linear, MulConstant"] {
            assert!(are_named(&names, wanted), "{wanted}");
        }
        assert!(!are_named(&names, "Mul"));
    }
}
