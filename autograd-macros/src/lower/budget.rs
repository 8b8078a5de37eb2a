//! Decides which formulas are small enough that their loops are written out: with their derivatives, others would take
//! long to compile.

use proc_macro2::{TokenStream, TokenTree};

use crate::model::Elementwise;
use crate::spell::is_mark;
use crate::types::whole;

/// The most operations of a formula with its derivatives: with optimizations, they take some ten seconds to compile.
const OPERATIONS: u64 = 400;

/// The operations of a method of numbers that is not one of a few.
const METHOD: u64 = 10;

/// The methods that are.
#[rustfmt::skip]
const SHORT: [&str; 12] = [
    "abs", "clamp", "detach", "leaky_relu", "max", "min", "mul_add", "recip", "relu", "signum", "sqrt", "square",
];

/// The most numbers of a formula whose derivatives the runtime compiles, and of one of pairs.
const COMPILED: [u64; 2] = [6, 8];

/// Returns whether a body takes little time to compile, with a derivative for each number.
pub(super) fn is_small(body: &TokenStream, elementwise: &Elementwise) -> bool {
    let most = COMPILED[usize::from(elementwise.pairs.is_some())];
    let rows = elementwise.rows.iter().map(|row| match row {
        None => 1,
        Some(row) => row.length().and_then(whole).unwrap_or(most),
    });
    let numbers = rows.fold(0, u64::saturating_add);
    let is_recorded = numbers > most && elementwise.entries.is_empty();
    let copies = if is_recorded {
        1
    } else {
        numbers.saturating_add(1)
    };
    operations(body).saturating_mul(copies) <= OPERATIONS
}

/// Returns the number of operations.
fn operations(tokens: &TokenStream) -> u64 {
    let mut before = None;
    let counts = tokens.clone().into_iter().map(|token| {
        let after_a_dot = before.as_ref().is_some_and(|before| is_mark(before, '.'));
        let count = match &token {
            TokenTree::Group(group) => operations(&group.stream()),
            TokenTree::Ident(word) if after_a_dot => {
                let is_short = SHORT.iter().any(|short| word == short);
                if is_short { 1 } else { METHOD }
            }
            TokenTree::Punct(mark) if "+-*/".contains(mark.as_char()) => 1,
            _ => 0,
        };
        before = Some(token);
        count
    });
    counts.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_the_runtime() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../autograd-kernels/src/elementwise/replayed.rs"
        );
        let source = std::fs::read_to_string(path).unwrap();
        for (name, most) in [
            ("MOST_DUAL", COMPILED[0]),
            ("MOST_DUAL_OF_PAIRS", COMPILED[1]),
        ] {
            assert!(
                source.contains(&format!("const {name}: usize = {most};")),
                "{name}"
            );
        }
    }
}
