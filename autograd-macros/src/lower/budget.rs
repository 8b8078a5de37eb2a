//! Decides which formulas are small enough that their loops are written out: with their derivatives, others would take
//! long to compile.

use proc_macro2::{Ident, TokenStream, TokenTree};

use crate::model::{Elementwise, Operation, Reversed, Style};
use crate::spell::is_mark;

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

/// The most numbers of the step of a scan whose derivatives it compiles.
const COMPILED_OF_STEP: u64 = 8;

/// Returns whether a body takes little time to compile, with a derivative for each number.
pub(super) fn is_small(body: &TokenStream, elementwise: &Elementwise) -> bool {
    let most = COMPILED[usize::from(elementwise.pairs.is_some())];
    let rows = elementwise.rows.iter().map(|row| match row {
        None => 1,
        Some(row) => elementwise.length_of(row).unwrap_or(most),
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

/// Returns whether a formula takes little time to compile with its derivatives in reverse, or would take more by dual numbers.
pub(super) fn is_small_in_reverse(reversed: &Reversed, elementwise: &Elementwise) -> bool {
    let is_scan = elementwise.scan.is_some();
    let most = if is_scan {
        COMPILED_OF_STEP
    } else {
        COMPILED[usize::from(elementwise.pairs.is_some())]
    };
    let is_compiled = is_scan || elementwise.style == Style::WrittenOut;
    if is_compiled && reversed.inputs as u64 <= most {
        return true;
    }
    let operations = reversed.operations.iter().map(|operation| match operation {
        Operation::Constant(_) => 0,
        Operation::Negated(_)
        | Operation::Operator(..)
        | Operation::Chosen(..)
        | Operation::Condition(_) => 1,
        Operation::Method(method, _) => of_method(method),
    });
    // The derivative of each has about two more.
    operations.sum::<u64>() * 3 <= OPERATIONS
}

fn of_method(method: &Ident) -> u64 {
    let is_short = SHORT.iter().any(|short| method == short);
    if is_short { 1 } else { METHOD }
}

/// Returns the number of operations.
fn operations(tokens: &TokenStream) -> u64 {
    let mut before = None;
    let counts = tokens.clone().into_iter().map(|token| {
        let after_a_dot = before.as_ref().is_some_and(|before| is_mark(before, '.'));
        let count = match &token {
            TokenTree::Group(group) => operations(&group.stream()),
            TokenTree::Ident(word) if after_a_dot => of_method(word),
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
        let kernels = concat!(env!("CARGO_MANIFEST_DIR"), "/../autograd-kernels/src");
        for (file, name, most) in [
            ("elementwise/replayed.rs", "MOST_DUAL", COMPILED[0]),
            ("elementwise/replayed.rs", "MOST_DUAL_OF_PAIRS", COMPILED[1]),
            ("scan/loops.rs", "MOST_DUAL", COMPILED_OF_STEP),
        ] {
            let source = std::fs::read_to_string(format!("{kernels}/{file}")).unwrap();
            assert!(
                source.contains(&format!("const {name}: usize = {most};")),
                "{name}"
            );
        }
    }
}
