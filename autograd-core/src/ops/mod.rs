//! The built-in functions, each in its own file, written with [`custom_function`](crate::custom_function) as yours
//! are: the examples to learn from. Functions of one number that save their input are rows of `elementary.rs`.
//!
//! Read first, in `ops/`: `exp.rs`, with one input of any rank, differentiable any number of times; `linear.rs`, with
//! several inputs and an optional one; `reductions/softmax.rs`, whose gradient is a separate function; `concat.rs`,
//! with a list of inputs; `attention.rs`, with all of these.
//!
//! Use them through operators and methods of [`Tensor`]. The types here have `apply` as a function, and `forward` on
//! arrays.

mod attention;
mod clamp;
mod concat;
mod contract;
mod conv;
mod dropout;
mod einsum;
mod elementary;
mod embedding;
mod exp;
mod exp_m1;
mod flip;
mod gather;
mod index_select;
mod linalg;
mod linear;
mod losses;
mod matmul;
mod maximum;
mod norms;
mod pad;
mod permute;
mod pool;
mod powi;
mod recip;
mod reductions;
mod relu;
mod roll;
mod roots;
mod sigmoid;
mod split;
mod squeeze;
mod tan;
mod tanh;
mod transpose;
mod where_;

pub use crate::basic::{
    Add, AddScalar, Cast, Div, DivScalar, Mul, MulScalar, Neg, Reshape, ScalarDiv, ScalarSub,
    Slice, Stack, Sub, Sum,
};
pub use attention::Attention;
pub use clamp::Clamp;
pub use concat::Concat;
pub use conv::{Conv, ConvTranspose};
pub use dropout::Dropout;
pub use einsum::{EinsumOperands, einsum};
pub use elementary::{
    Abs, Acos, Acosh, Asin, Asinh, Atan, Atanh, Cbrt, Cos, Cosh, Elu, Erf, Gelu, GeluTanh,
    LeakyRelu, Ln, Ln1p, NormalCdf, NormalPdf, Powf, Silu, Sin, Sinh, Softplus, Square,
};
pub use embedding::Embedding;
pub use exp::Exp;
pub use exp_m1::ExpM1;
pub use flip::Flip;
pub use gather::{Gather, ScatterAdd};
pub use index_select::{IndexAdd, IndexSelect};
pub use linalg::{Cholesky, Det, Eigh, Inverse, LogDet, Qr, Solve, SolveTriangular, Svd};
pub use linear::Linear;
pub use losses::{
    BceWithLogits, CrossEntropy, CrossEntropyOptions, HuberLoss, KlDiv, L1Loss, MseLoss, NllLoss,
    Reduction,
};
pub use matmul::{MatMul, MatMulRank};
pub use maximum::{Maximum, Minimum};
pub use norms::Statistics;
pub use pad::Pad;
pub use permute::Permute;
pub use pool::{AvgPool2d, MaxPool2d};
pub use powi::Powi;
pub use recip::Recip;
pub use reductions::{AxisList, CumSum, LogSoftmax, LogSumExp, Norm, Prod, Softmax, Std, Var};
pub use relu::Relu;
pub use roll::Roll;
pub use roots::{Rsqrt, Sqrt};
pub use sigmoid::Sigmoid;
pub use split::SplitAt;
pub use squeeze::{Squeeze, Unsqueeze};
pub use tan::Tan;
pub use tanh::Tanh;
pub use transpose::Transpose;
pub use where_::Where;

pub use crate::kernels::{AttentionOptions, ConvOptions, Pool2dOptions, Triangle};

/// Functions that compute the gradients of other functions, or are parts of them.
#[doc(hidden)]
pub use self::{
    attention::AttentionBackward,
    contract::Contract,
    conv::ConvWeight,
    linalg::{OverPairs, Pairs, TriangularPart},
    losses::CrossEntropyBackward,
    norms::{ChannelRepeat, ChannelSum, Normalize, NormalizeBackward, ScaleShift},
    pool::{AvgPool2dBackward, Gather2d, MaxUnpool2d},
    reductions::{
        DotAxes, Expand, Extremum, FirstExtremum, LogSoftmaxBackward, SharedExtremum,
        SoftmaxBackward, SumAxes,
    },
};
#[doc(hidden)]
pub use crate::basic::{BroadcastTo, SumTo};

use ndarray::Dimension;

use crate::basic::add_tangents;
use crate::{Element, kernels, tensor::Tensor};

/// Returns a constant of zeros, to add to.
fn zeros<T: Element, D: Dimension>(shape: &[usize]) -> Tensor<T, D> {
    Tensor::from(kernels::full(shape, T::zero()))
}

/// Returns `f` of each element as a constant, for derivatives that are piecewise constant.
fn constant<T: Element, D: Dimension>(x: &Tensor<T, D>, f: impl Fn(T) -> T + Sync) -> Tensor<T, D> {
    kernels::map(&x.view(), f).into()
}

/// Returns the gradient of a function of one number: `fused` of the output's gradient and the saved tensor or, if it is
/// recorded, the gradient times `slope` of the saved tensor. The tangent is computed in the same way, so that the
/// `#[jvp]` rules of these functions call their `backward`.
#[track_caller]
fn unary_backward<T: Element, D: Dimension>(
    grad_output: Tensor<T, D>,
    saved: &Tensor<T, D>,
    fused: impl Fn(T, T) -> T + Copy + Sync,
    slope: impl FnOnce(&Tensor<T, D>) -> Tensor<T, D>,
) -> Tensor<T, D> {
    let in_place = |gradients: &mut [T], saved: &[T]| {
        kernels::zip_in_place(gradients, saved, fused);
    };
    grad_output
        .fused(saved, in_place, |gradients, saved| {
            kernels::zip(gradients, saved, fused)
        })
        .unwrap_or_else(|grad_output| grad_output * slope(saved))
}

#[cfg(test)]
mod tests;
