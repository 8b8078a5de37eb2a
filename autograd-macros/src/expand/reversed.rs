//! Generates the derivatives of a formula in reverse: its operations, and then, from the last number to the first, the sum
//! of what each use of the number passes to it.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::{BinOp, Ident};

use super::tokens::{local, number};
use super::values::{block_of_entries, value};
use crate::compiler;
use crate::lists::Lists as _;
use crate::model::{Condition, Elementwise, Operand, Operation, Reversed};
use crate::spell::{has_word, numbered};

/// The methods whose derivative is 0.
const CONSTANT: [&str; 6] = [
    "ceil",
    "detach",
    "floor",
    "round",
    "round_ties_even",
    "signum",
];

/// Generates `Formula::pulled_back`.
pub(super) fn derivatives(
    reversed: &Reversed,
    elementwise: &Elementwise,
    p: &TokenStream,
) -> TokenStream {
    let Reversed {
        items,
        inputs,
        operations,
        branches,
        outputs,
        has_outputs,
    } = reversed;
    let depth = |place: usize| {
        let branch = place.checked_sub(*inputs).and_then(|at| branches[at]);
        branch.map_or(0, |branch| branch.depth)
    };
    let [entries, at] = block_of_entries();
    // Types have no hygiene: a type of the user is not to be hidden by the parameter.
    let [x, g, real] = ["x", "g", "__Number"].map(local);
    let results = operations.iter().zip(*inputs..);
    let results: TokenStream = results
        .map(|(operation, place)| result(place, operation, &real, p))
        .tokens();
    let values = elementwise.values.iter().filter_map(|(name, _)| {
        let value = value(name, elementwise, &quote!(self))?;
        has_word(results.clone(), name).then(|| quote!(let #name = #value;))
    });
    let mut terms: Vec<Vec<Term>> = Vec::new();
    terms.resize_with(inputs + operations.len(), Vec::new);
    for (output, result) in outputs.iter().enumerate() {
        let output = number(output);
        terms[*result].push(Term::plus(quote!(#g[#output])));
    }
    let mut sums = TokenStream::new();
    for place in (0..terms.len()).rev() {
        let (adjoint, own) = (adjoint(place), sum(&terms[place], &real, p));
        let Some(own) = own else {
            continue;
        };
        sums.extend(quote!(let #adjoint = #own;));
        let Some(at) = place.checked_sub(*inputs) else {
            continue;
        };
        let is_inside = |operand: usize| depth(operand) > depth(place);
        for (operand, mut term) in passed(place, &operations[at], &is_inside, p) {
            // What leaves a branch: there may be anything in one that is not taken.
            if let Some(branch) = branches[at]
                && depth(operand) < branch.depth
            {
                term.conditions.push(branch.condition);
            }
            terms[operand].push(term);
        }
    }
    let numbers = (0..*inputs).map(|input| (numbered(input), number(input)));
    let numbers = numbers.map(|(name, input)| quote!(let #name = #x[#input];));
    let adjoints = (0..*inputs).map(|input| {
        if terms[input].is_empty() {
            zero(&real)
        } else {
            adjoint(input).into_token_stream()
        }
    });
    let returned = outputs.iter().map(|output| numbered(*output));
    let (count, of_outputs) = (number(*inputs), number(outputs.len()));
    let inline = compiler::inline();
    let of_outputs_too = has_outputs.then(|| {
        quote!(
            const OUTPUTS_IN_REVERSE: ::core::primitive::bool = true;
        )
    });
    quote! {
        const IS_REVERSED: ::core::primitive::bool = true;
        #of_outputs_too

        #inline
        fn pulled_back<#real: #p::Real>(
            &self,
            #entries: &Self::Entries,
            #at: #p::Place,
            #x: [#real; #count],
            #g: [#real; #of_outputs],
        ) -> ([#real; #count], [#real; #of_outputs])
        where
            ::core::primitive::f64: #p::Literal<#real>,
        {
            #(#[allow(dead_code, unused_imports)] #items)*
            #(#values)*
            #(#numbers)*
            #results
            #sums
            ([#(#adjoints),*], [#(#returned),*])
        }
    }
}

/// What a use of a number passes to it.
struct Term {
    is_negative: bool,
    /// What is passed is 0 unless these hold.
    conditions: Vec<usize>,
    /// A product, or an operand of one.
    tokens: TokenStream,
}

impl Term {
    fn plus(tokens: TokenStream) -> Self {
        Self {
            is_negative: false,
            conditions: Vec::new(),
            tokens,
        }
    }

    fn minus(tokens: TokenStream) -> Self {
        Self {
            is_negative: true,
            ..Self::plus(tokens)
        }
    }
}

fn zero(real: &Ident) -> TokenStream {
    constant(&quote!(0.0), real)
}

/// Generates a number without derivatives.
fn constant(value: &TokenStream, real: &Ident) -> TokenStream {
    quote!(<#real as ::core::convert::From<::core::primitive::f64>>::from(#value))
}

/// An operand of a sum, and whether it is negative.
type Signed = (bool, TokenStream);

/// Returns the sum of some terms, if there are any.
fn sum(terms: &[Term], real: &Ident, p: &TokenStream) -> Option<TokenStream> {
    let mut sums: Vec<(&[usize], Vec<Signed>)> = vec![(&[], Vec::new())];
    for term in terms {
        let signed = (term.is_negative, term.tokens.clone());
        let mut own = sums.iter_mut();
        match own.find(|(conditions, _)| *conditions == term.conditions) {
            Some((_, sum)) => sum.push(signed),
            None => sums.push((&term.conditions, vec![signed])),
        }
    }
    let sums = sums
        .into_iter()
        .flat_map(|(conditions, sum)| match conditions {
            [] => sum,
            conditions => {
                let sum = difference(sum).unwrap_or_default();
                let zero = zero(real);
                let chosen = conditions.iter().fold(sum, |sum, condition| {
                    let condition = numbered(*condition);
                    quote!(#p::chosen(#condition, #sum, #zero))
                });
                vec![(false, chosen)]
            }
        });
    difference(sums.listed())
}

/// Returns the sum of some operands, of which some are negative.
fn difference(mut terms: Vec<Signed>) -> Option<TokenStream> {
    // A difference is one operation, a negated number one more.
    terms.sort_by_key(|(is_negative, _)| *is_negative);
    let (first, others) = terms.split_first()?;
    let others = others.iter().map(|(is_negative, term)| {
        if *is_negative {
            quote!(- #term)
        } else {
            quote!(+ #term)
        }
    });
    let (is_negative, first) = first;
    let sign = is_negative.then(|| quote!(-));
    Some(quote!(#sign #first #(#others)*))
}

/// Generates an operation.
fn result(place: usize, operation: &Operation, real: &Ident, p: &TokenStream) -> TokenStream {
    let name = numbered(place);
    match operation {
        Operation::Constant(value) => {
            let value = constant(value, real);
            quote!(let #name = #value;)
        }
        Operation::Condition(condition) => {
            let condition = match condition {
                Condition::Compared(operator, [left, right]) => {
                    let (left, right) = (written(left), written(right));
                    quote!(#left #operator #right)
                }
                Condition::Plain(condition) => condition.clone(),
                Condition::Not(condition) => {
                    let condition = numbered(*condition);
                    quote!(!#condition)
                }
                Condition::Both(operator, [left, right]) => {
                    let (left, right) = (numbered(*left), numbered(*right));
                    quote!(#left #operator #right)
                }
            };
            quote!(let #name = #condition;)
        }
        Operation::Chosen([condition, _], operands) => {
            let condition = numbered(*condition);
            let operands = operands.iter().map(|operand| match operand {
                Operand::Number(_) => written(operand),
                Operand::Plain(value) => constant(value, real),
            });
            quote!(let #name = #p::chosen(#condition, #(#operands),*);)
        }
        Operation::Negated(number) => {
            let number = numbered(*number);
            quote!(let #name = -#number;)
        }
        Operation::Operator(operator, [left, right]) => {
            let (left, right) = (written(left), written(right));
            quote!(let #name = #left #operator #right;)
        }
        Operation::Method(method, operands) if is_constant(method) => {
            let operands = operands.iter().map(written);
            quote!(let #name = #p::Real::#method(#(#operands),*);)
        }
        Operation::Method(method, operands) => {
            let own = of_operation(place);
            let count = number(numbers(operands).count());
            let mut variables = 0;
            let operands = operands.iter().map(|operand| {
                let written = written(operand);
                let Operand::Number(_) = operand else {
                    return written;
                };
                let variable = number(variables);
                variables += 1;
                quote!(#p::variable::<#real, #count>(#written, #variable))
            });
            quote! {
                let #own = #p::Real::#method(#(#operands),*);
                let #name = #p::value_of(&#own);
            }
        }
    }
}

/// Returns what an operation passes to its operands, of the derivative with respect to its result. Those of a choice may be
/// inside of its branches.
fn passed(
    place: usize,
    operation: &Operation,
    is_inside: &dyn Fn(usize) -> bool,
    p: &TokenStream,
) -> Vec<(usize, Term)> {
    let adjoint = adjoint(place);
    match operation {
        Operation::Constant(_) | Operation::Condition(_) => Vec::new(),
        Operation::Chosen(conditions, operands) => {
            let mut passed = Vec::new();
            for (condition, operand) in conditions.iter().zip(operands) {
                let Operand::Number(number) = operand else {
                    continue;
                };
                let mut term = Term::plus(adjoint.to_token_stream());
                // A branch passes nothing on by itself if it is not taken.
                if !is_inside(*number) {
                    term.conditions.push(*condition);
                }
                passed.push((*number, term));
            }
            passed
        }
        Operation::Negated(number) => vec![(*number, Term::minus(quote!(#adjoint)))],
        Operation::Operator(operator, [left, right]) => {
            let mut passed = Vec::new();
            if let Operand::Number(number) = left {
                let term = match (operator, right) {
                    (BinOp::Mul(_), right) => {
                        let right = written(right);
                        quote!(#adjoint * #right)
                    }
                    (BinOp::Div(_), Operand::Number(right)) => {
                        let right = numbered(*right);
                        quote!(#adjoint * #p::Real::recip(#right))
                    }
                    (BinOp::Div(_), Operand::Plain(right)) => {
                        quote!(#adjoint * ::core::primitive::f64::recip(#right))
                    }
                    _ => quote!(#adjoint),
                };
                passed.push((*number, Term::plus(term)));
            }
            if let Operand::Number(number) = right {
                let term = match operator {
                    BinOp::Mul(_) => {
                        let left = written(left);
                        Term::plus(quote!(#adjoint * #left))
                    }
                    BinOp::Div(_) => {
                        let (quotient, right) = (numbered(place), numbered(*number));
                        Term::minus(quote!(#adjoint * #p::slope_of_divisor(#quotient, #right)))
                    }
                    BinOp::Sub(_) => Term::minus(quote!(#adjoint)),
                    _ => Term::plus(quote!(#adjoint)),
                };
                passed.push((*number, term));
            }
            passed
        }
        Operation::Method(method, _) if is_constant(method) => Vec::new(),
        Operation::Method(_, operands) => {
            let own = of_operation(place);
            let operands = numbers(operands).enumerate();
            let terms = operands.map(|(variable, operand)| {
                let variable = number(variable);
                let term = quote!(#p::passed(#adjoint, &#own, #variable));
                (operand, Term::plus(term))
            });
            terms.listed()
        }
    }
}

fn is_constant(method: &Ident) -> bool {
    CONSTANT.iter().any(|constant| method == constant)
}

fn numbers(operands: &[Operand]) -> impl Iterator<Item = usize> {
    operands.iter().filter_map(|operand| match operand {
        Operand::Number(number) => Some(*number),
        Operand::Plain(_) => None,
    })
}

fn written(operand: &Operand) -> TokenStream {
    match operand {
        Operand::Number(number) => numbered(*number).into_token_stream(),
        Operand::Plain(tokens) => tokens.clone(),
    }
}

fn of_operation(place: usize) -> Ident {
    local(format_args!("operation_{place}"))
}

fn adjoint(place: usize) -> Ident {
    local(format_args!("adjoint_{place}"))
}
