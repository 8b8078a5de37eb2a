//! Rules for the body of an elementwise function: what its tokens show, and what the compiler would report twice.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::parse::Parser as _;
use syn::{Block, Expr, Ident, Lit, Stmt};

use crate::diagnostics::Diagnostics;
use crate::model::Elementwise;
use crate::show::show;
use crate::spell::camel_case;
use crate::types::is_float;
use crate::uses;

/// What the rules know of a formula.
struct Formula<'a> {
    number: &'a Ident,
    /// Its inputs that are numbers, but for names that the body binds anew.
    inputs: Vec<&'a Ident>,
    /// The elementwise functions of the module, but for names that mean something else here.
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
    let inputs = elementwise.inputs.iter().zip(&elementwise.rows);
    let inputs = inputs
        .filter(|(_, row)| row.is_none())
        .map(|(input, _)| input);
    let formula = Formula {
        number: &elementwise.number,
        inputs: inputs
            .filter(|name| !uses::rebinds(body, &name.to_string()))
            .collect(),
        functions: functions.iter().filter(|name| !is_own(name)).collect(),
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
        let tokens: Vec<TokenTree> = body.clone().into_iter().collect();
        for (place, token) in tokens.iter().enumerate() {
            if let TokenTree::Group(inner) = token {
                self.check(&inner.stream(), diagnostics);
            }
            let (before, after) = tokens.split_at(place);
            self.calls_no_function_of_tensors(before.last(), after, diagnostics);
            self.calls_methods_of_numbers(after, diagnostics);
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

    /// Returns an input of the formula among arguments that only compute with it: a comparison, a closure, a block, a
    /// macro or a call could make something else of it, and a field could have its name.
    fn input_in(&self, arguments: &TokenStream) -> Option<&Ident> {
        if arguments
            .to_string()
            .contains(['<', '>', '|', '{', '!', '&'])
        {
            return None;
        }
        let mut before = None;
        let mut inputs = arguments.clone().into_iter().filter_map(|token| {
            match (before.replace(token.clone()), token) {
                (Some(dot), TokenTree::Ident(_)) if is_mark(&dot, '.') => None,
                (_, TokenTree::Ident(word)) => {
                    self.inputs.iter().copied().find(|input| **input == word)
                }
                (Some(TokenTree::Ident(_)), TokenTree::Group(_)) => None,
                (_, TokenTree::Group(group)) => self.input_in(&group.stream()),
                _ => None,
            }
        });
        inputs.next()
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

fn is_mark(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(mark) if mark.as_char() == sign)
}
