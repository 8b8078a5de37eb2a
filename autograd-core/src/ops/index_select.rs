//! Selecting the parts at indices along an axis, and adding to them: each is the other's backward.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Axis, Dimension};

use super::zeros;
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// The parts of a tensor at indices along an axis.
#[derive(Debug)]
pub struct IndexSelect<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], axis = Axis(1), indices = &[2, 0, 2, 2]))]
impl<T: Element, D: Dimension> IndexSelect<T, D> {
    /// Returns the parts of `x` at `indices`, in their order.
    ///
    /// # Panics
    /// If the axis is out of range, or an index is out of range.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, axis: Axis, indices: &[usize]) -> Array<T, D> {
        kernels::index_select(&x, axis, indices)
    }

    #[adjoint(x)]
    fn adjoint(
        grad_output: ArrayView<T, D>,
        axis: Axis,
        indices: &[usize],
        shape_x: &[usize],
    ) -> Array<T, D> {
        let zeros = kernels::full(shape_x, T::zero());
        IndexAdd::forward(zeros, axis, indices, grad_output)
    }
}

/// A tensor to which the parts of another are added at indices along an axis.
#[derive(Debug)]
pub struct IndexAdd<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], axis = Axis(1), indices = &[2, 0, 2, 2], source = [2, 4]))]
impl<T: Element, D: Dimension> IndexAdd<T, D> {
    /// Adds each part of `source` to the part of `x` at its index, in place.
    ///
    /// # Panics
    /// If the axis is out of range, an index is out of range, or `source` does not have the shape of the parts at the
    /// indices.
    #[forward]
    #[track_caller]
    pub fn forward(
        mut x: Array<T, D>,
        axis: Axis,
        indices: &[usize],
        source: ArrayView<T, D>,
    ) -> Array<T, D> {
        kernels::index_add(&mut x.view_mut(), axis, indices, &source);
        x
    }

    #[backward(x)]
    fn grad_x(grad_output: Tensor<T, D>) -> Tensor<T, D> {
        grad_output
    }

    #[backward(source)]
    fn grad_source(grad_output: &Tensor<T, D>, axis: Axis, indices: &[usize]) -> Tensor<T, D> {
        grad_output.index_select(axis, indices)
    }

    #[jvp]
    fn jvp(
        tangent_x: Option<&Tensor<T, D>>,
        tangent_source: Option<&Tensor<T, D>>,
        axis: Axis,
        indices: &[usize],
        output: &Tensor<T, D>,
    ) -> Option<Tensor<T, D>> {
        let Some(source) = tangent_source else {
            return tangent_x.cloned();
        };
        let x = tangent_x.map_or_else(|| zeros(output.shape()), Tensor::clone);
        Some(Self::apply(x, axis, indices, source))
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns the parts at `indices` along `axis`, in their order. The gradients of a part that is selected several
    /// times are added.
    ///
    /// # Panics
    /// If the axis is out of range, or an index is out of range.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::{Axis, array}};
    ///
    /// let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.index_select(Axis(0), &[1, 1]).to_array(), array![[3.0, 4.0], [3.0, 4.0]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn index_select(&self, axis: Axis, indices: &[usize]) -> Self {
        IndexSelect::apply(self, axis, indices)
    }

    /// Returns the tensor with the parts of `source` added to the parts at `indices` along `axis`. For an index that is
    /// named several times, all its parts are added.
    ///
    /// # Panics
    /// If the axis is out of range, an index is out of range, or `source` does not have the shape of the parts at the
    /// indices.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::{Axis, array}};
    ///
    /// let (x, source) = (Tensor::from(array![1.0, 2.0]), Tensor::from(array![10.0, 20.0]));
    /// assert_eq!(x.index_add(Axis(0), &[1, 1], &source).to_array(), array![1.0, 32.0]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn index_add(&self, axis: Axis, indices: &[usize], source: &Self) -> Self {
        IndexAdd::apply(self.clone(), axis, indices, source)
    }
}
