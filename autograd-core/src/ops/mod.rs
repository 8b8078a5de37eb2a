//! The built-in functions, each in a file of its own, written with
//! [`custom_function`](crate::custom_function) as any user's would be: the examples to learn from.
//!
//! They are used through operators and methods of [`Tensor`]; the types are here for
//! those who want `apply` as a function, or the bare kernels.

mod add;
mod broadcast;
mod concat;
mod div;
mod exp;
mod flip;
mod gather;
mod index_select;
mod ln;
mod matmul;
mod mul;
mod neg;
mod operators;
mod pad;
mod permute;
mod powi;
mod reshape;
mod roll;
mod scalar;
mod slice;
mod split;
mod squeeze;
mod stack;
mod sub;
mod sum;
mod tanh;
mod transpose;

pub use add::Add;
pub use broadcast::{BroadcastTo, SumTo};
pub use concat::Concat;
pub use div::Div;
pub use exp::Exp;
pub use flip::Flip;
pub use gather::{Gather, ScatterAdd};
pub use index_select::{IndexAdd, IndexSelect};
pub use ln::Ln;
pub use matmul::MatMul;
pub use mul::Mul;
pub use neg::Neg;
pub use pad::Pad;
pub use permute::Permute;
pub use powi::Powi;
pub use reshape::Reshape;
pub use roll::Roll;
pub use scalar::{AddScalar, DivScalar, MulScalar, ScalarDiv, ScalarSub};
pub use slice::{Place, Slice};
pub use squeeze::{Squeeze, Unsqueeze};
pub use stack::Stack;
pub use sub::Sub;
pub use sum::Sum;
pub use tanh::Tanh;
pub use transpose::Transpose;

use ndarray::Dimension;

use crate::{Element, Tensor, kernels};

/// The sum of the two shares of a tangent, of which either may be missing.
#[track_caller]
fn joined<T: Element, D: Dimension>(
    x: Option<Tensor<T, D>>,
    y: Option<Tensor<T, D>>,
) -> Option<Tensor<T, D>> {
    match (x, y) {
        (Some(x), Some(y)) => Some(x + y),
        (x, y) => x.or(y),
    }
}

/// A constant of zeros, to add to.
fn zeros<T: Element, D: Dimension>(shape: &[usize]) -> Tensor<T, D> {
    Tensor::from(kernels::filled(shape, T::zero()))
}

#[cfg(test)]
mod tests;
