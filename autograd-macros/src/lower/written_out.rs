//! Finds the formulas that the compiler may not make vector code of.
//!
//! The compiler leaves a function that is not small a function of its own, a long loop a loop, and what the standard
//! library does with closures a call for each: a formula then takes ten times as long. Where numbers carry derivatives,
//! little is small: a gradient takes ten to eighty times as long as the formula. Such formulas are recorded and replayed,
//! their values if that is faster, which takes the same time however they are written. Those that are *written out*, as
//! operators and methods of numbers, are loops of the compiler: half of that time.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};

use super::closures::is_keyword;
use crate::lists::Lists as _;
use crate::model::{Elementwise, Style};
use crate::spell::is_mark;
use crate::uses::rebinds;

/// The functions of numbers, by the count of their arguments: loops have them in one piece.
#[rustfmt::skip]
pub(super) const METHODS: [&[&str]; 3] = [
    &[
        "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh", "detach", "erf", "exp",
        "exp_m1", "floor", "gelu", "gelu_tanh", "ln", "ln_1p", "normal_cdf", "normal_pdf", "recip", "relu", "round",
        "round_ties_even", "rsqrt", "sigmoid", "signum", "silu", "sin", "sinh", "softplus", "sqrt", "square", "tan", "tanh",
    ],
    &["atan2", "elu", "hypot", "leaky_relu", "max", "min", "powf", "powi"],
    &["clamp", "mul_add"],
];

/// The methods of numbers that have a `bool`.
pub(super) const QUESTIONS: [&str; 1] = ["is_nan"];

/// Returns whether numbers have a method of this name.
pub(crate) fn is_method(word: &Ident) -> bool {
    let mut methods = METHODS.iter().copied().chain([&QUESTIONS[..]]).flatten();
    methods.any(|method| word == method)
}

/// Returns how the body of a formula is written: it is written out if it calls no other functions than closures of its
/// own, and has no loops. What is called on values alone is not differentiated.
pub(super) fn style(body: &TokenStream, elementwise: &Elementwise) -> Style {
    let is_written = |may_loop| {
        let search = Search {
            body,
            elementwise,
            may_loop,
        };
        search.are_written_out(body.clone())
    };
    if is_written(false) {
        Style::WrittenOut
    } else if !elementwise.has_rows() && is_written(true) {
        Style::Loops
    } else {
        Style::Calls
    }
}

struct Search<'a> {
    body: &'a TokenStream,
    elementwise: &'a Elementwise,
    may_loop: bool,
}

impl Search<'_> {
    fn are_written_out(&self, tokens: TokenStream) -> bool {
        let tokens: Vec<TokenTree> = tokens.into_iter().listed();
        let mut places = 0..tokens.len();
        places.all(|place| match &tokens[place] {
            // An attribute calls nothing.
            TokenTree::Group(_) if place > 0 && is_mark(&tokens[place - 1], '#') => true,
            TokenTree::Group(inner) => self.are_written_out(inner.stream()),
            TokenTree::Ident(word) if self.is_apart(word) => false,
            TokenTree::Ident(word) => match &tokens[place + 1..] {
                [TokenTree::Group(arguments), ..]
                    if arguments.delimiter() == Delimiter::Parenthesis =>
                {
                    self.is_in_the_loop(word, &tokens[..place], arguments)
                }
                // `sum::<T>(…)`
                [first, second, third, ..] => {
                    !(is_mark(first, ':') && is_mark(second, ':') && is_mark(third, '<'))
                }
                _ => true,
            },
            _ => true,
        })
    }

    /// Returns whether a word makes a loop that there may not be, or a function.
    fn is_apart(&self, word: &Ident) -> bool {
        let is_loop = ["for", "while", "loop"].iter().any(|key| word == key);
        word == "fn" || is_loop && !self.may_loop
    }

    /// Returns whether what a word calls, after these tokens, is part of the loop.
    fn is_in_the_loop(&self, word: &Ident, before: &[TokenTree], arguments: &Group) -> bool {
        let text = word.to_string();
        if text.starts_with(char::is_uppercase) || is_keyword(word) {
            return true;
        }
        match before {
            [.., of, dot] if is_mark(dot, '.') && !is_mark(of, '.') => {
                is_method(word) || word == "len" || self.is_value(of)
            }
            // `T::from(…)`, `f64::sqrt(…)`, but not `crate::T::from(…)`.
            [outer @ .., TokenTree::Ident(of), first, second]
                if is_mark(first, ':') && is_mark(second, ':') =>
            {
                let is_whole = !outer.last().is_some_and(|token| is_mark(token, ':'));
                let is_number = *of == self.elementwise.number
                    || ["f64", "f32", "Real"].iter().any(|name| of == name);
                is_whole && is_number || self.are_values(arguments.stream())
            }
            _ => {
                let is_own = rebinds(self.body, &text);
                is_own || self.are_values(arguments.stream())
            }
        }
    }

    fn are_values(&self, tokens: TokenStream) -> bool {
        tokens.into_iter().all(|token| match &token {
            TokenTree::Group(inner) => self.are_values(inner.stream()),
            TokenTree::Ident(_) => self.is_value(&token),
            TokenTree::Literal(_) => true,
            TokenTree::Punct(mark) => mark.as_char() != '|',
        })
    }

    fn is_value(&self, token: &TokenTree) -> bool {
        let TokenTree::Ident(word) = token else {
            return false;
        };
        let is_known = self.elementwise.values.iter().any(|(name, _)| name == word);
        is_known && !rebinds(self.body, &word.to_string())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use quote::quote;
    use syn::parse_quote;

    use super::*;
    use crate::constants::Constants;
    use crate::model::Row;

    /// Returns a formula of one number or row, and of the value `width`.
    pub(in crate::lower) fn sample(row: Option<Row>) -> Elementwise {
        Elementwise {
            formula: parse_quote!(fn f<T: Real>(x: T, width: f64) -> T),
            number: parse_quote!(T),
            inputs: vec![parse_quote!(x)],
            rows: vec![row],
            differentiable: vec![true],
            values: vec![(parse_quote!(width), parse_quote!(f64))],
            entries: Vec::new(),
            outputs: vec![None],
            returned: Vec::new(),
            pairs: None,
            order: 2,
            replaced: Vec::new(),
            scan: None,
            constants: Constants::default(),
            functions: Vec::new(),
            style: Style::WrittenOut,
            has_angles: false,
            reversed: None,
        }
    }

    /// Returns how the body is written, in a formula of numbers and in one of rows, with the value `width`.
    fn of_both(body: &TokenStream) -> [Style; 2] {
        [None, Some(Row::Slice)].map(|row| style(body, &sample(row)))
    }

    #[test]
    fn what_the_compiler_makes_one_loop_of() {
        for body in [
            quote!((x * 2.0).exp() + T::from(0.5) * f64::sqrt(width)),
            quote!(let square = |k: usize| x[k] * x[k]; (square(0) + square(1)).sqrt()),
            quote!(if (x > 0.0) { (x, y) } else { Some(x).unwrap }),
            quote!(match (x > y) {
                true => Kind::Wide(x),
                _ => x,
            }),
            quote!(x * width.sign() + T::from(heights(width, 2.0 * width)[1] + kernels::width())),
            quote!(let f = move |x: T| x; return (f(x))),
        ] {
            assert_eq!(of_both(&body), [Style::WrittenOut; 2], "{body}");
        }
    }

    #[test]
    fn what_it_leaves_as_calls_and_loops() {
        for body in [
            quote!(cdf(x)),
            quote!(cdf(width, x)),
            quote!(let width = x * width; width.turned()),
            quote!(if x > 0.0 { -cdf(x) } else { x }),
            quote!(math::cdf(x)),
            quote!(crate::T::cdf(x)),
            quote!(::math::cdf(x)),
            quote!(Gelu::formula(x)),
            quote!(std::array::from_fn(|k| x[k])),
            quote!(cdf::<T>(x)),
            quote!(x.map(|x| x.exp())),
            quote!(x.into_iter().sum::<T>()),
            quote!(q.turned(v)[0]),
            quote!(
                fn cdf<R: Real>(x: R) -> R {
                    x
                },
                cdf(x)
            ),
        ] {
            assert_eq!(of_both(&body), [Style::Calls; 2], "{body}");
        }
        for body in [
            quote!(for k in 0..3 { sum += x[k]; } sum),
            quote!(while x > 1.0 { x /= 2.0; } x),
        ] {
            assert_eq!(of_both(&body), [Style::Loops, Style::Calls], "{body}");
        }
    }

    #[test]
    fn all_functions_of_numbers_are_known() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../autograd-kernels/src/element/real.rs"
        );
        let source = std::fs::read_to_string(path).unwrap();
        let all = source.split("pub trait Real").nth(1).unwrap();
        let all = all.split("\n}").next().unwrap();
        let methods = all.lines().filter_map(|line| line.strip_prefix("    fn "));
        let methods: Vec<(&str, usize)> = methods
            .map(|line| {
                let (name, parameters) = line.split_once('(').unwrap();
                let name = name.split('<').next().unwrap();
                (name, parameters.matches(": ").count())
            })
            .listed();
        assert!(methods.len() > 40, "{methods:?}");
        for (name, arguments) in methods {
            let is_known = METHODS[arguments].contains(&name) || QUESTIONS.contains(&name);
            assert!(is_known, "{name}");
        }
    }
}
