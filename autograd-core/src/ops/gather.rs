//! Gathering the elements at indices in each lane along an axis, and adding to them: each is the other's
//! backward.

use std::marker::PhantomData;

use ndarray::{ArcArray, Array, ArrayView, Axis, Dimension, IxDyn};

use super::zeros;
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// The elements of each lane along an axis at the indices in that lane of `indices`.
#[derive(Debug)]
pub struct Gather<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [3, 3], axis = Axis(1), indices = example()))]
impl<T: Element, D: Dimension> Gather<T, D> {
    /// Returns `output[i, j] = x[i, indices[i, j]]`, along the second of two axes.
    ///
    /// # Panics
    /// If the axis or an index is out of range, or `indices` is longer than `x` along another axis.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, axis: Axis, indices: ArcArray<usize, IxDyn>) -> Array<T, D> {
        kernels::gather(&x, axis, &typed("gather", &indices, x.shape()))
    }

    #[adjoint(x)]
    fn adjoint(
        grad_output: ArrayView<T, D>,
        axis: Axis,
        indices: &ArcArray<usize, IxDyn>,
        shape_x: &[usize],
    ) -> Array<T, D> {
        let zeros = kernels::full(shape_x, T::zero());
        ScatterAdd::forward(zeros, axis, indices.clone(), grad_output)
    }
}

/// A tensor to which the elements of another are added at indices, lane by lane along an axis.
#[derive(Debug)]
pub struct ScatterAdd<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(
    x = [3, 3],
    axis = Axis(1),
    indices = example(),
    source = [2, 4],
))]
impl<T: Element, D: Dimension> ScatterAdd<T, D> {
    /// Adds `source[i, j]` to `x[i, indices[i, j]]` in place, along the second of two axes.
    ///
    /// # Panics
    /// If the axis or an index is out of range, `indices` is longer than `x` along another axis, or the
    /// shapes of `source` and `indices` differ.
    #[forward]
    #[track_caller]
    pub fn forward(
        mut x: Array<T, D>,
        axis: Axis,
        indices: ArcArray<usize, IxDyn>,
        source: ArrayView<T, D>,
    ) -> Array<T, D> {
        kernels::scatter_add(
            &mut x.view_mut(),
            axis,
            &typed("scatter_add", &indices, source.shape()),
            &source,
        );
        x
    }

    #[backward(x)]
    fn grad_x(grad_output: Tensor<T, D>) -> Tensor<T, D> {
        grad_output
    }

    #[backward(source)]
    fn grad_source(
        grad_output: &Tensor<T, D>,
        axis: Axis,
        indices: &ArcArray<usize, IxDyn>,
    ) -> Tensor<T, D> {
        Gather::apply(grad_output, axis, indices.clone())
    }

    #[jvp]
    fn jvp(
        tangent_x: Option<&Tensor<T, D>>,
        tangent_source: Option<&Tensor<T, D>>,
        axis: Axis,
        indices: &ArcArray<usize, IxDyn>,
        output: &Tensor<T, D>,
    ) -> Option<Tensor<T, D>> {
        let Some(source) = tangent_source else {
            return tangent_x.cloned();
        };
        let x = tangent_x.map_or_else(|| zeros(output.shape()), Tensor::clone);
        Some(Self::apply(x, axis, indices.clone(), source))
    }
}

/// Returns the indices with the rank of a tensor of `shape`. The functions save them without their dimension type,
/// which would have to be `'static`.
#[track_caller]
fn typed<'a, D: Dimension>(
    function: &str,
    indices: &'a ArcArray<usize, IxDyn>,
    shape: &[usize],
) -> ArrayView<'a, usize, D> {
    let typed = indices.view().into_dimensionality();
    typed.unwrap_or_else(|_| {
        panic!(
            "{function} of a tensor of shape {shape:?} with indices of shape {:?}: the ranks differ",
            indices.shape()
        )
    })
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns, for each lane along `axis`, the elements at the indices in the same lane of `indices`:
    /// `y[i, j] = x[i, indices[i, j]]` along the second of two axes.
    ///
    /// # Panics
    /// If the axis or an index is out of range, or `indices` is longer than the tensor along another axis.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::{Axis, array}};
    ///
    /// let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.gather(Axis(1), &array![[1], [0]]).to_array(), array![[2.0], [3.0]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn gather(&self, axis: Axis, indices: &Array<usize, D>) -> Self {
        Gather::apply(self, axis, indices.to_shared().into_dyn())
    }

    /// Returns the tensor with each element of `source` added at its index, in the same lane along `axis`:
    /// `source[i, j]` is added to `x[i, indices[i, j]]` along the second of two axes.
    ///
    /// # Panics
    /// If the axis or an index is out of range, `indices` is longer than the tensor along another axis, or
    /// the shapes of `source` and `indices` differ.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::{Axis, array}};
    ///
    /// let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]);
    /// let source = Tensor::from(array![[10.0], [20.0]]);
    /// let sum = x.scatter_add(Axis(1), &array![[1], [0]], &source);
    /// assert_eq!(sum.to_array(), array![[1.0, 12.0], [23.0, 4.0]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn scatter_add(&self, axis: Axis, indices: &Array<usize, D>, source: &Self) -> Self {
        ScatterAdd::apply(self.clone(), axis, indices.to_shared().into_dyn(), source)
    }
}

#[cfg(test)]
fn example() -> ArcArray<usize, IxDyn> {
    ndarray::arr2(&[[2, 0, 2, 2], [1, 1, 0, 2]])
        .into_shared()
        .into_dyn()
}
