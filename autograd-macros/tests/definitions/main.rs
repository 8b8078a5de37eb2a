//! Random definitions: functions of every shape that the contract allows, written by a generator that derives
//! their gradients itself.
//!
//! - Right ones compile, pass their generated `gradcheck(…)` test, and have gradients that agree with differences of
//!   a loss.
//! - Some have a twin with a wrong coefficient in one derivative. All tests of these fail.
//! - Each definition is also compiled with a mistake, twice with another one. That is exactly one error, as rustc emits
//!   them, on a line of the mistake.
//!
//! 60 definitions are tried, or `PULLBACK_DEFINITIONS` many; `PULLBACK_DEFINITIONS=17..18` tries number 17 alone.
//! Each number gives the same definition on every machine. A failure prints the number and the source.

mod attribute;
mod batch;
mod checks;
mod compile;
mod derivative;
mod draw;
mod formula;
mod forward;
mod generics;
mod mistakes;
mod model;
mod names;
mod numbers;
mod random;
mod sum;
mod text;
mod values;
mod write;

use std::env;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use compile::Ran;
use model::Twin;
use random::Random;

/// The number of definitions in one crate of tests.
const BATCH: usize = 30;

#[test]
fn right_definitions_agree_with_differences() {
    let _turn = turn();
    let numbers: Vec<u64> = numbers().collect();
    let batches: Vec<&[u64]> = numbers.chunks(BATCH).collect();
    let failures = compile::two_at_a_time(&batches, |numbers| {
        let sources: Vec<String> = numbers.iter().map(|number| right(*number)).collect();
        failures(numbers, &sources, "right", true)
    });
    report(&failures.concat());
}

#[test]
fn wrong_derivatives_fail() {
    let _turn = turn();
    let numbers: Vec<u64> = numbers().filter(|number| number % 10 == 0).collect();
    let batches: Vec<&[u64]> = numbers.chunks(BATCH).collect();
    let failures = compile::two_at_a_time(&batches, |numbers| {
        let sources: Vec<String> = numbers.iter().map(|number| twin(*number)).collect();
        failures(numbers, &sources, "wrong", false)
    });
    report(&failures.concat());
}

#[test]
fn one_mistake_is_one_error() {
    let _turn = turn();
    let definitions = numbers();
    let mistakes = definitions.start * mistakes::EACH..definitions.end * mistakes::EACH;
    let mistakes: Vec<u64> = mistakes.collect();
    let failures = compile::two_at_a_time(&mistakes, |number| mistakes::check(*number));
    report(&failures.concat());
}

/// The tests take turns: each of them uses both processors.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn numbers() -> Range<u64> {
    let number = |text: &str| text.parse().expect("a number of definitions");
    let Ok(asked) = env::var("PULLBACK_DEFINITIONS") else {
        return 0..60;
    };
    match asked.split_once("..") {
        Some((first, end)) => number(first)..number(end),
        None => 0..number(&asked),
    }
}

fn right(number: u64) -> String {
    let definition = draw::with_options(draw::definition(number), number);
    let text = write::definition(&definition, number);
    checks::module(&module(number), &definition, &text, true)
}

fn twin(number: u64) -> String {
    let definition = draw::twin(
        draw::with_options(draw::definition(number), number),
        &mut Random::new(number),
    );
    let text = write::definition(&definition, number);
    // Only the generated test knows forward mode.
    let tested = definition.twin == Some(Twin::Backward);
    checks::module(&module(number), &definition, &text, tested)
}

fn module(number: u64) -> String {
    format!("definition_{number}")
}

/// Runs the tests of some definitions and returns what is wrong.
fn failures(numbers: &[u64], sources: &[String], kind: &str, pass: bool) -> Vec<String> {
    let name = format!("{kind}_{}", numbers[0]);
    let whole = [checks::PRELUDE, checks::DIFFERENCES, &sources.concat()].concat();
    let results = match compile::tests(&name, &whole) {
        Ok(results) => results,
        Err(printed) if numbers.len() == 1 => {
            return vec![format!(
                "definition {} does not compile:\n{printed}{}",
                numbers[0], sources[0]
            )];
        }
        // The halves show which.
        Err(_) => {
            let (first, second) = numbers.split_at(numbers.len() / 2);
            let (of_first, of_second) = sources.split_at(first.len());
            let failures = [
                failures(first, of_first, kind, pass),
                failures(second, of_second, kind, pass),
            ];
            return failures.concat();
        }
    };
    let mut failures = Vec::new();
    for (number, source) in numbers.iter().zip(sources) {
        let module = format!("{}::", module(*number));
        let own = results.iter().filter(|ran| ran.test.starts_with(&module));
        let mut tests = 0;
        for Ran {
            test,
            passed,
            printed,
        } in own
        {
            tests += 1;
            if *passed != pass {
                let passes = if *passed { "passes" } else { "fails" };
                failures.push(format!("{test} {passes}:\n{printed}\n{source}"));
            }
        }
        if tests == 0 {
            failures.push(format!("definition {number} has no test:\n{source}"));
        }
    }
    failures
}

fn report(failures: &[String]) {
    let mut shown = String::new();
    for failure in failures {
        let _ = writeln!(shown, "{failure}\n");
    }
    assert!(failures.is_empty(), "{shown}{} failures", failures.len());
}
