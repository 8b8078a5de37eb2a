//! ln Σ eˣ

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::{DotAxes, methods};
use crate::kernels::{Axes, Reduction};
use crate::tensor::{Tensor, Tensor0};
use crate::{Element, custom_function, kernels};

/// ln Σ eˣ over some axes, numerically stable. The gradient is softmax: NaN where all elements are −∞.
#[derive(Debug)]
pub struct LogSumExp<T, D, E>(PhantomData<(T, D, E)>);

#[custom_function(gradcheck(x = [2, 3], axes = Axes::one(ndarray::Axis(1)), E = ndarray::Ix1))]
impl<T: Element, D: Dimension, E: Dimension> LogSumExp<T, D, E> {
    /// Returns ln Σ eˣ over some axes.
    #[doc = crate::math!(r"\ln \sum_i e^{x_i} = m + \ln \sum_i e^{x_i - m}, \qquad m = \max_i x_i")]
    /// # Panics
    /// If one of the axes does not exist, or the rank of the result is not that of `E`.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, axes: Axes) -> Array<T, E> {
        axes.check("logsumexp", x.shape());
        kernels::reduce_lanes(Reduction::LogSumExp, &x, axes)
    }

    #[backward(x)]
    fn backward(
        grad_output: &Tensor<T, E>,
        x: &Tensor<T, D>,
        output: &Tensor<T, E>,
        axes: Axes,
    ) -> Tensor<T, D> {
        weights(x, output, axes) * grad_output.expand::<D>(axes, x.shape())
    }

    #[jvp]
    fn jvp(
        tangent_x: &Tensor<T, D>,
        x: &Tensor<T, D>,
        output: &Tensor<T, E>,
        axes: Axes,
    ) -> Tensor<T, E> {
        DotAxes::apply(tangent_x, &weights(x, output, axes), axes)
    }
}

/// Returns the part of each element in the sum.
#[track_caller]
fn weights<T: Element, D: Dimension, E: Dimension>(
    x: &Tensor<T, D>,
    output: &Tensor<T, E>,
    axes: Axes,
) -> Tensor<T, D> {
    (x - output.expand::<D>(axes, x.shape())).exp()
}

methods!(
    LogSumExp::apply, [logsumexp_axis, logsumexp_axes, logsumexp_keepdim],
    "logarithm of the sum of exponentials", of "[[0.0, 0.0], [0.0, 0.0]]":
    rows "[2.0_f64.ln(), 2.0_f64.ln()]"
);

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns ln Σ eˣ over all elements, numerically stable; −∞ if there are none, or all are −∞.
    ///
    /// [`LogSumExp`](crate::ops::LogSumExp) has the formula.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let x = Tensor::from(array![1000.0, 1000.0]);
    /// assert_eq!(x.logsumexp().item(), 1000.0 + 2.0_f64.ln());
    /// ```
    #[must_use]
    #[track_caller]
    pub fn logsumexp(&self) -> Tensor0<T> {
        LogSumExp::apply(self, Axes::all())
    }
}
