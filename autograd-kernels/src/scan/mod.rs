//! Recurrences over time: a formula of numbers that is computed step after step, and its derivatives.
//!
//! The formula of a scan has the inputs [states, steps, shared] and the results [new states, outputs]: the states that
//! the step before has left, the numbers of this step, and the numbers that are the same in each step. All axes but that
//! of steps are *lanes*, which do not depend on each other: they run in vector registers, a block at a time, and on all
//! threads. `loops` has the loops over steps and lanes that are compiled for a formula, of `forward` and `backward`;
//! `replayed` has those for formulas of many numbers, with `sums` over lanes: `slices` brings the components of an order
//! into the rows of a replay, whether the type says how many numbers there are or the tensors; `source` reads arrays of
//! any layout; `recurrence` has a scan on arrays, and `run` goes through time for it, forward and backward, whatever the
//! formula is; `segments` are the parts of time that are computed again.
//!
//! # Memory
//!
//! A backward pass needs the states before each step. Forward saves those before each √n-th step, [`Checkpoints`], and
//! backward runs the steps in between again, one *segment* at a time, from the last to the first: at most 2√n states. Of
//! a formula that is replayed, what its functions have computed there is kept too, of the lanes of a replay, if the cache
//! holds it.
//!
//! # Derivatives
//!
//! What an order, a component and the pairing are, `elementwise` explains; places are numbered as there, with the states,
//! the steps and the shared numbers as the inputs. At order n the recurrence is one of numbers with 2ⁿ⁻¹ components,
//! which runs forward. The derivatives of the pairing with respect to the states, the *adjoints*, are a recurrence of
//! such numbers too, which runs backward: those before a step are Σₖ gₖ ∂fₖ, where gₖ are the adjoints after the step and
//! the gradients of the outputs. The component W of this sum is the derivative with respect to the component ¬W.

#![allow(
    clippy::inline_always,
    clippy::needless_range_loop,
    reason = "a loop is vector code only if all of its body is in it, without the branches of zipped iterators"
)]

mod backward;
mod counts;
mod forward;
mod lanes;
mod loops;
mod recurrence;
mod replayed;
mod replays;
mod run;
mod segments;
mod slices;
mod source;
mod sums;

pub use counts::ScanCounts;
pub use loops::{ScanLoops, Scans};
pub use recurrence::Recurrence;
pub use segments::Checkpoints;
pub use slices::{SliceScans, row_of};

#[cfg(test)]
mod tests;
