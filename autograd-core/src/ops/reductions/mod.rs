//! Many elements into few: over all axes, one or several, with or without the reduced axes left in place.
//!
//! Each reduction is one function for all these forms: [`Axes`] says over which axes, the type of the result
//! how many axes it has. `methods` writes the methods of [`Tensor`].

mod cumsum;
mod extreme;
mod log_softmax;
mod logsumexp;
mod mean;
mod methods;
mod norm;
mod pick;
mod prod;
mod softmax;
mod sum_over;
mod var;

pub use cumsum::CumSum;
pub use extreme::{Extremum, FirstExtremum, SharedExtremum};
pub use log_softmax::{LogSoftmax, LogSoftmaxBackward};
pub use logsumexp::LogSumExp;
pub use norm::Norm;
pub use prod::Prod;
pub use softmax::{Softmax, SoftmaxBackward};
pub use sum_over::{DotAxes, Expand, SumAxes};
pub use var::{Std, Var};

pub(super) use methods::methods;
pub(super) use pick::{pick, put};

use ndarray::{Axis, Dimension};

use crate::kernels::{self, Axes};
use crate::{Element, Tensor};

/// The axis of a reduction that is over one.
#[track_caller]
fn one(name: &str, axes: Axes) -> Axis {
    let Some(axis) = axes.single() else {
        panic!("{name} over {axes:?}: it is of one axis");
    };
    axis
}

/// The sum along an axis, repeated along it.
#[track_caller]
fn repeated_sum<T: Element, D: Dimension>(x: &Tensor<T, D>, axis: Axis) -> Tensor<T, D> {
    let axes = Axes::one(axis).keepdim();
    x.sum_to_axes::<D>(axes).expand(axes, x.shape())
}

/// The tensor with 1 in the place of 0, where something is divided by it that is 0 there too.
#[track_caller]
fn apart_from_zero<T: Element, D: Dimension>(x: &Tensor<T, D>) -> Tensor<T, D> {
    let is_zero = |x: T| if x.is_zero() { T::one() } else { T::zero() };
    // Which elements are 0 has no derivative.
    x + Tensor::from(kernels::map(&x.view(), is_zero))
}
