//! Rewrites the other forms of a definition into the block that they stand for; the rules then look at that.
//!
//! - [`short`]: the short form, a free function with an expression for each gradient.
//! - [`angles`]: which formulas of angles are NaN where an angle is.
//! - [`budget`]: which formulas may become longer.
//! - [`closures`]: the closures of a formula, which are made part of its loop.
//! - [`elementwise`]: a formula, which becomes the short form of a function on arrays.
//! - [`unrolled`]: the loops of a formula, written out.
//! - [`written_out`]: whether the compiler makes vector code of a formula.
//! - [`reversed`]: the derivatives of a formula in reverse; [`plain`]: what has none in it.
//! - [`scan`]: the inputs of a scan, in the order that the runtime has.
//! - [`adjoint`]: what follows from the adjoint of a linear function.
//!
//! Nothing is judged here. Only this stage rewrites syntax.

pub(crate) mod adjoint;
mod angles;
mod budget;
pub(crate) mod closures;
pub(crate) mod elementwise;
mod plain;
pub(crate) mod reversed;
pub(crate) mod scan;
pub(crate) mod short;
mod unrolled;
pub(crate) mod written_out;

use crate::parse::Argument;

/// The arguments of a free function's attribute which, in a block, are those of other attributes.
#[derive(Default)]
pub(crate) struct ShortArguments {
    /// Each `grad(…) = …` and `adjoint(…) = …`.
    pub(crate) grads: Vec<Argument>,
    /// The arguments that `#[forward(…)]` has too.
    pub(crate) forward: Vec<Argument>,
    pub(crate) higher_order: bool,
    /// Whether all of it could be read.
    pub(crate) complete: bool,
}
