//! Finds the formulas of angles that are NaN wherever one of their angles is.
//!
//! The sine of a large angle takes three times as long as that of a near one, and a loop over vectors computes both for
//! each element. Loops therefore take the angles of such a formula for near first, where the sine of a large one is NaN,
//! and compute again what became NaN. Nothing may hide it: no comparison, and no function that is a number for NaN, or
//! whose derivative is. A function by another name, `let f = clipped;`, or an operator of another type may be one.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

use super::closures::{begins_closure, is_keyword};
use super::written_out::{METHODS, QUESTIONS, style};
use crate::lists::Lists as _;
use crate::model::{Elementwise, Style};
use crate::spell::{for_each_word, group, has_word, is_mark, is_word};

/// The functions of angles.
const OF_ANGLES: [&str; 3] = ["sin", "cos", "tan"];

/// The functions of numbers that are NaN for NaN, and whose derivatives are, or do not depend on the number at all.
#[rustfmt::skip]
const KEEP_NAN: [&str; 36] = [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "erf", "exp", "exp_m1", "gelu", "gelu_tanh",
    "ln", "ln_1p", "mul_add", "normal_cdf", "normal_pdf", "powi", "recip", "rsqrt", "sigmoid", "silu", "sin", "sinh",
    "softplus", "sqrt", "square", "tan", "tanh", "abs", "floor", "ceil", "round", "round_ties_even",
];

/// Words by which a formula can choose.
const CHOICES: [&str; 13] = [
    "if",
    "match",
    "while",
    "loop",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
    "cmp",
    "partial_cmp",
    "total_cmp",
];

/// Returns whether a formula with this body has angles, and is NaN with its derivatives where one of them is.
pub(super) fn has_angles(body: &TokenStream, elementwise: &Elementwise) -> bool {
    // Steps of scans are compiled even if they are not written out.
    elementwise.style == Style::WrittenOut
        && style(body, elementwise) == Style::WrittenOut
        && elementwise.replaced.is_empty()
        && OF_ANGLES.iter().any(|name| has_word(body.clone(), *name))
        && keeps_nan(body.clone())
}

fn keeps_nan(body: TokenStream) -> bool {
    let methods = METHODS.iter().copied().flatten().chain(&QUESTIONS);
    let hides = |word: &&&str| !KEEP_NAN.contains(word);
    let others: Vec<&str> = methods.filter(hides).chain(&CHOICES).copied().listed();
    let mut keeps = true;
    for_each_word(body.clone(), &mut |word| {
        keeps &= !others.iter().any(|other| word == other);
    });
    keeps && !has_comparisons(body.clone()) && calls_only_closures(&body)
}

/// Returns whether the names that are called, other than methods and functions of types, are those of closures of the body
/// and of nothing else, and whether no other type is made.
fn calls_only_closures(body: &TokenStream) -> bool {
    let (mut called, mut keeps) = (Vec::new(), true);
    for_each_place(body.clone(), &mut |tokens, place| {
        let (token, next) = (&tokens[place], tokens.get(place + 1));
        let next = |delimiter| next.is_some_and(|next| group(next, delimiter).is_some());
        let is_called = next(Delimiter::Parenthesis);
        match token {
            // `(f)(x)`
            TokenTree::Group(_) => keeps &= !is_called,
            TokenTree::Ident(word) if is_keyword(word) => {}
            TokenTree::Ident(word) => {
                let text = word.to_string();
                let is_type = text.starts_with(char::is_uppercase);
                keeps &= !(is_type && is_called || next(Delimiter::Brace));
                let before = place.checked_sub(1).map(|before| &tokens[before]);
                let is_of =
                    before.is_some_and(|before| is_mark(before, '.') || is_mark(before, ':'));
                if is_called && !is_of {
                    called.push(text);
                }
            }
            _ => {}
        }
    });
    for_each_place(body.clone(), &mut |tokens, place| {
        if called.iter().any(|name| is_word(&tokens[place], name)) {
            keeps &= match &tokens[place + 1..] {
                [next, ..] if group(next, Delimiter::Parenthesis).is_some() => true,
                [equal, value @ ..] => {
                    let is_bound = place > 0 && is_word(&tokens[place - 1], "let");
                    is_bound && is_mark(equal, '=') && begins_closure(value)
                }
                _ => false,
            };
        }
    });
    keeps
}

/// Calls `look` with the tokens of each group and the place of each of them.
fn for_each_place(tokens: TokenStream, look: &mut dyn FnMut(&[TokenTree], usize)) {
    let tokens: Vec<TokenTree> = tokens.into_iter().listed();
    for (place, token) in tokens.iter().enumerate() {
        look(&tokens, place);
        if let TokenTree::Group(inner) = token {
            for_each_place(inner.stream(), look);
        }
    }
}

/// Returns whether there are marks of comparisons, or of types and macros, which are not told apart.
fn has_comparisons(tokens: TokenStream) -> bool {
    let mut is_equal = false;
    tokens.into_iter().any(|token| {
        let was_equal = std::mem::take(&mut is_equal);
        match &token {
            TokenTree::Group(group) => has_comparisons(group.stream()),
            TokenTree::Punct(mark) if mark.as_char() == '=' => {
                is_equal = mark.spacing() == Spacing::Joint;
                was_equal
            }
            TokenTree::Punct(mark) => "<>!".contains(mark.as_char()),
            TokenTree::Ident(_) | TokenTree::Literal(_) => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;
    use crate::lower::written_out::tests::sample;

    fn has(body: &TokenStream) -> bool {
        has_angles(body, &sample(None))
    }

    #[test]
    fn formulas_that_nothing_hides_an_angle_in() {
        for body in [
            quote!(x.sin()),
            quote!((x * width).cos() * (-x.square()).exp()),
            quote!(let (sin, cos) = (x.sin(), x.cos()); [x * cos, x * sin]),
            quote!(let f = |x: T| x.tan().powi(2); f(x) + T::from(width.sqrt())),
            quote!(let f = move |[a, b]: [T; 2]| { a * b.sin() }; return (f([x, f([x, x])]))),
            quote!(T::sin(x) * std::f64::consts::PI),
        ] {
            assert!(has(&body), "{body}");
        }
    }

    #[test]
    fn formulas_that_may_hide_one_or_have_none() {
        for body in [
            quote!(x.exp()),
            quote!(x.sin().max(0.0)),
            quote!(let f = T::max; f(x.sin(), x)),
            quote!(if x > 0.0 { x.sin() } else { x }),
            quote!(let is_high = x.sin() > 0.5; f64::from(is_high) * x),
            quote!(let same = x.sin() == x; width(same) + x),
            quote!(x.sin().relu()),
            quote!(x.sin().is_nan()),
            quote!(wrapped!(x.sin())),
            quote!(x.sin().powf(2.0)),
            quote!(PartialOrd::lt(&x.sin(), &x)),
            quote!(let f = clipped; f(x.sin())),
            quote!(let f = |x: T| x; let f = clipped; f(x.sin())),
            quote!(let (f, g) = (clipped, 2.0); f(x.sin()) * g),
            quote!(let of = |f, x| f(x); of(clipped, x.sin())),
            quote!((clipped)(x.sin())),
            quote!([clipped][0](x.sin())),
            quote!(Clipped(x.sin()).square()),
            quote!(Clipped { x: x.sin() }.square()),
        ] {
            assert!(!has(&body), "{body}");
        }
        let recorded = Elementwise {
            style: Style::Calls,
            ..sample(None)
        };
        assert!(!has_angles(&quote!(x.sin()), &recorded));
    }
}
