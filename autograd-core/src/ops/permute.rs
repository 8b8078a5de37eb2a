//! Axes in another order.

use std::marker::PhantomData;

use ndarray::{Dimension, IxDyn};

use crate::kernels::checks::{has_axis, has_each_axis};
use crate::{Element, custom_function, tensor::Tensor};

/// A tensor with its axes in another order, without a copy.
#[derive(Debug)]
pub struct Permute<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3, 4], axes = &[2, 0, 1]))]
impl<T: Element, D: Dimension> Permute<T, D> {
    /// Returns a view with the axes in another order: axis `i` of the result is axis `axes[i]` of `x`.
    ///
    /// # Panics
    /// If `axes` does not name each axis once.
    #[forward]
    #[track_caller]
    pub fn forward(x: &Tensor<T, D>, axes: &[usize]) -> Tensor<T, D> {
        has_each_axis("permute", x.shape(), axes);
        assert!(
            axes.len() == x.ndim(),
            "permute of a tensor of shape {:?} to the axes {axes:?}: each must be named",
            x.shape()
        );
        x.part(|view| view.view().permuted_axes(IxDyn(axes)))
    }

    #[adjoint(x)]
    fn adjoint(grad_output: &Tensor<T, D>, axes: &[usize]) -> Tensor<T, D> {
        let mut back = vec![0; axes.len()];
        for (position, &axis) in axes.iter().enumerate() {
            back[axis] = position;
        }
        Self::forward(grad_output, &back)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Reorders the axes, without a copy: axis `i` of the result is axis `axes[i]` of this tensor.
    ///
    /// # Panics
    /// If `axes` does not name each axis once.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::Array3};
    ///
    /// let x = Tensor::from(Array3::<f32>::zeros((2, 3, 4)));
    /// assert_eq!(x.permute(&[2, 0, 1]).shape(), [4, 2, 3]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn permute(&self, axes: &[usize]) -> Self {
        Permute::apply(self, axes)
    }

    /// Swaps two axes, without a copy.
    ///
    /// # Panics
    /// If the axis is out of range.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::Array3};
    ///
    /// let x = Tensor::from(Array3::<f32>::zeros((2, 3, 4)));
    /// assert_eq!(x.swap_axes(0, 2).shape(), [4, 3, 2]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn swap_axes(&self, a: usize, b: usize) -> Self {
        has_axis("swap_axes", self.shape(), a);
        has_axis("swap_axes", self.shape(), b);
        let mut axes: Vec<usize> = (0..self.ndim()).collect();
        axes.swap(a, b);
        self.permute(&axes)
    }
}
