//! The elements of one tensor or another, chosen by a mask.

use std::marker::PhantomData;

use ndarray::{ArcArray, Array, ArrayRef, ArrayView, DimMax, Dimension, Ix0, IxDyn, Zip};

use super::add_tangents;
use crate::basic::operators::{Common, broadcast};
use crate::{Element, custom_function, tensor::Tensor};

/// The elements of one tensor where a mask is true, and of another elsewhere. All have one shape; the method
/// broadcasts.
#[derive(Debug)]
pub struct Where<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(
    mask = &ndarray::arr1(&[true, false, true]).into_dyn().into_shared(),
    x = [3],
    other = [3],
))]
impl<T: Element, D: Dimension> Where<T, D> {
    /// Returns the elements of `x` where `mask` is true, and those of `other` elsewhere.
    ///
    /// # Panics
    /// If the shapes differ.
    #[forward]
    #[track_caller]
    pub fn forward(
        mask: &ArcArray<bool, IxDyn>,
        x: ArrayView<T, D>,
        other: ArrayView<T, D>,
    ) -> Array<T, D> {
        assert!(
            mask.shape() == x.shape() && x.shape() == other.shape(),
            "where_ of shapes {:?}, {:?} and {:?}: they differ",
            mask.shape(),
            x.shape(),
            other.shape()
        );
        let mask = mask.view().into_dimensionality::<D>();
        // INVARIANT: its shape is that of an array of rank `D`.
        let mask = mask.expect("the rank of the shape");
        Zip::from(mask)
            .and(x)
            .and(other)
            .map_collect(|&mask, &x, &other| if mask { x } else { other })
    }

    #[backward(x)]
    fn grad_x(grad_output: &Tensor<T, D>, mask: &ArcArray<bool, IxDyn>) -> Tensor<T, D> {
        Self::apply(mask, grad_output, &zeros(grad_output))
    }

    #[backward(other)]
    fn grad_other(grad_output: &Tensor<T, D>, mask: &ArcArray<bool, IxDyn>) -> Tensor<T, D> {
        Self::apply(mask, &zeros(grad_output), grad_output)
    }

    #[jvp]
    fn jvp(
        tangent_x: Option<&Tensor<T, D>>,
        tangent_other: Option<&Tensor<T, D>>,
        mask: &ArcArray<bool, IxDyn>,
    ) -> Option<Tensor<T, D>> {
        let along_x = tangent_x.map(|tangent| Self::apply(mask, tangent, &zeros(tangent)));
        let along_other = tangent_other.map(|tangent| Self::apply(mask, &zeros(tangent), tangent));
        add_tangents(along_x, along_other)
    }
}

/// Returns zeros of a tensor's shape, which share one element.
#[track_caller]
fn zeros<T: Element, D: Dimension>(like: &Tensor<T, D>) -> Tensor<T, D> {
    Tensor::from(Array::<T, Ix0>::zeros(())).broadcast_to(like.shape())
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns the elements of this tensor where `mask` is true, and those of `other` elsewhere. The tensors broadcast
    /// as operands of operators do, and the mask broadcasts to their common shape. The gradient of elements that are
    /// not chosen is 0, even if they are NaN.
    ///
    /// # Panics
    /// If the tensors do not broadcast, or the mask does not to their common shape.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]);
    /// let zero = Tensor::from(array![0.0]);
    /// let chosen = x.where_(&array![true, false], &zero);
    /// assert_eq!(chosen.to_array(), array![[1.0, 0.0], [3.0, 0.0]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn where_<E: Dimension, M: Dimension>(
        &self,
        mask: &ArrayRef<bool, M>,
        other: &Tensor<T, E>,
    ) -> Tensor<T, Common<D, E>>
    where
        D: DimMax<E>,
    {
        let (x, other) = broadcast(self, other, "where_");
        let Some(mask) = mask.broadcast(IxDyn(x.shape())) else {
            panic!(
                "where_ of tensors of shape {:?} and a mask of shape {:?}: it does not broadcast",
                x.shape(),
                mask.shape()
            )
        };
        Where::apply(&mask.to_shared(), &x, &other)
    }
}
