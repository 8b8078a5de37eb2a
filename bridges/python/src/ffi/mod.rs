//! Functions for programs of XLA, which JAX compiles: they run without Python.
//!
//! XLA calls one handler for all functions of a module, with the text of a [`program`]: a function with its values,
//! derivatives of it, and axes of examples. `_pullback/jax.py` writes the text. [`abi`] is the interface to XLA, with
//! all unsafe code, and [`plain`] has values without Python.

pub(crate) mod abi;
mod examples;
pub(crate) mod plain;
mod program;
mod text;

pub(crate) use program::add;

/// Returns the address of the handler that XLA calls.
pub(crate) fn handler() -> usize {
    abi::address::<program::Program>()
}
