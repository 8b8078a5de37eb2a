//! Loops on arrays, for authors of functions: no tape, no tensor.
//!
//! Read first [`map`] and [`zip`], loops over elements, with functions such as [`exp()`]; [`matmul`] and [`gemm()`];
//! [`map_lanes`] with [`softmax()`], along an axis; and [`split_mut`], for loops of your own on several threads.
//!
//! ndarray's `mapv` and `Zip` compute the same. These loops go through contiguous data as plain slices, which is about
//! ten times faster for an array of one element.
//!
//! `pullback` re-exports this crate as `pullback::kernels`. Items that the documentation does not show belong to the
//! built-in functions of `autograd-core`, and may change in any version.

#[cfg(feature = "ops")]
mod attention;
mod axes;
#[cfg(feature = "ops")]
mod channels;
#[doc(hidden)]
pub mod checks;
#[cfg(feature = "ops")]
mod contract;
#[cfg(feature = "ops")]
mod conv;
#[cfg(feature = "ops")]
mod dropout;
mod element;
mod elementwise;
mod extremes;
mod formula;
mod gemm;
mod huge_pages;
#[cfg(feature = "ops")]
mod indices;
mod lanes;
#[cfg(feature = "ops")]
mod linalg;
mod math;
mod mean_var;
pub mod memory;
mod movement;
mod pairwise;
mod parallel;
#[cfg(feature = "ops")]
mod pool;
mod real;
mod reduce;
mod row_major;
mod rows;
mod shape;
mod slices;
mod softmax;
#[cfg(test)]
mod testing;
mod wide;
mod words;

pub use axes::Axes;
pub use elementwise::{map, zip};
pub use gemm::{affine, gemm, matmul};
pub use lanes::{map_lanes, reduce};
pub use math::{erf, exp, exp_m1, gelu, ln, ln_1p, normal_cdf, normal_pdf, sigmoid, tanh};
#[doc(hidden)]
pub use ndarray;
pub use parallel::{set_threads, split, split_mut, threads};
pub use real::Real;
pub use reduce::sum_over;
pub use row_major::row_major;
#[doc(hidden)]
pub use rows::{Row, Rows};
pub use softmax::softmax;
pub use wide::{map_in_place, zip_in_place};

/// Re-exported by `autograd-core` at its root.
#[doc(hidden)]
pub use {element::Element, shape::Shape};

/// For the built-in functions.
#[doc(hidden)]
#[cfg(feature = "ops")]
pub use self::{
    attention::{AttentionOptions, attention, attention_gradients},
    channels::{Channels, channel_sums, map_channels, normalize, normalize_backward},
    contract::{Subscripts, contract},
    conv::{ConvOptions, col2im, conv_transpose2d, conv2d, conv2d_weight, im2col},
    dropout::dropout,
    indices::{gather, index_add, index_select, scatter_add},
    linalg::{Lu, cholesky, solve_triangular},
    pool::{
        Pool2dOptions, avg_pool2d, avg_pool2d_backward, gather2d, max_pool2d_indices, max_unpool2d,
    },
};
#[doc(hidden)]
pub use self::{
    element::{Any, Family},
    extremes::{argmax, argmin, max, min},
    formula::{Blocks, Formula, Loops, Pass, evaluate, list_value, pulled_back},
    lanes::zip_lanes,
    math::{activations, gelu_derivative},
    mean_var::{mean_var, norm, std},
    movement::{concat, full, pad},
    real::{Literal, Plain},
    reduce::{dot_axes, dot_slices, sum, sum_slice, sum_to},
    slices::zip_slices_in_place,
    softmax::{log_softmax, log_sum_exp, softmax_and_log_sum},
    words::counted,
};

// A dependency only for its feature: see `[workspace.dependencies]`.
use matrixmultiply as _;
