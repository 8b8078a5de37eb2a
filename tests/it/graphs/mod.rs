//! Random graphs of random functions: whatever is built of them has the gradients that finite
//! differences say, in every way of asking for them, or an error.
//!
//! `PROPTEST_CASES=100000 cargo test --test it graphs` tries so many.

mod check;
mod forms;
mod functions;
mod modes;
mod program;
mod run;
mod steps;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

pub use forms::SineInPlace;
pub use program::{Kind, Program, arbitrary};
pub use run::{Cuts, Dyn};

use program::programs;
use run::Run;

/// The number of programs that are tried.
const CASES: u32 = 1000;

impl fmt::Debug for Program {
    /// Writes the program, a line for each step, up to the step that fails.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        for (place, leaf) in self.leaves.iter().enumerate() {
            writeln!(f, "    v{place}: {leaf:?}")?;
        }
        let leaves = self.leaves();
        let mut cuts = Cuts::default();
        let mut run = Run::new(&leaves, &mut cuts);
        for step in &self.steps {
            if catch_unwind(AssertUnwindSafe(|| run.step(*step))).is_err() {
                run.listing.push_str(" panics");
                break;
            }
        }
        write!(
            f,
            "{}    loss of {:?} and the last",
            run.listing, self.outputs
        )
    }
}

fn run(of: impl Fn(Kind) -> bool, check: impl Fn(&Program) -> Result<(), String>) {
    try_programs(cases(), of, check);
}

fn cases() -> u32 {
    cases_or(CASES)
}

/// Returns the number of cases that the environment asks for, or `usual`.
pub fn cases_or(usual: u32) -> u32 {
    let cases = std::env::var("PROPTEST_CASES");
    let cases = cases.ok().and_then(|cases| cases.parse().ok());
    cases.unwrap_or(usual)
}

/// Tries `check` on programs of these kinds of steps.
pub fn try_programs(
    cases: u32,
    of: impl Fn(Kind) -> bool,
    check: impl Fn(&Program) -> Result<(), String>,
) {
    try_all(cases, &programs(of), check);
}

/// Tries `check` on programs of these kinds of steps, each with something else.
fn try_pairs<S: Strategy>(
    of: impl Fn(Kind) -> bool,
    other: S,
    check: impl Fn(&Program, &S::Value) -> Result<(), String>,
) {
    let pairs = (programs(of), other);
    try_all(cases(), &pairs, |(program, other)| check(program, other));
}

fn try_all<S: Strategy>(cases: u32, of: &S, check: impl Fn(&S::Value) -> Result<(), String>) {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let result =
        TestRunner::new(config).run(of, |value| check(&value).map_err(TestCaseError::fail));
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn gradients_of_any_graph_are_those_of_finite_differences() {
    run(|_| true, check::first_order);
}

#[test]
fn gradients_of_gradients_are_too() {
    run(Kind::is_differentiable_again, check::second_order);
}

#[test]
fn gradients_of_gradients_are_right_or_an_error_where_not_everything_is_differentiable_again() {
    run(|_| true, check::second_order);
}

#[test]
fn every_way_of_asking_gives_the_same() {
    run(|_| true, check::ways);
}

#[test]
fn forward_mode_agrees_with_backward() {
    run(Kind::has_rule, check::forward_mode);
}

#[test]
fn forward_mode_agrees_or_is_an_error_where_there_are_functions_without_a_rule() {
    run(|_| true, check::forward_mode);
}
