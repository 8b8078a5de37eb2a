//! The examples of maps that a thread is in.

use std::cell::Cell;

use super::scoped::{Scoped, current};

/// An example of a map: the map's floor, and the position of the example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExampleId {
    pub(crate) map: u64,
    pub(crate) example: usize,
}

thread_local! {
    /// The examples whose function, or whose backward pass, this thread runs, the innermost last.
    pub(crate) static EXAMPLES: Cell<Vec<ExampleId>> = const { Cell::new(Vec::new()) };
}

/// Runs the function of an example, or a pass through it.
pub(crate) fn in_example<R>(id: ExampleId, body: impl FnOnce() -> R) -> R {
    let mut examples = current(&EXAMPLES);
    examples.push(id);
    let _scope = Scoped::set(&EXAMPLES, examples);
    body()
}

/// Returns whether this thread is in an example.
pub(crate) fn is_in_example(id: ExampleId) -> bool {
    current(&EXAMPLES).contains(&id)
}
