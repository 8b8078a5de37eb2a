//! Loops on arrays, for the bodies of custom functions: no tape, no tensor.
//!
//! - Over elements: [`map`] and [`zip`], with functions such as [`exp()`]; [`map_in_place`], [`zip_in_place`].
//! - Along axes: [`reduce`] and [`sum_over`] with [`Axes`], [`map_lanes`] with [`softmax()`].
//! - Products of matrices: [`matmul`], [`gemm()`], [`affine`]. Factors of matrices, to solve with in forward and in
//!   backward: [`Lu`], [`Cholesky`], [`Qr`].
//! - Memory: [`memory`], the cache of large arrays.
//! - Threads: [`split_mut`] and [`split`], for your own loops on several threads; [`set_threads`] and [`threads`].
//! - Numbers: [`Real`], the number type of elementwise functions.
//!
//! ndarray's `mapv` and `Zip` compute the same results. These loops read contiguous data as plain slices, which is
//! about ten times faster for an array of one element.
//!
//! `pullback` re-exports this crate as `pullback::kernels`. All names but those of [`memory`] are at the root. Items
//! that the documentation does not show are for the built-in functions of `autograd-core`, and may change in any
//! version.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(hidden)]
pub mod checks;
mod element;
mod elementwise;
mod loops;
mod math;
mod matrix;
pub mod memory;
#[cfg(feature = "ops")]
mod ops;
mod parallel;
mod registers;
mod scan;
mod shape;
#[cfg(test)]
mod testing;

pub use element::real::Real;
pub use loops::{
    axes::Axes,
    lanes::{map_lanes, reduce},
    map::{map, zip},
    row_major::row_major,
    softmax::softmax,
    sum::sum_over,
    wide::{map_in_place, zip_in_place},
};
pub use math::{
    acos, acosh, asin, asinh, atan, atan2, atanh, cbrt, cos, cosh, erf, exp, exp_m1, gelu, hypot,
    ln, ln_1p, normal_cdf, normal_pdf, powf, sigmoid, sin, sinh, softplus, tan, tanh,
};
pub use matrix::gemm::{affine, gemm, matmul};
pub use matrix::linalg::{
    FactorError,
    cholesky::Cholesky,
    eigh::eigh,
    lu::Lu,
    qr::Qr,
    svd::{Svd, svd},
    triangular::{Triangle, solve_triangular},
};
#[doc(hidden)]
pub use ndarray;
pub use parallel::{set_threads, split, split_mut, threads};

/// Types that `autograd-core` re-exports at its root.
#[doc(hidden)]
pub use {
    element::{Element, ElementType},
    shape::Shape,
};

/// Items for the built-in functions.
#[doc(hidden)]
pub use self::{
    checks::counted,
    element::{
        Any, Family, of_type,
        real::{GELU_TANH, GELU_TANH_BOUND, Literal, Plain},
    },
    elementwise::{
        Blocks, Elements, Entries, Evaluation, Faster, Formula, Item, Loops, MOST_NUMBERS,
        MOST_SHORT, Place, Side, SliceFormula, Unary, UnaryLoops, chosen, entries, evaluate,
        evaluate_reduced, evaluate_short, evaluate_sums, from_plain, known, list_value, of_numbers,
        parts, passed, plain, plain_row, pulled_back, put, row, slope_of_divisor, unary, value_of,
        variable,
    },
    loops::{
        along::{Along, along},
        map::zip_times,
        mean_var::{mean_var, norm, std},
        movement::{concat, full, pad},
        reductions::{Reduction, first_extremes, reduce_lanes},
        rows::{Row, Rows},
        slices::zip_slices_in_place,
        softmax::softmax_and_log_sum,
        sum::{dot_axes, dot_slices, sum, sum_slice, sum_to},
    },
    math::gelu_derivative,
    matrix::linalg::cholesky::{cholesky, cholesky_gradient},
    scan::{Checkpoints, Recurrence, ScanCounts, ScanLoops, Scans, SliceScans, row_of},
};
#[doc(hidden)]
#[cfg(feature = "ops")]
pub use self::{
    matrix::contract::{Subscripts, contract},
    ops::{
        attention::{AttentionOptions, attention, attention_gradients},
        channels::{Channels, channel_sums, map_channels, normalize, normalize_backward},
        conv::{ConvOptions, conv_transpose2d, conv2d, conv2d_weight},
        dropout::dropout,
        indices::{gather, index_add, index_select, scatter_add},
        pool2d::{
            Pool2dOptions, avg_pool2d, avg_pool2d_backward, gather2d, max_pool2d_indices,
            max_unpool2d,
        },
    },
};

// A dependency only for its feature: see `[workspace.dependencies]`.
use matrixmultiply as _;
