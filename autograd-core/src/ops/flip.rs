//! Axes in reverse order.

use std::marker::PhantomData;

use ndarray::{Axis, Dimension};

use crate::kernels::checks::has_each_axis;
use crate::{Element, custom_function, tensor::Tensor};

/// A tensor with the order of its elements reversed along some axes, without a copy.
#[derive(Debug)]
pub struct Flip<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3, 4], axes = &[2, 0]))]
impl<T: Element, D: Dimension> Flip<T, D> {
    /// Returns a view with the order of the elements reversed along `axes`.
    ///
    /// # Panics
    /// If the axis is out of range, or one is named twice.
    #[forward]
    #[track_caller]
    pub fn forward(x: &Tensor<T, D>, axes: &[usize]) -> Tensor<T, D> {
        has_each_axis("flip", x.shape(), axes);
        x.part(|view| {
            let mut flipped = view.view();
            for &axis in axes {
                flipped.invert_axis(Axis(axis));
            }
            flipped
        })
    }

    #[adjoint(x)]
    fn adjoint(grad_output: &Tensor<T, D>, axes: &[usize]) -> Tensor<T, D> {
        Self::forward(grad_output, axes)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Reverses the order of the elements along `axes`, without a copy.
    ///
    /// # Panics
    /// If the axis is out of range, or one is named twice.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.flip(&[1]).to_array(), array![[2.0, 1.0], [4.0, 3.0]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn flip(&self, axes: &[usize]) -> Self {
        Flip::apply(self, axes)
    }
}
