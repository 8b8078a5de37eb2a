//! Random expressions of all functions of `Real`: their values, derivatives and second derivatives by the loops of
//! elementwise functions are those of finite differences, and those of the same expression on tensors.
//!
//! `PROPTEST_CASES=100000 cargo test --release --test it expressions` tries that many.

mod check;
mod kinks;
mod recurrences;
mod rows;
mod tensors;
mod tree;

use std::cell::RefCell;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use check::{Found, Points, Verdict};
use tree::{Operation, Tree};

use crate::graphs::cases_or;

/// Tries expressions, `cases` of them unless the environment has a number.
fn run(cases: u32, check: impl Fn(&Tree, &Points) -> Result<Verdict, String>) {
    run_with(cases, tree::trees(1..20), std::slice::from_ref, check);
}

/// Tries things that have expressions.
fn run_with<S: Strategy>(
    cases: u32,
    things: S,
    trees: impl Fn(&S::Value) -> &[Tree],
    check: impl Fn(&S::Value, &Points) -> Result<Verdict, String>,
) {
    let cases = cases_or(cases);
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let counts = RefCell::new((0_usize, 0_usize, vec![0_usize; Operation::ALL.len()]));
    // Shrinking would move points to 0, which is where the kinks are.
    let numbers = prop::array::uniform10(-2.0..2.0).no_shrink();
    let strategy = (things, numbers);
    // The same in each run: a tolerance that is missed once in many runs would be nobody's mistake.
    let numbers = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, numbers);
    let result = runner.run(&strategy, |(thing, numbers)| {
        let verdict = check(&thing, &Points(numbers)).map_err(TestCaseError::fail)?;
        let (compared, skipped, occurrences) = &mut *counts.borrow_mut();
        *compared += verdict.compared;
        *skipped += verdict.skipped;
        if verdict.compared > 0 {
            for operation in trees(&thing).iter().flat_map(Tree::operations) {
                occurrences[operation as usize] += 1;
            }
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let (compared, skipped, occurrences) = counts.into_inner();
    println!(
        "{compared} compared, {skipped} skipped, {:?}",
        occurrences.iter().min()
    );
    assert!(
        skipped * 50 < compared,
        "{skipped} are skipped, {compared} compared"
    );
    for (operation, count) in Operation::ALL.iter().zip(occurrences) {
        assert!(
            count >= cases as usize / 50,
            "{operation:?} occurs {count} times"
        );
    }
}

#[test]
fn derivatives_are_those_of_finite_differences() {
    run(10_000, |tree, points| {
        Found::new(tree, points).agrees_with_differences()
    });
}

#[test]
fn derivatives_are_those_of_the_same_functions_of_tensors() {
    run(10_000, |tree, points| {
        Found::new(tree, points).agrees_with_tensors()
    });
}

#[test]
fn rows_have_the_derivatives_of_their_columns() {
    let trees = || tree::trees(1..9);
    let trees = (trees(), trees(), trees()).prop_map(|(a, b, c)| Arc::new([a, b, c]));
    run_with(2_000, trees, |trees| &trees[..], rows::agree);
}

#[test]
fn recurrences_have_the_derivatives_of_loops_on_the_tape() {
    let trees = || tree::trees(1..7);
    let trees = (trees(), trees(), trees()).prop_map(|(a, b, c)| Arc::new([a, b, c]));
    run_with(1_000, trees, |trees| &trees[..], recurrences::agree);
}

/// A new function must occur in the expressions.
#[test]
fn all_functions_of_real_numbers_occur() {
    let source = include_str!("../../../autograd-kernels/src/element/real.rs");
    let names: Vec<&str> = source
        .lines()
        .filter_map(|line| line.strip_prefix("    fn ")?.split('(').next())
        .collect();
    assert!(names.len() > 40, "{names:?}");
    for name in names {
        let is_known = Operation::ALL.iter().any(|operation| {
            format!("{operation:?}").to_lowercase() == name.replace('_', "").to_lowercase()
        });
        assert!(is_known, "`{name}` occurs in no expression");
    }
}
