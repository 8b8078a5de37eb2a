//! Rules for the body of an elementwise function: what its tokens show, and what the compiler would report twice.

use proc_macro2::{Delimiter, Literal, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::parse::Parser as _;
use syn::{Block, Expr, Ident, Lit, Stmt};

use super::methods;
use crate::diagnostics::Diagnostics;
use crate::lists::Lists as _;
use crate::lower::closures::is_keyword;
use crate::lower::written_out::is_method;
use crate::model::Elementwise;
use crate::show::show;
use crate::spell::{camel_case, is_mark, is_word};
use crate::types::{is_float, is_one_of};
use crate::uses;

/// What the rules know of a formula.
struct Formula<'a> {
    number: &'a Ident,
    /// Its inputs that are numbers, but for names that the body binds anew, and the numbers that it declares.
    inputs: Vec<&'a Ident>,
    /// Its values that are an `f64`, but for names that the body binds anew.
    floats: Vec<&'a Ident>,
    /// Its inputs that are rows, but for names that the body binds anew.
    rows: Vec<&'a Ident>,
    /// The elementwise functions of the module and the formula's own, but for names that mean something else here.
    functions: Vec<&'a String>,
}

/// Checks the body of a formula.
pub(super) fn check(
    body: &TokenStream,
    elementwise: &Elementwise,
    functions: &[String],
    diagnostics: &mut Diagnostics,
) {
    let is_own = |name: &&String| {
        let mut values = elementwise.values.iter().map(|(name, _)| name);
        values.any(|value| value == *name) || uses::rebinds(body, name)
    };
    let known = |is_row: bool| {
        let inputs = elementwise.inputs.iter().zip(&elementwise.rows);
        let inputs = inputs.filter(|(_, row)| row.is_some() == is_row);
        let names = inputs.map(|(input, _)| input);
        names
            .filter(|name| !uses::rebinds(body, &name.to_string()))
            .listed()
    };
    let rows: Vec<&Ident> = known(true);
    let declared = declared_numbers(body, &elementwise.number, &rows);
    let mut inputs: Vec<&Ident> = known(false);
    // A name that is also bound as something else, or is a parameter, is not known.
    inputs.extend(declared.iter().filter(|name| {
        let times = declared.iter().filter(|other| other == name).count();
        let mut values = elementwise.values.iter().map(|(value, _)| value);
        uses::bindings(body, &name.to_string()) == times
            && !elementwise.inputs.contains(name)
            && !values.any(|value| value == *name)
    }));
    let values = elementwise.values.iter();
    let floats = values.filter(|(name, ty)| {
        is_one_of(ty, &["f64"])
            && !elementwise.inputs.contains(name)
            && !uses::rebinds(body, &name.to_string())
    });
    let itself = elementwise.formula.ident.to_string();
    let formula = Formula {
        number: &elementwise.number,
        inputs,
        floats: floats.map(|(name, _)| name).listed(),
        rows,
        functions: functions
            .iter()
            .chain([&itself])
            .filter(|name| !is_own(name))
            .listed(),
    };
    let mistakes = diagnostics.len();
    formula.check(body, diagnostics);
    // A body that syn cannot read is left to the compiler.
    if let Ok(statements) = Block::parse_within.parse2(body.clone()) {
        formula.returns_numbers(&statements, diagnostics);
    }
    diagnostics.is_doubtful |= diagnostics.len() > mistakes;
}

impl Formula<'_> {
    fn check(&self, body: &TokenStream, diagnostics: &mut Diagnostics) {
        let tokens: Vec<TokenTree> = body.clone().into_iter().listed();
        for (place, token) in tokens.iter().enumerate() {
            if let TokenTree::Group(inner) = token {
                self.check(&inner.stream(), diagnostics);
            }
            let (before, after) = tokens.split_at(place);
            self.calls_no_function_of_tensors(before.last(), after, diagnostics);
            self.calls_methods_of_numbers(after, diagnostics);
            self.calls_methods_that_there_are(before.last(), after, diagnostics);
            self.powers_and_remainders_are_written_out(before.last(), after, diagnostics);
            self.computes_with_floats(before.last(), after, diagnostics);
            self.compares_on_the_right(before.last(), after, diagnostics);
            self.adds_to_numbers(after, diagnostics);
        }
    }

    /// A formula cannot call a function of tensors.
    ///
    /// ```text
    /// #[custom_function(elementwise)]
    /// fn logistic<T: Real>(x: T) -> T { … }
    /// #[custom_function(elementwise)]
    /// fn swish<T: Real>(x: T) -> T { x * logistic(x) }
    /// //                                 ^^^^^^^^ `logistic` is a function of tensors
    /// fn factorial<T: Real>(x: T) -> T { if x > 1.0 { factorial(x - 1.0) * x } else { x } }
    /// //                                              ^^^^^^^^^ `factorial` is a function of tensors
    /// ```
    fn calls_no_function_of_tensors(
        &self,
        before: Option<&TokenTree>,
        after: &[TokenTree],
        diagnostics: &mut Diagnostics,
    ) {
        let [TokenTree::Ident(name), TokenTree::Group(arguments), ..] = after else {
            return;
        };
        let is_called = arguments.delimiter() == Delimiter::Parenthesis
            && before.is_none_or(|token| !is_mark(token, '.') && !is_mark(token, ':'));
        if is_called && self.functions.iter().any(|function| name == *function) {
            let message =
                format!("`{name}` is a function of tensors, and a formula computes with numbers");
            let formula = camel_case(name, &syn::Generics::default());
            let help = format!("write `{formula}::formula(…)`");
            diagnostics.error_with_help(name, &message, &help);
        }
    }

    /// Functions of a number are its methods: those of `f64` take numbers without derivatives.
    ///
    /// ```text
    /// fn logarithm<T: Real>(x: T) -> T { f64::ln(x) }
    /// //                                 ^^^^^^^ `f64::ln` takes an `f64`
    /// fn octaves<T: Real>(x: T) -> T { 2.0.powf(x) }
    /// //                               ^^^ `2.0` is an `f64` here
    /// ```
    fn calls_methods_of_numbers(&self, after: &[TokenTree], diagnostics: &mut Diagnostics) {
        let number = self.number;
        match after {
            [
                TokenTree::Ident(float),
                TokenTree::Punct(colon),
                TokenTree::Punct(_),
                TokenTree::Ident(function),
                TokenTree::Group(arguments),
                ..,
            ] if colon.as_char() == ':'
                && syn::parse2(float.to_token_stream()).is_ok_and(|ty| is_float(&ty))
                && function != "from" =>
            {
                if let Some(argument) = self.input_in(&arguments.stream()) {
                    let message = format!(
                        "`{float}::{function}` takes an `{float}`, but `{argument}` is a `{number}`"
                    );
                    let help = format!("call it as a method, as in `{argument}.{function}()`");
                    diagnostics.error_with_help(function, &message, &help);
                }
            }
            [
                TokenTree::Literal(literal),
                TokenTree::Punct(dot),
                TokenTree::Ident(method),
                TokenTree::Group(arguments),
                ..,
            ] if dot.as_char() == '.'
                && matches!(Lit::new(literal.clone()), Lit::Float(one) if one.suffix().is_empty()) =>
            {
                if let Some(argument) = self.input_in(&arguments.stream()) {
                    let message =
                        format!("`{literal}` is an `f64` here, but `{argument}` is a `{number}`");
                    let help = format!("write `{number}::from({literal}).{method}(…)`");
                    diagnostics.error_with_help(literal, &message, &help);
                }
            }
            _ => {}
        }
    }

    /// Numbers have some of the functions of `f64`.
    ///
    /// ```text
    /// fn decibels<T: Real>(x: T) -> T { 10.0 * x.log10() }
    /// //                                         ^^^^^ `log10` is not a function of numbers
    /// ```
    fn calls_methods_that_there_are(
        &self,
        before: Option<&TokenTree>,
        after: &[TokenTree],
        diagnostics: &mut Diagnostics,
    ) {
        let Some((mut number, mut rest)) = self.number_at(before, after) else {
            return;
        };
        while let [
            dot,
            TokenTree::Ident(method),
            TokenTree::Group(arguments),
            others @ ..,
        ] = rest
            && is_mark(dot, '.')
        {
            let argument = show(&arguments.stream()).replace(" [", "[");
            if let Some(instead) = methods::instead(method, &number, &argument, self.number) {
                let message = format!("`{method}` is not a function of numbers");
                diagnostics.error_with_help(method, &message, &format!("write {instead}"));
                return;
            }
            if !is_method(method) {
                return;
            }
            number = format!("{number}.{method}{}", show(arguments));
            rest = others;
        }
    }

    /// Powers are methods, and there are no remainders.
    ///
    /// ```text
    /// fn square<T: Real>(x: T) -> T { x ^ 2 }
    /// //                                ^ `^` is not a power
    /// fn phase<T: Real>(x: T) -> T { x % 1.0 }
    /// //                               ^ `%` is not an operator of numbers
    /// ```
    fn powers_and_remainders_are_written_out(
        &self,
        before: Option<&TokenTree>,
        after: &[TokenTree],
        diagnostics: &mut Diagnostics,
    ) {
        let Some((input, [TokenTree::Punct(power), next, ..])) = self.input_at(before, after)
        else {
            return;
        };
        if power.as_char() == '^' && !is_mark(next, '=') {
            let help = format!("write `{input}.powi({next})`, or `powf(…)` of a number");
            diagnostics.error_with_help(power, "`^` is not a power", &help);
        }
        if power.as_char() == '%' && !is_mark(next, '=') {
            let help = format!(
                "write `{input} - ({input} / {next}).floor() * {next}`, which is never negative for a positive `{next}`"
            );
            diagnostics.error_with_help(power, "`%` is not an operator of numbers", &help);
        }
    }

    /// Beside numbers there are floats, and they are not cast.
    ///
    /// ```text
    /// fn double<T: Real>(x: T) -> T { 2 * x }
    /// //                              ^ `2` is an integer
    /// fn rest<T: Real>(x: T, part: f64) -> T { x * (1 - part) }
    /// //                                            ^ `1` is an integer
    /// fn squash<T: Real>(x: T) -> T { x / (1 + (x * x).exp()) }
    /// //                                   ^ `1` is an integer
    /// fn ramp<T: Real>(x: T) -> T { x.max(0) }
    /// //                                  ^ `0` is an integer
    /// fn twice<T: Real>(x: T) -> T { let double = |y: T| y * 2; double(x) }
    /// //                                                     ^ `2` is an integer
    /// fn double<T: Real>(p: [T; 3]) -> [T; 3] { p.map(|y| y * 2) }
    /// //                                                      ^ `2` is an integer
    /// fn whole<T: Real>(x: T) -> T { … x as i64 … }
    /// //                                 ^^ `x` is a `T`, and cannot be cast
    /// fn entry<T: Real>(x: T, table: &[f64]) -> T { … table[x.floor() as usize] … }
    /// //                                                              ^^ `x.floor()` is a `T`, and cannot be cast
    /// ```
    fn computes_with_floats(
        &self,
        before: Option<&TokenTree>,
        after: &[TokenTree],
        diagnostics: &mut Diagnostics,
    ) {
        const OF_TWO: [&str; 6] = ["max", "min", "powf", "atan2", "hypot", "clamp"];
        let is_operator = |token: &TokenTree| "+-*/".chars().any(|sign| is_mark(token, sign));
        // `2 * x`, but not the `0` of `pair.0 * x`.
        if let [TokenTree::Literal(literal), operator, rest @ ..] = after
            && is_operator(operator)
            && !before.is_some_and(|token| is_mark(token, '.'))
            && (self.input_at(Some(operator), rest).is_some()
                || self.after_number(Some(operator), rest).is_some()
                || self.is_float(rest))
        {
            is_a_float(literal, diagnostics);
        }
        if let [_, operator, TokenTree::Literal(literal), rest @ ..] = after
            && self.is_float(after)
            && is_operator(operator)
            && !rest.first().is_some_and(|next| is_word(next, "as"))
            && !before.is_some_and(|token| is_mark(token, '.'))
        {
            is_a_float(literal, diagnostics);
        }
        if let Some([operator, TokenTree::Literal(literal), rest @ ..]) =
            self.after_number(before, after)
            && is_operator(operator)
            && !rest.first().is_some_and(|next| is_word(next, "as"))
        {
            is_a_float(literal, diagnostics);
        }
        let Some((input, rest)) = self.input_at(before, after) else {
            return;
        };
        match rest {
            [
                TokenTree::Punct(dot),
                TokenTree::Ident(method),
                TokenTree::Group(arguments),
                ..,
            ] if dot.as_char() == '.' && OF_TWO.iter().any(|known| method == known) => {
                let arguments: Vec<TokenTree> = arguments.stream().into_iter().listed();
                let mut each = arguments.split(|token| is_mark(token, ','));
                let integer = each.find_map(|argument| match argument {
                    [TokenTree::Literal(literal)] if is_an_integer(literal) => Some(literal),
                    _ => None,
                });
                if let Some(literal) = integer {
                    is_a_float(literal, diagnostics);
                }
            }
            [TokenTree::Ident(cast), TokenTree::Ident(ty), ..] if cast == "as" => {
                let help = if syn::parse2(ty.to_token_stream()).is_ok_and(|ty| is_float(&ty)) {
                    format!("write `{input}` alone: floats are computed with it")
                } else {
                    format!(
                        "round it, `{input}.floor()`, or compare it, `if {input} > 1.0 {{ … }}`"
                    )
                };
                self.is_cast(&input, cast, &help, diagnostics);
            }
            [
                TokenTree::Punct(dot),
                TokenTree::Ident(method),
                TokenTree::Group(arguments),
                TokenTree::Ident(cast),
                ..,
            ] if dot.as_char() == '.' && is_rounding(method) && cast == "as" => {
                let rounded = format!("{input}.{method}{}", show(arguments));
                let help = format!(
                    "compare it, `if {input} > 1.0 {{ … }}`; a number that only chooses is a value, `k: usize`"
                );
                self.is_cast(&rounded, cast, &help, diagnostics);
            }
            _ => {}
        }
    }

    /// Returns what follows a number, an input or parentheses that only compute with one, and methods of it.
    fn after_number<'b>(
        &self,
        before: Option<&TokenTree>,
        after: &'b [TokenTree],
    ) -> Option<&'b [TokenTree]> {
        if let [TokenTree::Group(group), ..] = after {
            // `place::<T>(x)` and `place!(x)` are calls too.
            let is_called = |before| is_mark(before, '>') || is_mark(before, '!');
            if before.is_some_and(is_called) || !is_computed(&group.stream()) {
                return None;
            }
        }
        let (_, rest) = self.number_at(before, after)?;
        let rest = after_methods(rest);
        // What another method returns may be an integer.
        (!rest.first().is_some_and(|next| is_mark(next, '.'))).then_some(rest)
    }

    /// Returns whether a value that is an `f64` is next, and nothing is made of it.
    fn is_float(&self, tokens: &[TokenTree]) -> bool {
        let [TokenTree::Ident(word), rest @ ..] = tokens else {
            return false;
        };
        let is_alone = rest
            .first()
            .is_none_or(|next| !is_mark(next, '.') && !is_word(next, "as"));
        is_alone && self.floats.contains(&word)
    }

    fn is_cast(&self, input: &str, cast: &Ident, help: &str, diagnostics: &mut Diagnostics) {
        let message = format!("`{input}` is a `{}`, and cannot be cast", self.number);
        diagnostics.error_with_help(cast, &message, help);
    }

    /// A float is compared on the right.
    ///
    /// ```text
    /// fn ramp<T: Real>(x: T) -> T { if 0.0 < x { x } else { T::from(0.0) } }
    /// //                                   ^ a float is compared on the right
    /// ```
    fn compares_on_the_right(
        &self,
        before: Option<&TokenTree>,
        after: &[TokenTree],
        diagnostics: &mut Diagnostics,
    ) {
        let begins = before.is_none_or(|token| match token {
            TokenTree::Ident(word) => ["if", "while", "return"].iter().any(|key| word == key),
            TokenTree::Punct(sign) => "&|=;,".contains(sign.as_char()),
            _ => false,
        });
        let [
            TokenTree::Literal(literal),
            TokenTree::Punct(sign),
            rest @ ..,
        ] = after
        else {
            return;
        };
        let (equals, rest) = match rest {
            [equals, rest @ ..] if is_mark(equals, '=') => ("=", rest),
            rest => ("", rest),
        };
        let turned = match sign.as_char() {
            '<' => '>',
            '>' => '<',
            _ => return,
        };
        let is_compared =
            begins && matches!(Lit::new(literal.clone()), Lit::Float(_) | Lit::Int(_));
        if let Some((input, _)) = self.input_at(Some(&after[1]), rest)
            && is_compared
        {
            let float = as_float(literal);
            let help = format!("write `{input} {turned}{equals} {float}`");
            diagnostics.error_with_help(sign, "a float is compared on the right", &help);
        }
    }

    /// What numbers are added to is a number from the start.
    ///
    /// ```text
    /// fn sum<T: Real>(p: [T; 3]) -> T { let mut sum = 0.0; for k in 0..3 { sum += p[k]; } sum }
    /// //                                              ^^^ `sum` becomes a `T`
    /// fn pair<T: Real>(x: T) -> T { let mut s = [0.0; 2]; s[0] = x; s[1] = x * x; s[0] + s[1] }
    /// //                                         ^^^ `s` becomes a row of `T`
    /// ```
    fn adds_to_numbers(&self, after: &[TokenTree], diagnostics: &mut Diagnostics) {
        let [
            TokenTree::Ident(key),
            TokenTree::Ident(mutable),
            TokenTree::Ident(variable),
            equals,
            value,
            semicolon,
            rest @ ..,
        ] = after
        else {
            return;
        };
        let Some((literal, is_row)) = first_float(value) else {
            return;
        };
        let is_binding = key == "let" && mutable == "mut" && is_mark(equals, '=');
        let is_bound = is_binding && is_mark(semicolon, ';');
        // Bound again, the name may mean something else.
        let is_one = !uses::rebinds(&rest.iter().tokens(), &variable.to_string());
        if is_bound && is_one && self.becomes(variable, is_row, rest) {
            let number = self.number;
            let (row, each) = if is_row {
                ("row of ", ", and so each number of the row")
            } else {
                ("", "")
            };
            let message =
                format!("`{variable}` becomes a {row}`{number}`, and `{literal}` is an `f64`");
            let help = format!("write `{number}::from({literal})`{each}");
            diagnostics.error_with_help(&literal, &message, &help);
        }
    }

    /// Returns whether a variable, or an entry of it if it is a row, is assigned something with an input.
    fn becomes(&self, variable: &Ident, is_row: bool, tokens: &[TokenTree]) -> bool {
        (0..tokens.len()).any(|place| match &tokens[place..] {
            [TokenTree::Group(block), ..] => {
                let tokens: Vec<TokenTree> = block.stream().into_iter().listed();
                self.becomes(variable, is_row, &tokens)
            }
            [TokenTree::Ident(name), rest @ ..] if name == variable => {
                let rest = match rest {
                    [TokenTree::Group(index), rest @ ..] if is_row => {
                        let is_index = index.delimiter() == Delimiter::Bracket;
                        if is_index { rest } else { return false }
                    }
                    rest => rest,
                };
                let value = match rest {
                    [operator, equals, value @ ..]
                        if "+-*/".chars().any(|sign| is_mark(operator, sign))
                            && is_mark(equals, '=') =>
                    {
                        value
                    }
                    [equals, value @ ..] if is_mark(equals, '=') => value,
                    _ => return false,
                };
                let end = value.iter().position(|token| is_mark(token, ';'));
                let value = value[..end.unwrap_or(value.len())].iter().tokens();
                // A method may return an `f64`.
                let computes = !calls_a_method(&value);
                let known = [&self.inputs[..], &self.rows].concat();
                computes && find_in(&value, &known).is_some()
            }
            _ => false,
        })
    }

    /// Returns the input or the number of a row that is next and is not a field, and what follows it.
    fn input_at<'b>(
        &self,
        before: Option<&TokenTree>,
        after: &'b [TokenTree],
    ) -> Option<(String, &'b [TokenTree])> {
        let [TokenTree::Ident(word), rest @ ..] = after else {
            return None;
        };
        if before.is_some_and(|token| is_mark(token, '.')) {
            return None;
        }
        match rest {
            [TokenTree::Group(index), rest @ ..]
                if index.delimiter() == Delimiter::Bracket && self.rows.contains(&word) =>
            {
                Some((format!("{word}[{}]", show(&index.stream())), rest))
            }
            _ => (self.inputs.contains(&word)).then(|| (word.to_string(), rest)),
        }
    }

    /// Returns the input or the number of a row that is next, or parentheses that only compute with one, and what follows.
    fn number_at<'b>(
        &self,
        before: Option<&TokenTree>,
        after: &'b [TokenTree],
    ) -> Option<(String, &'b [TokenTree])> {
        self.input_at(before, after)
            .or_else(|| match (before, after) {
                // Not the arguments of a call.
                (Some(TokenTree::Ident(word)), _) if !is_keyword(word) => None,
                (Some(TokenTree::Group(_)), _) => None,
                (_, [TokenTree::Group(group), rest @ ..])
                    if group.delimiter() == Delimiter::Parenthesis =>
                {
                    self.input_in(&group.stream())?;
                    Some((show(group), rest))
                }
                _ => None,
            })
    }

    /// What a formula returns is a number, which a literal is not.
    ///
    /// ```text
    /// fn step<T: Real>(x: T) -> T { if x > 0.0 { 1.0 } else { 0.0 } }
    /// //                                         ^^^ `1.0` is an `f64`, but a `T` is returned
    /// ```
    fn returns_numbers(&self, statements: &[Stmt], diagnostics: &mut Diagnostics) {
        if let Some(literal) = of_statements(statements) {
            let (number, text) = (self.number, show(literal));
            let message = format!("`{text}` is an `f64`, but a `{number}` is returned");
            let help = format!("write `{number}::from({text})`, or `{text}.into()`");
            diagnostics.error_with_help(literal, &message, &help);
        }
    }

    /// Returns an input of the formula among arguments.
    fn input_in(&self, arguments: &TokenStream) -> Option<&Ident> {
        find_in(arguments, &self.inputs)
    }
}

/// Returns the names that a body declares to be numbers: `|y: T|`, `let y: T`, `row.map(|y| …)`.
fn declared_numbers(body: &TokenStream, number: &Ident, rows: &[&Ident]) -> Vec<Ident> {
    let tokens: Vec<TokenTree> = body.clone().into_iter().listed();
    let mut found = Vec::new();
    for place in 0..tokens.len() {
        match &tokens[place..] {
            [TokenTree::Ident(row), calls @ ..] if rows.contains(&row) => {
                found.extend(mapped_number(calls));
            }
            [TokenTree::Ident(name), colon, TokenTree::Ident(ty), end, ..]
                if is_mark(colon, ':') && ty == number && !is_mark(end, ':') =>
            {
                found.push(name.clone());
            }
            [TokenTree::Group(group), ..] => {
                found.extend(declared_numbers(&group.stream(), number, rows));
            }
            _ => {}
        }
    }
    found
}

/// Returns the name of each number of a row in the closure of a `map`, if that is what follows the row.
fn mapped_number(calls: &[TokenTree]) -> Option<Ident> {
    let [
        dot,
        TokenTree::Ident(method),
        TokenTree::Group(arguments),
        calls @ ..,
    ] = calls
    else {
        return None;
    };
    if !is_mark(dot, '.') {
        return None;
    }
    if method == "iter" || method == "into_iter" {
        return mapped_number(calls);
    }
    let closure: Vec<TokenTree> = arguments.stream().into_iter().listed();
    match closure.as_slice() {
        [bar, TokenTree::Ident(name), end, ..] | [bar, _, TokenTree::Ident(name), end, ..]
            if method == "map" && is_mark(bar, '|') && is_mark(end, '|') =>
        {
            Some(name.clone())
        }
        _ => None,
    }
}

/// Returns one of these inputs in tokens that only compute with it: a comparison, a closure, a block, a macro or a call
/// could make something else of it, and a field could have its name.
fn find_in<'a>(tokens: &TokenStream, inputs: &[&'a Ident]) -> Option<&'a Ident> {
    if tokens.to_string().contains(['<', '>', '|', '{', '!', '&']) {
        return None;
    }
    let mut before = None;
    let mut found = tokens.clone().into_iter().filter_map(|token| {
        match (before.replace(token.clone()), token) {
            (Some(dot), TokenTree::Ident(_)) if is_mark(&dot, '.') => None,
            (_, TokenTree::Ident(word)) => inputs.iter().copied().find(|input| **input == word),
            (Some(TokenTree::Ident(_)), TokenTree::Group(_)) => None,
            (_, TokenTree::Group(group)) => find_in(&group.stream(), inputs),
            _ => None,
        }
    });
    found.next()
}

/// Returns what follows the methods of numbers that are called.
fn after_methods(mut tokens: &[TokenTree]) -> &[TokenTree] {
    while let [
        dot,
        TokenTree::Ident(method),
        TokenTree::Group(_),
        rest @ ..,
    ] = tokens
        && is_mark(dot, '.')
        && is_method(method)
    {
        tokens = rest;
    }
    tokens
}

/// Returns whether parentheses have one value, made by operators and methods of numbers alone.
fn is_computed(tokens: &TokenStream) -> bool {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().listed();
    let is_known = |pair: &[TokenTree]| match pair {
        [dot, TokenTree::Ident(method)] if is_mark(dot, '.') => is_method(method),
        [dot, TokenTree::Literal(_)] => !is_mark(dot, '.'),
        _ => true,
    };
    tokens.windows(2).all(is_known) && !tokens.iter().any(|token| is_mark(token, ','))
}

fn calls_a_method(tokens: &TokenStream) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Group(group) => calls_a_method(&group.stream()),
        token => is_mark(&token, '.'),
    })
}

fn is_rounding(method: &Ident) -> bool {
    ["floor", "ceil", "round", "round_ties_even"]
        .iter()
        .any(|known| method == known)
}

/// Returns a float without a type, or the first of a row of such and nothing else, and whether it is of a row.
fn first_float(value: &TokenTree) -> Option<(Literal, bool)> {
    let float = |token: &TokenTree| match token {
        TokenTree::Literal(literal) => {
            let is_float =
                matches!(Lit::new(literal.clone()), Lit::Float(float) if float.suffix().is_empty());
            is_float.then(|| literal.clone())
        }
        _ => None,
    };
    match value {
        TokenTree::Group(row) if row.delimiter() == Delimiter::Bracket => {
            let row: Vec<TokenTree> = row.stream().into_iter().listed();
            let first = float(row.first()?)?;
            let is_repeated = row.get(1).is_some_and(|token| is_mark(token, ';'));
            let mut listed = row.iter().filter(|token| !is_mark(token, ','));
            (is_repeated || listed.all(|token| float(token).is_some())).then_some((first, true))
        }
        token => Some((float(token)?, false)),
    }
}

/// A literal beside a number must be a float.
fn is_a_float(literal: &Literal, diagnostics: &mut Diagnostics) {
    if is_an_integer(literal) {
        let message = format!("`{literal}` is an integer, and numbers are floats");
        let help = format!("write `{}`", as_float(literal));
        diagnostics.error_with_help(literal, &message, &help);
    }
}

fn is_an_integer(literal: &Literal) -> bool {
    matches!(Lit::new(literal.clone()), Lit::Int(number) if number.suffix().is_empty())
}

/// Returns `2.0` for `2`.
fn as_float(literal: &Literal) -> String {
    if is_an_integer(literal) {
        format!("{literal}.0")
    } else {
        literal.to_string()
    }
}

/// Returns a literal that an expression may evaluate to.
fn returned_literal(expression: &Expr) -> Option<&Lit> {
    match expression {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Float(float) if float.suffix().is_empty() => Some(&literal.lit),
            _ => None,
        },
        Expr::Paren(paren) => returned_literal(&paren.expr),
        Expr::Tuple(tuple) => tuple.elems.iter().find_map(returned_literal),
        Expr::Array(row) => row.elems.iter().find_map(returned_literal),
        Expr::Repeat(row) => returned_literal(&row.expr),
        Expr::Block(block) => of_statements(&block.block.stmts),
        Expr::If(conditional) => {
            let (_, otherwise) = conditional.else_branch.as_ref()?;
            of_statements(&conditional.then_branch.stmts).or_else(|| returned_literal(otherwise))
        }
        Expr::Match(matched) => matched
            .arms
            .iter()
            .find_map(|arm| returned_literal(&arm.body)),
        _ => None,
    }
}

fn of_statements(statements: &[Stmt]) -> Option<&Lit> {
    match statements.last()? {
        Stmt::Expr(result, None) => returned_literal(result),
        _ => None,
    }
}
