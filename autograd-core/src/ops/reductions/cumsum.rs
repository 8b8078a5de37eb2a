//! Cumulative sums.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Axis, Dimension};

use crate::kernels::{Along, Axes};
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// Cumulative sums along an axis, from its start or, if `reversed`, from its end. Elements are added in `f64`.
#[derive(Debug)]
pub struct CumSum<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], axis = Axis(1), reversed = false))]
impl<T: Element, D: Dimension> CumSum<T, D> {
    /// Returns the cumulative sums along an axis.
    #[doc = crate::math!(r"y_i = \sum_{j \le i} x_j")]
    /// # Panics
    /// If the axis is out of range.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, axis: Axis, reversed: bool) -> Array<T, D> {
        let _ = Axes::one(axis).shape("cumsum", x.shape());
        kernels::along(Along::CumSum { reversed }, &x, None, axis)
    }

    #[adjoint(x)]
    fn adjoint(grad_output: ArrayView<T, D>, axis: Axis, reversed: bool) -> Array<T, D> {
        Self::forward(grad_output, axis, !reversed)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns the cumulative sums along `axis`.
    ///
    /// [`CumSum`](crate::ops::CumSum) has the formula.
    ///
    /// # Panics
    /// If the axis is out of range.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::{Axis, array}};
    ///
    /// let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.cumsum(Axis(1)).to_array(), array![[1.0, 3.0], [3.0, 7.0]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn cumsum(&self, axis: Axis) -> Self {
        CumSum::apply(self, axis, false)
    }
}
