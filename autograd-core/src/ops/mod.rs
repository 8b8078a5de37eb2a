//! The built-in functions, each in a file of its own, written with
//! [`custom_function`](crate::custom_function) as any user's would be: the examples to learn from.
//!
//! They are used through operators and methods of [`Tensor`]; the types are here for
//! those who want `apply` as a function, or the bare kernels.

mod abs;
mod add;
mod arcs;
mod broadcast;
mod clamp;
mod div;
mod dropout;
mod elu;
mod embedding;
mod erf;
mod exp;
mod exp_m1;
mod extremum;
mod gelu;
mod gelu_tanh;
mod hyperbolic;
mod ln;
mod ln_1p;
mod losses;
mod matmul;
mod mul;
mod neg;
mod norms;
mod operators;
mod powf;
mod powi;
mod recip;
mod reductions;
mod relu;
mod roots;
mod scalar;
mod sigmoid;
mod silu;
mod softplus;
mod square;
mod sub;
mod sum;
mod tanh;
mod transpose;
mod trigonometric;
mod where_;

pub use abs::Abs;
pub use add::Add;
pub use arcs::{Acos, Asin, Atan};
pub use broadcast::{BroadcastTo, SumTo};
pub use clamp::Clamp;
pub use div::Div;
pub use dropout::Dropout;
pub use elu::Elu;
pub use embedding::{AddRows, Embedding, TakeRows};
pub use erf::Erf;
pub use exp::Exp;
pub use exp_m1::ExpM1;
pub use extremum::{Maximum, Minimum};
pub use gelu::Gelu;
pub use gelu_tanh::GeluTanh;
pub use hyperbolic::{Cosh, Sinh};
pub use ln::Ln;
pub use ln_1p::Ln1p;
pub use losses::{
    AbsoluteError, BceWithLogits, CrossEntropy, CrossEntropyGradient, CrossEntropyOptions,
    HuberLoss, KlDiv, NllLoss, Reduction, SquaredError,
};
pub use matmul::MatMul;
pub use mul::Mul;
pub use neg::Neg;
pub use norms::{ChannelRepeat, ChannelSum, Normalise, NormaliseGradient, ScaleShift, Statistics};
pub use powf::Powf;
pub use powi::Powi;
pub use recip::Recip;
pub use reductions::{
    CumSum, DotOver, Extreme, Extremum, FirstExtreme, LogSoftmax, LogSoftmaxGradient, LogSumExp,
    Norm, Pick, Prod, Put, RepeatOver, Softmax, SoftmaxGradient, Std, SumOver, Var,
};
pub use relu::{LeakyRelu, Relu};
pub use roots::{Rsqrt, Sqrt};
pub use scalar::{AddScalar, DivScalar, MulScalar, ScalarDiv, ScalarSub};
pub use sigmoid::Sigmoid;
pub use silu::Silu;
pub use softplus::Softplus;
pub use square::Square;
pub use sub::Sub;
pub use sum::Sum;
pub use tanh::Tanh;
pub use transpose::Transpose;
pub use trigonometric::{Cos, Sin, Tan};
pub use where_::Where;

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

/// The gradient of a function of one number: `fused` of the gradient that came in and what was saved, or,
/// where it is to be recorded, their product by way of `slope`.
#[track_caller]
fn chain<T: Element, D: Dimension>(
    grad_output: Tensor<T, D>,
    saved: &Tensor<T, D>,
    fused: impl Fn(T, T) -> T + Sync,
    slope: impl FnOnce(&Tensor<T, D>) -> Tensor<T, D>,
) -> Tensor<T, D> {
    grad_output
        .fused(saved, fused)
        .unwrap_or_else(|grad_output| grad_output * slope(saved))
}

#[cfg(test)]
mod tests;
