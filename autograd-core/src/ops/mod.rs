//! The built-in functions, each in a file of its own, written with
//! [`custom_function`](crate::custom_function) as any user's would be: the examples to learn from.
//!
//! They are used through operators and methods of [`Tensor`]; the types are here for
//! those who want `apply` as a function, or the bare kernels.

mod add;
mod broadcast;
mod div;
mod dropout;
mod embedding;
mod exp;
mod ln;
mod losses;
mod matmul;
mod mul;
mod neg;
mod norms;
mod operators;
mod powi;
mod reductions;
mod scalar;
mod sub;
mod sum;
mod tanh;
mod transpose;

pub use add::Add;
pub use broadcast::{BroadcastTo, SumTo};
pub use div::Div;
pub use dropout::Dropout;
pub use embedding::{AddRows, Embedding, TakeRows};
pub use exp::Exp;
pub use ln::Ln;
pub use losses::{
    AbsoluteError, BceWithLogits, CrossEntropy, CrossEntropyGradient, CrossEntropyOptions,
    HuberLoss, KlDiv, NllLoss, Reduction, SquaredError,
};
pub use matmul::MatMul;
pub use mul::Mul;
pub use neg::Neg;
pub use norms::{ChannelRepeat, ChannelSum, Normalise, NormaliseGradient, ScaleShift, Statistics};
pub use powi::Powi;
pub use reductions::{
    CumSum, DotOver, Extreme, Extremum, FirstExtreme, LogSoftmax, LogSoftmaxGradient, LogSumExp,
    Norm, Pick, Prod, Put, RepeatOver, Softmax, SoftmaxGradient, Std, SumOver, Var,
};
pub use scalar::{AddScalar, DivScalar, MulScalar, ScalarDiv, ScalarSub};
pub use sub::Sub;
pub use sum::Sum;
pub use tanh::Tanh;
pub use transpose::Transpose;

use ndarray::Dimension;

use crate::{Element, Tensor};

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

#[cfg(test)]
mod tests;
