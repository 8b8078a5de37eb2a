//! Repeating along axes, and summing along them: each is the other's adjoint.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension, IxDyn};

use crate::kernels::checks::has_rank;
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// A tensor repeated along axes of length 1 and along new axes in front, without a copy.
#[derive(Debug)]
pub struct BroadcastTo<T, D, E>(PhantomData<(T, D, E)>);

#[custom_function(gradcheck(x = [2, 1], shape = &[3, 2, 4], E = ndarray::Ix3))]
impl<T: Element, D: Dimension, E: Dimension> BroadcastTo<T, D, E> {
    /// Returns a view of `x` as `shape`.
    ///
    /// # Panics
    /// If `x` does not broadcast to `shape`, or the rank of `shape` is not that of `E`.
    #[forward]
    #[track_caller]
    pub fn forward(x: &Tensor<T, D>, shape: &[usize]) -> Tensor<T, E> {
        assert!(
            x.view().broadcast(IxDyn(shape)).is_some(),
            "broadcast_to of a tensor of shape {:?} to {shape:?}: the lengths do not fit",
            x.shape()
        );
        has_rank::<E>("broadcast_to", x.shape(), shape.len());
        // INVARIANT: it was just checked.
        x.part(|view| view.broadcast(IxDyn(shape)).expect("fits"))
    }

    #[adjoint(x)]
    fn adjoint(grad_output: ArrayView<T, E>, shape_x: &[usize]) -> Array<T, D> {
        SumTo::forward(grad_output, shape_x)
    }
}

/// The sum over the axes along which a tensor of another shape would be repeated to this one.
#[derive(Debug)]
pub struct SumTo<T, D, E>(PhantomData<(T, D, E)>);

#[custom_function(gradcheck(x = [3, 2, 4], shape = &[2, 1], E = ndarray::Ix2))]
impl<T: Element, D: Dimension, E: Dimension> SumTo<T, D, E> {
    /// Returns the sum of `x` to `shape`.
    ///
    /// # Panics
    /// If `shape` does not broadcast to the shape of `x`, or its rank is not that of `E`.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, shape: &[usize]) -> Array<T, E> {
        has_rank::<E>("sum_to", x.shape(), shape.len());
        kernels::sum_to(&x, shape)
    }

    #[adjoint(x)]
    fn adjoint(grad_output: &Tensor<T, E>, shape_x: &[usize]) -> Tensor<T, D> {
        BroadcastTo::forward(grad_output, shape_x)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Repeats the tensor to `shape` as operators do, without a copy.
    ///
    /// # Panics
    /// If the tensor does not broadcast to `shape`, or the rank of `shape` is not that of `E`.
    ///
    /// ```
    /// use pullback::{Tensor, Tensor2, ndarray::array};
    ///
    /// let row = Tensor::from(array![1.0, 2.0]);
    /// let twice: Tensor2<f64> = row.broadcast_to(&[2, 2]);
    /// assert_eq!(twice.to_array(), array![[1.0, 2.0], [1.0, 2.0]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn broadcast_to<E: Dimension>(&self, shape: &[usize]) -> Tensor<T, E> {
        BroadcastTo::apply(self, shape)
    }

    /// Returns the sum over the axes along which a tensor of `shape` would be repeated to the shape of this one.
    ///
    /// # Panics
    /// If `shape` does not broadcast to the shape of this tensor, or its rank is not that of `E`.
    ///
    /// ```
    /// use pullback::{Tensor, Tensor1, ndarray::array};
    ///
    /// let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]);
    /// let columns: Tensor1<f64> = x.sum_to(&[2]);
    /// assert_eq!(columns.to_array(), array![4.0, 6.0]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn sum_to<E: Dimension>(&self, shape: &[usize]) -> Tensor<T, E> {
        SumTo::apply(self, shape)
    }
}
