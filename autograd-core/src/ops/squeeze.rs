//! Removing and adding an axis of length 1: each is the other's adjoint.

use std::marker::PhantomData;

use ndarray::{Axis, Dimension};

use crate::kernels::checks::{has_axis, has_rank};
use crate::{Element, custom_function, tensor::Tensor};

/// A tensor without one of its axes of length 1, without a copy.
#[derive(Debug)]
pub struct Squeeze<T, D, E>(PhantomData<(T, D, E)>);

#[custom_function(gradcheck(x = [2, 1, 3], axis = Axis(1), E = ndarray::Ix2))]
impl<T: Element, D: Dimension, E: Dimension> Squeeze<T, D, E> {
    /// Returns a view without the axis.
    ///
    /// # Panics
    /// If the axis is out of range, its length is not 1, or `E` does not have one axis less.
    #[forward]
    #[track_caller]
    pub fn forward(x: &Tensor<T, D>, axis: Axis) -> Tensor<T, E> {
        has_axis("squeeze", x.shape(), axis.index());
        assert!(
            x.shape()[axis.index()] == 1,
            "squeeze of a tensor of shape {:?}: the length of axis {} is not 1",
            x.shape(),
            axis.index()
        );
        has_rank::<E>("squeeze", x.shape(), x.ndim() - 1);
        x.part(|view| view.view().index_axis_move(axis, 0))
    }

    #[adjoint(x)]
    fn adjoint(grad_output: &Tensor<T, E>, axis: Axis) -> Tensor<T, D> {
        Unsqueeze::forward(grad_output, axis)
    }
}

/// A tensor with one more axis, of length 1, without a copy.
#[derive(Debug)]
pub struct Unsqueeze<T, D, E>(PhantomData<(T, D, E)>);

#[custom_function(gradcheck(x = [2, 3], axis = Axis(1), E = ndarray::Ix3))]
impl<T: Element, D: Dimension, E: Dimension> Unsqueeze<T, D, E> {
    /// Returns a view with the new axis.
    ///
    /// # Panics
    /// If `axis` is larger than the rank, or `E` does not have one axis more.
    #[forward]
    #[track_caller]
    pub fn forward(x: &Tensor<T, D>, axis: Axis) -> Tensor<T, E> {
        assert!(
            axis.index() <= x.ndim(),
            "unsqueeze of a tensor of shape {:?}: there cannot be an axis {}",
            x.shape(),
            axis.index()
        );
        has_rank::<E>("unsqueeze", x.shape(), x.ndim() + 1);
        x.part(|view| view.view().insert_axis(axis))
    }

    #[adjoint(x)]
    fn adjoint(grad_output: &Tensor<T, E>, axis: Axis) -> Tensor<T, D> {
        Squeeze::forward(grad_output, axis)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Removes an axis of length 1, without a copy.
    ///
    /// # Panics
    /// If the axis is out of range, or its length is not 1.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::{Axis, array}};
    ///
    /// let column = Tensor::from(array![[1.0], [2.0]]);
    /// assert_eq!(column.squeeze(Axis(1)).to_array(), array![1.0, 2.0]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn squeeze(&self, axis: Axis) -> Tensor<T, D::Smaller> {
        Squeeze::apply(self, axis)
    }

    /// Inserts an axis of length 1 at index `axis`, without a copy.
    ///
    /// # Panics
    /// If `axis` is larger than the rank.
    #[must_use]
    #[track_caller]
    pub fn unsqueeze(&self, axis: Axis) -> Tensor<T, D::Larger> {
        Unsqueeze::apply(self, axis)
    }
}
