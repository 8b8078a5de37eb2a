//! Loops over elements that compute an elementwise function, its derivatives, and derivatives of those.
//!
//! The body of an elementwise function is a *formula*, written once for any [`Real`](crate::Real): with elements it
//! gives values, with [`dual::Dual`] numbers derivatives. [`Blocks`] has the loops of a formula: `order` has the
//! numbers that a formula is called with, `work` computes a block of elements at a time, for an [`Evaluation`].
//! [`evaluate`] runs the loops over arrays of any layout, on all threads, whatever the formula is, and [`evaluate_short`]
//! over a few numbers.
//!
//! # Rows
//!
//! A tensor has a number or a row of numbers for each element: its [`Item`]. To the loops, a row of N numbers is N
//! inputs, or N outputs, and the lanes of a register are rows. Loops read and write rows of up to four numbers where they
//! are; longer ones, and those of pairs, have a slice for each number: [`evaluate`] takes a block of rows apart before a
//! loop and puts its results together after it, while both are in the fastest cache (`interleaved`).
//!
//! `each` has loops over the numbers of a formula, `sides` adds the results of pairs in registers.
//!
//! A pass that needs derivatives with respect to few inputs runs a loop for each *group* of them, with no other
//! tangents. A group is never of two tensors, and is small enough for registers. A formula with more numbers than fit, or
//! that the compiler makes no vector code of, is [`recorded`], and differentiated in reverse (`replayed`, and for pairs
//! `replayed_pairs`); with entries for each element it is another formula for each, and differentiated by groups alone. The
//! values of one that the compiler may make no vector code of are computed by the [`faster`] of its loop and a replay.
//!
//! # Partial derivatives
//!
//! Let f have the inputs x and the outputs y, and let g be gradients of y. A backward pass needs the derivatives, with
//! respect to x, of the *pairing* c₁(x, g) = Σₖ gₖ fₖ(x): derivatives of f of order 1. They are functions of x and g,
//! which are differentiated again along directions w: c₂(x, g, w) is the derivative of c₁ along w, and its partial
//! derivatives are of order 2, and so on.
//!
//! At order n the inputs have 2ⁿ⁻¹ components each: themselves, directions, and directions of directions, as dual
//! numbers of dual numbers have. Along the direction that was added last, f is differentiated last, which is innermost.
//! So the number of a component has a bit for each direction, the first direction's the highest; a new direction is a
//! new lowest bit.
//!
//! The pairing is the component with all bits of Σₖ gₖ fₖ(x). In it, a component S of x occurs where the derivatives
//! have the other bits, W = ¬S: ∂c/∂xᵢ is the component W of Σₖ gₖ ∂ᵢfₖ, and ∂c/∂gₖ that of fₖ.

#![allow(
    clippy::inline_always,
    clippy::needless_range_loop,
    reason = "a loop is vector code only if all of its body is in it, without the branches of zipped iterators"
)]

pub(crate) mod angles;
mod blocks;
pub(crate) mod dual;
pub(crate) mod each;
pub(crate) mod entries;
mod evaluate;
pub(crate) mod evaluation;
mod faster;
mod floats;
pub(crate) mod formula;
pub(crate) mod groups;
mod interleaved;
mod item;
pub(crate) mod order;
mod pairs;
pub(crate) mod recorded;
mod replayed;
mod replayed_pairs;
mod reversed;
mod short;
mod sides;
pub(crate) mod terms;
mod tile;
pub mod unary;
pub(crate) mod work;

pub use blocks::Blocks;
pub use entries::{Elements, Entries, Place, entries};
pub use evaluate::evaluate;
pub use evaluation::{Evaluation, Loops};
pub use faster::Faster;
pub use formula::{
    Formula, SliceFormula, from_plain, list_value, parts, plain, plain_row, pulled_back, put, row,
};
pub use item::{Item, MOST_NUMBERS, of_numbers};
pub use pairs::{evaluate_reduced, evaluate_sums};
pub use reversed::{chosen, known, passed, slope_of_divisor, value_of, variable};
pub use short::{MOST_SHORT, evaluate_short};
pub use tile::Side;
pub use unary::{Unary, UnaryLoops};

#[cfg(test)]
mod tests;
