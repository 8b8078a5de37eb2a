//! Padding with one value.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension, SliceInfoElem};

use super::Slice;
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// A tensor with one value around it.
#[derive(Debug)]
pub struct Pad<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], widths = &[(0, 1), (1, 2)], value = 0.5))]
impl<T: Element, D: Dimension> Pad<T, D> {
    /// Returns `x` with `value` around it.
    ///
    /// # Panics
    /// If there is not a pair of widths for each axis, or the result is larger than any memory.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, widths: &[(usize, usize)], value: T) -> Array<T, D> {
        kernels::pad(&x, widths, value)
    }

    #[backward(x)]
    fn backward(
        grad_output: &Tensor<T, D>,
        widths: &[(usize, usize)],
        shape_x: &[usize],
    ) -> Tensor<T, D> {
        let middle: Vec<SliceInfoElem> = widths
            .iter()
            .zip(shape_x)
            .map(|(&(before, _), length)| (before..before + length).into())
            .collect();
        Slice::apply(grad_output, &middle)
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, widths: &[(usize, usize)]) -> Tensor<T, D> {
        tangent_x.pad(widths, T::zero())
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns the tensor with `value` around it: `widths` has the number of elements before and after, for each axis.
    ///
    /// # Panics
    /// If there is not a pair of widths for each axis, or the result is larger than any memory.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let x = Tensor::from(array![[1.0, 2.0]]);
    /// assert_eq!(x.pad(&[(0, 1), (1, 0)], 0.0).to_array(), array![[0.0, 1.0, 2.0], [0.0, 0.0, 0.0]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn pad(&self, widths: &[(usize, usize)], value: T) -> Self {
        Pad::apply(self, widths, value)
    }
}
