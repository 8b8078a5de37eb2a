//! Writes out what a formula does a known number of times: loops over literal ranges and over rows, `map` of a row, `sum`
//! and `fold`, and `from_fn` of a row that is returned or has its type beside it.
//!
//! The compiler unrolls a loop if it is short, and where numbers carry derivatives nothing is.

use proc_macro2::{Delimiter, Group, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Expr, ExprMethodCall, ExprRange, Ident, Pat, RangeLimits, Type};

use super::closures::is_keyword;
use crate::lists::Lists as _;
use crate::model::{Elementwise, Row};
use crate::spell::{at, group, has_word, is_mark, is_word, local};
use crate::types::is_primitive;
use crate::uses::lets;

/// The most times that something is done.
const TIMES: usize = 64;

/// The most tokens of what is written out.
const TOKENS: usize = 4096;

/// Returns the number of tokens, also in groups.
pub(super) fn length(tokens: &TokenStream) -> usize {
    let lengths = tokens.clone().into_iter().map(|token| match token {
        TokenTree::Group(group) => 1 + length(&group.stream()),
        _ => 1,
    });
    lengths.sum()
}

/// Returns the body of a formula with its loops written out, as far as their number of rounds is known and they do not
/// become too long.
pub(super) fn unrolled(body: &Group, elementwise: &Elementwise) -> Group {
    let tokens = body.stream();
    let unroll = Unroll {
        body: &tokens,
        elementwise,
        hidden: Vec::new(),
    };
    let returned = match &elementwise.outputs[..] {
        [Some(Row::Of(length))] => unroll.times(length),
        _ => None,
    };
    let mut unrolled = Group::new(
        body.delimiter(),
        unroll.statements(tokens.clone(), returned),
    );
    unrolled.set_span(body.span());
    unrolled
}

#[derive(Clone)]
struct Unroll<'a> {
    body: &'a TokenStream,
    elementwise: &'a Elementwise,
    /// The variables of the closures and loops around this place.
    hidden: Vec<String>,
}

/// What is written out, and how many tokens it is written in place of.
type Written = Option<(TokenStream, usize)>;

impl Unroll<'_> {
    /// Returns the statements, or whatever tokens these are, written out. `returned` is the length of the row that they
    /// return, if that is known.
    fn statements(&self, tokens: TokenStream, returned: Option<usize>) -> TokenStream {
        let tokens: Vec<TokenTree> = tokens.into_iter().listed();
        let (mut unroll, mut written, mut place) = (self.clone(), TokenStream::new(), 0);
        while place < tokens.len() {
            let (before, rest) = tokens.split_at(place);
            let found = unroll.for_loop(before, rest);
            let found = found.or_else(|| unroll.chain(before, rest));
            let found = found.or_else(|| unroll.row(before, rest, returned));
            if let Some((rounds, count)) = found.filter(|(rounds, _)| length(rounds) <= TOKENS) {
                written.extend(rounds);
                place += count;
                continue;
            }
            written.extend([match &rest[0] {
                // The arguments of a macro mean what it makes of them.
                TokenTree::Group(group) if !before.last().is_some_and(|it| is_mark(it, '!')) => {
                    unroll.group(group).into()
                }
                token => token.clone(),
            }]);
            // What a closure takes, or a loop has.
            let is_end = |token: &&TokenTree| is_mark(token, '|') || is_word(token, "in");
            if is_mark(&rest[0], '|') || is_word(&rest[0], "for") {
                let pattern = rest[1..].iter().take_while(|token| !is_end(token));
                unroll = unroll.under(pattern.tokens());
            }
            place += 1;
        }
        written
    }

    fn group(&self, group: &Group) -> Group {
        let inner = self.statements(group.stream(), None);
        let mut written = Group::new(group.delimiter(), inner);
        written.set_span(group.span());
        written
    }

    /// Returns this where the words of a pattern are variables.
    fn under(&self, pattern: TokenStream) -> Self {
        let mut under = self.clone();
        for token in pattern {
            match token {
                TokenTree::Ident(word) => under.hidden.push(word.to_string()),
                TokenTree::Group(group) => under = under.under(group.stream()),
                _ => {}
            }
        }
        under
    }

    /// Writes `for k in 0..3 { … }` out.
    fn for_loop(&self, before: &[TokenTree], rest: &[TokenTree]) -> Written {
        let is_labelled = before.last().is_some_and(|token| is_mark(token, ':'));
        if is_labelled || !is_word(&rest[0], "for") {
            return None;
        }
        let start = rest.iter().position(|token| is_word(token, "in"))?;
        let end = rest
            .iter()
            .position(|token| group(token, Delimiter::Brace).is_some())?;
        let items = self.items(&syn::parse2(stream(rest.get(start + 1..end)?)).ok()?)?;
        let block = group(&rest[end], Delimiter::Brace)?;
        let has_attributes = block.stream().to_string().starts_with('#');
        if has_attributes
            || ["break", "continue"]
                .iter()
                .any(|word| has_word(block.stream(), *word))
        {
            return None;
        }
        let pattern = stream(&rest[1..start]);
        let block = self.under(pattern.clone()).statements(block.stream(), None);
        // What the last round assigns is not read, as it is in a loop.
        let written = quote_spanned! {at(&rest[0])=>
            { #[allow(unused_assignments)] let () = { #({ let #pattern = #items; #block })* }; }
        };
        Some((written, end + 1))
    }

    /// Writes `x.map(|x| …)` of a row out, or an iterator's `fold` or `sum`.
    fn chain(&self, before: &[TokenTree], rest: &[TokenTree]) -> Written {
        let is_part = before.last().is_some_and(|token| match token {
            TokenTree::Ident(word) => !is_keyword(word),
            token => is_mark(token, '.') || is_mark(token, ':') || is_mark(token, '>'),
        });
        let count = end_of_chain(rest).filter(|_| !is_part)?;
        let call: ExprMethodCall = syn::parse2(stream(&rest[..count])).ok()?;
        let arguments: Vec<&Expr> = call.args.iter().listed();
        let place = at(&call.method);
        let written = match (&*call.receiver, &arguments[..]) {
            (Expr::Path(_), [closure]) => {
                let values = self.each(self.items(&call.receiver)?, closure)?;
                quote_spanned!(place=> [#(#values),*])
            }
            (receiver, [first, closure]) => {
                let ([of_folded, of_item], value) = self.closure(closure)?;
                let (items, folded) = (self.items(receiver)?, local("__folded"));
                quote_spanned! {place=> ({
                    let #folded = #first;
                    #(let #folded = { let (#of_folded, #of_item) = (#folded, #items); #value };)*
                    #folded
                })}
            }
            (Expr::MethodCall(receiver), []) if receiver.method == "map" => {
                let items = self.items_of_call(receiver)?;
                let (first, others) = items.split_first()?;
                let ty = call.turbofish.map(|of| of.args);
                let (sum, ty) = (local("__sum"), ty.map(|ty| quote!(: #ty)));
                quote_spanned!(place=> ({ let #sum #ty = #first #(+ #others)*; #sum }))
            }
            _ => return None,
        };
        Some((written, count))
    }

    /// Writes `std::array::from_fn(|k| …)` out.
    fn row(&self, before: &[TokenTree], rest: &[TokenTree], returned: Option<usize>) -> Written {
        let is_part = before.last().is_some_and(|token| is_mark(token, ':'));
        if is_part || !is_word(&rest[0], "std") && !is_word(&rest[0], "core") {
            return None;
        }
        let (path, after) = rest.split_at_checked(7)?;
        let text = stream(&path[1..]).to_string().replace(' ', "");
        if text != "::array::from_fn" {
            return None;
        }
        let [TokenTree::Group(arguments), end @ ..] = after else {
            return None;
        };
        let length = match end.first() {
            None => returned.filter(|_| is_after_a_statement(before)),
            Some(end) if is_mark(end, ';') => self.length_beside(before),
            Some(_) => None,
        };
        let items = (0..length?).map(|k| index(k, path[0].span())).listed();
        let values = self.each(items, &syn::parse2(arguments.stream()).ok()?)?;
        Some((quote_spanned!(at(&path[6])=> [#(#values),*]), 8))
    }

    /// Returns what a closure returns for each of the items.
    fn each(&self, items: Vec<TokenStream>, closure: &Expr) -> Option<Vec<TokenStream>> {
        let ([pattern], value) = self.closure(closure)?;
        let values = items.iter();
        Some(
            values
                .map(|item| quote!({ let #pattern = #item; #value }))
                .listed(),
        )
    }

    /// Returns the parameters of a closure and what it returns, unless it may leave what is around it.
    fn closure<'c, const N: usize>(
        &self,
        closure: &'c Expr,
    ) -> Option<([&'c Pat; N], TokenStream)> {
        let Expr::Closure(closure) = closure else {
            return None;
        };
        let is_plain = closure.capture.is_none() && closure.attrs.is_empty();
        let value = closure.body.to_token_stream();
        if !is_plain || has_word(value.clone(), "return") || value.to_string().contains('?') {
            return None;
        }
        let parameters: Vec<&Pat> = closure.inputs.iter().listed();
        let within = self.under(closure.inputs.to_token_stream());
        Some((parameters.try_into().ok()?, within.statements(value, None)))
    }

    /// Returns what a loop over this has in each round.
    fn items(&self, over: &Expr) -> Option<Vec<TokenStream>> {
        match over {
            Expr::Paren(inner) => self.items(&inner.expr),
            Expr::Range(range) => self.numbers_of(range),
            Expr::Path(path) => self.numbers(path.path.get_ident()?),
            Expr::Reference(reference) if reference.mutability.is_none() => {
                self.references(&reference.expr)
            }
            Expr::MethodCall(call) => self.items_of_call(call),
            _ => None,
        }
    }

    fn items_of_call(&self, call: &ExprMethodCall) -> Option<Vec<TokenStream>> {
        let arguments: Vec<&Expr> = call.args.iter().listed();
        let (receiver, span) = (&*call.receiver, call.method.span());
        match (call.method.to_string().as_str(), &arguments[..]) {
            ("iter", []) => self.references(receiver),
            ("into_iter", []) => self.items(receiver),
            ("rev", []) => Some(self.items(receiver)?.into_iter().rev().listed()),
            ("enumerate", []) => {
                let items = self.items(receiver)?.into_iter().zip(0..);
                let pairs = items.map(|(item, k)| {
                    let k = index(k, span);
                    quote!((#k, #item))
                });
                Some(pairs.listed())
            }
            // A row's own `map` computes all numbers before the first round.
            ("map", [closure]) if !is_name(receiver) => self.each(self.items(receiver)?, closure),
            ("zip", [other]) => {
                let items = self.items(receiver)?.into_iter().zip(self.items(other)?);
                Some(items.map(|(item, other)| quote!((#item, #other))).listed())
            }
            _ => None,
        }
    }

    fn references(&self, row: &Expr) -> Option<Vec<TokenStream>> {
        let Expr::Path(path) = row else {
            return None;
        };
        let items = self.numbers(path.path.get_ident()?)?.into_iter();
        Some(items.map(|item| quote!(&#item)).listed())
    }

    /// Returns the numbers of a row that is a parameter, a value or a constant.
    fn numbers(&self, name: &Ident) -> Option<Vec<TokenStream>> {
        let row = self.elementwise.row(name).and_then(Row::length);
        let value = || match self.elementwise.type_of(name)? {
            Type::Array(array) if is_primitive(&array.elem) => Some(&array.len),
            _ => None,
        };
        let length = match row.or_else(value) {
            Some(length) => self.times(length)?,
            None => few(self.elementwise.constants.row(name)?)?,
        };
        let text = name.to_string();
        // The patterns of a `match` may be variables.
        let is_hidden = self.hidden.contains(&text) || has_word(self.body.clone(), "match");
        if is_hidden || lets(self.body, &text) || self.is_mutable(name) {
            return None;
        }
        let numbers = (0..length).map(|k| {
            let k = Literal::usize_unsuffixed(k);
            quote_spanned!(name.span()=> #name[#k])
        });
        Some(numbers.listed())
    }

    /// Returns the length that `let name: [T; 3] =` has before its value.
    fn length_beside(&self, before: &[TokenTree]) -> Option<usize> {
        let [.., colon, TokenTree::Group(ty), equals] = before else {
            return None;
        };
        if !is_mark(colon, ':') || !is_mark(equals, '=') {
            return None;
        }
        match syn::parse2(ty.to_token_stream()).ok()? {
            Type::Array(array) => self.times(&array.len),
            _ => None,
        }
    }

    /// Returns how often something is done, if that is a number.
    fn times(&self, length: &Expr) -> Option<usize> {
        few(self.elementwise.constants.whole(length)?)
    }

    /// Returns the numbers of a range. The compiler does not see that they are known, and does not judge code that a
    /// condition leaves out in this round.
    fn numbers_of(&self, range: &ExprRange) -> Option<Vec<TokenStream>> {
        let (start, end) = (range.start.as_deref()?, range.end.as_deref()?);
        let last = match range.limits {
            RangeLimits::HalfOpen(_) => self.times(end)?,
            RangeLimits::Closed(_) => self.times(end)? + 1,
        };
        // `0..3_usize`
        let constants = &self.elementwise.constants;
        let mut suffixes = [start, end].into_iter();
        let suffix = suffixes.find_map(|bound| constants.type_of(bound));
        let suffix = suffix.unwrap_or_default();
        let numbers = (self.times(start)?..last).map(|number| {
            let number: Literal = format!("{number}{suffix}").parse().ok()?;
            Some(quote_spanned!(at(range)=> ::core::convert::identity(#number)))
        });
        numbers.collect()
    }

    /// Returns whether a parameter may have other numbers in the next round.
    fn is_mutable(&self, name: &Ident) -> bool {
        let inputs = &self.elementwise.formula.inputs;
        inputs.iter().any(|input| {
            let tokens: Vec<TokenTree> = input.to_token_stream().into_iter().listed();
            tokens.windows(2).any(|pair| {
                is_word(&pair[0], "mut")
                    && matches!(&pair[1], TokenTree::Ident(word) if word == name)
            })
        })
    }
}

/// Returns the number of tokens before the end of a call of `fold` or `sum`, or of a row's `map`.
fn end_of_chain(tokens: &[TokenTree]) -> Option<usize> {
    let is_name = matches!(tokens.first()?, TokenTree::Ident(_));
    let mut end = 1;
    loop {
        let dot = tokens.get(end).filter(|token| is_mark(token, '.'));
        let (Some(_), Some(TokenTree::Ident(method))) = (dot, tokens.get(end + 1)) else {
            return None;
        };
        let is_end = method == "fold" || method == "sum" || is_name && end == 1 && method == "map";
        end += 2;
        // `sum::<T>()`
        if tokens.get(end).is_some_and(|token| is_mark(token, ':')) {
            let close = tokens[end..].iter().position(|token| is_mark(token, '>'))?;
            end += close + 1;
        }
        match tokens.get(end)? {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => end += 1,
            _ => return None,
        }
        if is_end {
            return Some(end);
        }
    }
}

fn is_name(expression: &Expr) -> bool {
    match expression {
        Expr::Paren(inner) => is_name(&inner.expr),
        Expr::Path(_) => true,
        _ => false,
    }
}

fn is_after_a_statement(before: &[TokenTree]) -> bool {
    before
        .last()
        .is_none_or(|token| is_mark(token, ';') || group(token, Delimiter::Brace).is_some())
}

/// Returns a count, if that many times something is written out.
pub(super) fn few(count: u64) -> Option<usize> {
    let times = usize::try_from(count).ok()?;
    (times <= TIMES).then_some(times)
}

fn index(k: usize, span: Span) -> TokenStream {
    let k = Literal::usize_suffixed(k);
    quote_spanned!(Span::mixed_site().located_at(span)=> ::core::convert::identity(#k))
}

fn stream(tokens: &[TokenTree]) -> TokenStream {
    tokens.iter().tokens()
}

#[cfg(test)]
mod tests {
    use quote::quote;
    use syn::parse_quote;

    use super::*;
    use crate::constants::Constants;
    use crate::lower::written_out::tests::sample;

    /// Returns the tokens without spaces, and without `identity`.
    fn shown(tokens: &TokenStream) -> String {
        let text: String = tokens.to_string().split_whitespace().collect();
        text.replace("::core::convert::identity", "")
    }

    /// Returns what the body of `fn f<T: Real>(x: [T; 2], width: f64) -> [T; 2]` becomes.
    fn written(body: TokenStream) -> TokenStream {
        let mut formula = sample(Some(Row::Of(parse_quote!(2))));
        formula.outputs = vec![Some(Row::Of(parse_quote!(2)))];
        let body = Group::new(Delimiter::Brace, body);
        unrolled(&body, &formula).stream()
    }

    #[track_caller]
    fn check(body: TokenStream, expected: &TokenStream) {
        assert_eq!(shown(&written(body)), shown(expected));
    }

    #[test]
    fn loops_over_ranges_are_written_out() {
        let twice = |first: TokenStream, second: TokenStream| {
            quote! {
                { #[allow(unused_assignments)] let () = { { #first } { #second } }; } sum
            }
        };
        let body = quote!({
            sum += x[k];
        });
        for (range, [first, second]) in [
            (quote!(0..2), [quote!((0)), quote!((1))]),
            (quote!(1..=2u32), [quote!((1u32)), quote!((2u32))]),
            (quote!((0..2).rev()), [quote!((1)), quote!((0))]),
        ] {
            let rounds = twice(
                quote!(let k = #first; #body),
                quote!(let k = #second; #body),
            );
            check(quote!(for k in #range { #body } sum), &rounds);
        }
    }

    #[test]
    fn loops_to_constants_are_written_out() {
        let mut formula = sample(Some(Row::Of(parse_quote!(N))));
        let items = quote!(
            const N: usize = 2;
            const WEIGHTS: [f64; N] = [0.5, 0.25];
        );
        let items = items.into_iter().listed();
        let (first, second) = items.split_at(7);
        formula.constants = Constants::among([first, second].into_iter());
        let rounds = |values: [TokenStream; 2]| {
            quote! {
                { #[allow(unused_assignments)] let () = { #({ let w = #values; sum += w; })* }; } sum
            }
        };
        for (over, values) in [
            (quote!(0..N), [quote!((0usize)), quote!((1usize))]),
            (
                quote!(N - 1..=2 * N - 2),
                [quote!((1usize)), quote!((2usize))],
            ),
            (
                quote!(0..WEIGHTS.len()),
                [quote!((0usize)), quote!((1usize))],
            ),
            (quote!(WEIGHTS), [quote!(WEIGHTS[0]), quote!(WEIGHTS[1])]),
            (quote!(&x), [quote!(&x[0]), quote!(&x[1])]),
        ] {
            let body = Group::new(Delimiter::Brace, quote!(for w in #over { sum += w; } sum));
            let written = unrolled(&body, &formula).stream();
            assert_eq!(shown(&written), shown(&rounds(values)), "{over}");
        }
    }

    #[test]
    fn loops_over_rows_are_written_out() {
        for (over, [first, second]) in [
            (quote!(x in x), [quote!(x = x[0]), quote!(x = x[1])]),
            (quote!(&v in &x), [quote!(&v = &x[0]), quote!(&v = &x[1])]),
            (
                quote!((k, v) in x.iter().enumerate()),
                [
                    quote!((k, v) = ((0usize), &x[0])),
                    quote!((k, v) = ((1usize), &x[1])),
                ],
            ),
            (
                quote!((v, w) in x.into_iter().zip(&x)),
                [
                    quote!((v, w) = (x[0], &x[0])),
                    quote!((v, w) = (x[1], &x[1])),
                ],
            ),
        ] {
            check(
                quote!(for #over { sum += x; }),
                &quote! {
                    { #[allow(unused_assignments)] let () = {
                        { let #first; sum += x; } { let #second; sum += x; }
                    }; }
                },
            );
        }
    }

    #[test]
    fn loops_over_values_are_written_out() {
        let over = |ty: Type| {
            let mut formula = sample(None);
            formula.values = vec![(parse_quote!(w), ty)];
            let body = Group::new(
                Delimiter::Brace,
                quote!(for w in w {
                    sum += w;
                }),
            );
            shown(&unrolled(&body, &formula).stream())
        };
        let written = over(parse_quote!([f64; 1]));
        assert!(written.contains("letw=w[0];sum+=w;"), "{written}");
        // What is not copied cannot be moved out of an array.
        assert_eq!(over(parse_quote!([Vec<f64>; 1])), "forwinw{sum+=w;}");
    }

    #[test]
    fn rows_are_written_out() {
        check(
            quote!(let y = x.map(|x| x.exp()); y),
            &quote!(let y = [{ let x = x[0]; x.exp() }, { let x = x[1]; x.exp() }]; y),
        );
        let row = quote!([
            {
                let k = (0usize);
                x[k]
            },
            {
                let k = (1usize);
                x[k]
            }
        ]);
        check(
            quote!(let y: [T; 2] = std::array::from_fn(|k| x[k]); std::array::from_fn(|k| x[k])),
            &quote!(let y: [T; 2] = #row; #row),
        );
    }

    #[test]
    fn iterators_are_written_out() {
        let squares = quote!(
            {
                let v = &x[0];
                *v * *v
            } + {
                let v = &x[1];
                *v * *v
            }
        );
        check(
            quote!(x.iter().map(|v| *v * *v).sum::<T>().sqrt()),
            &quote!(({ let __sum: T = #squares; __sum }).sqrt()),
        );
        check(
            quote!(-(0..2).map(|k| x[k]).sum()),
            &quote!(
                -({
                    let __sum = {
                        let k = (0);
                        x[k]
                    } + {
                        let k = (1);
                        x[k]
                    };
                    __sum
                })
            ),
        );
        check(
            quote!(let n = x.into_iter().rev().fold(zero, |n, v| n + v * v); n),
            &quote! {
                let n = ({
                    let __folded = zero;
                    let __folded = { let (n, v) = (__folded, x[1]); n + v * v };
                    let __folded = { let (n, v) = (__folded, x[0]); n + v * v };
                    __folded
                });
                n
            },
        );
    }

    #[test]
    fn what_is_within_is_written_out() {
        check(
            quote!(if width > 0.0 {
                for k in 0..1 {
                    for _ in 0..1 {
                        sum += x[k];
                    }
                }
            }),
            &quote! {
                if width > 0.0 {
                    { #[allow(unused_assignments)] let () = {
                        { let k = (0); { #[allow(unused_assignments)] let () = { { let _ = (0); sum += x[k]; } }; } }
                    }; }
                }
            },
        );
    }

    #[test]
    fn the_rest_stays() {
        for body in [
            quote!(for k in 0..N {
                sum += x[k];
            }),
            quote!(for k in 0..65 {
                sum += x[0];
            }),
            quote!(for k in 0..2 {
                if x[k] > 1.0 {
                    break;
                }
            }),
            quote!('all: for k in 0..2 {
                sum += x[k];
            }),
            quote!(for v in &mut x {
                *v = *v / 2.0;
            }),
            quote!(let x = [y, z, y]; for v in x { sum += v; }),
            quote!(for v in y {
                sum += v;
            }),
            quote!(y.map(|v| v.exp())),
            quote!(y.x.map(|v| v.exp())),
            quote!(x.map(exp)),
            quote!(x.map(|v| {
                return v;
            })),
            quote!(let y = std::array::from_fn(|k| x[k]); y),
            quote!(f(std::array::from_fn(|k| x[k]))),
            quote!(array!(for k in 0..2 {})),
            quote!(impl For for f64 {}),
            quote!(x.map(move |v| v)),
            quote!(for v in x.map(exp) {
                sum += v;
            }),
            quote!(f(|x| x.map(|v| v.exp()))),
            quote!(for x in rows {
                sum += x.map(|v| v.exp())[0];
            }),
            quote!(for x in rows {
                for v in x {
                    sum += v;
                }
            }),
            quote!(match width {
                x => x.map(|v| v),
            }),
            quote!(x.iter().sum::<T>()),
            quote!(x.iter().filter(|v| **v > zero).map(|v| *v).sum::<T>()),
            quote!(f(0..2).map(|k| x[k]).sum::<T>()),
            quote!(y.x.iter().map(|v| *v).sum::<T>()),
        ] {
            check(body.clone(), &body);
        }
    }

    #[test]
    fn what_becomes_long_stays() {
        let inner = quote!(for j in 0..60 {
            sum += x[i] * x[j];
        });
        let found = shown(&written(quote!(for i in 0..60 { #inner })));
        assert!(found.starts_with("foriin0..60"), "{found}");
    }
}
