//! Reductions over all axes, one or several, which are removed or kept with length 1.
//!
//! Each reduction is one function for all these forms: [`Axes`] has the axes, and the type of the result its rank. The
//! macro `methods` writes the methods of [`Tensor`].

mod axis_list;
mod cumsum;
mod lanes;
mod log_softmax;
mod logsumexp;
mod max;
mod mean;
mod methods;
mod norm;
mod prod;
mod softmax;
mod sum_over;
mod var;

pub use axis_list::AxisList;
pub use cumsum::CumSum;
pub use log_softmax::{LogSoftmax, LogSoftmaxBackward};
pub use logsumexp::LogSumExp;
pub use max::{Extremum, FirstExtremum, SharedExtremum};
pub use norm::Norm;
pub use prod::Prod;
pub use softmax::{Softmax, SoftmaxBackward};
pub use sum_over::{DotAxes, Expand, SumAxes};
pub use var::{Std, Var};

pub(super) use lanes::{gather, scatter};
pub(super) use methods::methods;

use ndarray::{Axis, Dimension};

use crate::Element;
use crate::kernels::Axes;
use crate::ops::constant;
use crate::tensor::Tensor;

/// Returns the axis of a reduction over one axis.
#[track_caller]
fn one(name: &str, axes: Axes) -> Axis {
    let Some(axis) = axes.single() else {
        panic!("{name} over {axes:?}: it must be one axis");
    };
    axis
}

/// Returns the sum along an axis, repeated along it.
#[track_caller]
fn repeated_sum<T: Element, D: Dimension>(x: &Tensor<T, D>, axis: Axis) -> Tensor<T, D> {
    let axes = Axes::one(axis).keepdim();
    x.sum_to_axes::<D>(axes).expand(axes, x.shape())
}

/// Returns x divided by a length of it over some axes, a vector of at most unit length whatever the unit of x. Where
/// the length is 0 it is 0, and so are its derivatives.
#[track_caller]
fn over<T: Element, D: Dimension, E: Dimension>(
    x: &Tensor<T, D>,
    length: &Tensor<T, E>,
    axes: Axes,
) -> Tensor<T, D> {
    let infinite_at_zero = constant(length, |x| {
        if x.is_zero() {
            T::infinity()
        } else {
            T::zero()
        }
    });
    x / (length + infinite_at_zero).expand::<D>(axes, x.shape())
}
