//! The elements of a tensor in another shape.

use std::marker::PhantomData;

use ndarray::{Dimension, IntoDimension, IxDyn};

use crate::kernels::checks::{has_axis, has_rank, size};
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// The elements of a tensor, in row-major order, in another shape.
#[derive(Debug)]
pub struct Reshape<T, D, E>(PhantomData<(T, D, E)>);

#[custom_function(gradcheck(x = [2, 3, 2], shape = &[4, 3], E = ndarray::Ix2))]
impl<T: Element, D: Dimension, E: Dimension> Reshape<T, D, E> {
    /// Returns a view of `x` as `shape`, or a copy if `x` is not in row-major order.
    ///
    /// # Panics
    /// If `shape` does not have as many elements as `x`, or its rank is not that of `E`.
    #[forward]
    #[track_caller]
    pub fn forward(x: &Tensor<T, D>, shape: &[usize]) -> Tensor<T, E> {
        assert!(
            size(shape) == Some(x.len()),
            "reshape of a tensor of shape {:?} to {shape:?}: the numbers of elements differ",
            x.shape()
        );
        has_rank::<E>("reshape", x.shape(), shape.len());
        let copy;
        let source = if x.view().is_standard_layout() {
            x
        } else {
            copy = Tensor::from(kernels::row_major(&x.view()));
            &copy
        };
        source.part(|view| {
            let reshaped = view.view().into_shape_with_order(IxDyn(shape));
            // INVARIANT: the source is in row-major order, and of as many elements.
            reshaped.expect("as many elements")
        })
    }

    #[adjoint(x)]
    fn adjoint(grad_output: &Tensor<T, E>, shape_x: &[usize]) -> Tensor<T, D> {
        Reshape::forward(grad_output, shape_x)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns the elements, in row-major order, in another shape. The type of `shape` determines the rank: for
    /// `(2, 3)` and `[2, 3]` the result is a matrix, for a slice or a `Vec` a tensor whose rank is known at run time.
    ///
    /// The elements are copied only if they are not in row-major order, as in a transposed matrix.
    ///
    /// # Panics
    /// If `shape` does not have as many elements as the tensor.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let x = Tensor::from(array![1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(x.reshape((2, 2)).to_array(), array![[1.0, 2.0], [3.0, 4.0]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn reshape<S: IntoDimension>(&self, shape: S) -> Tensor<T, S::Dim> {
        Reshape::apply(self, shape.into_dimension().slice())
    }

    /// Merges the axes `from` to `to`, both included, into one.
    ///
    /// # Panics
    /// If there are no such axes, or the rank of the result is not that of `E`.
    ///
    /// ```
    /// use pullback::{Tensor, Tensor2, ndarray::Array4};
    ///
    /// let images = Tensor::from(Array4::<f32>::zeros((5, 3, 2, 2)));
    /// let rows: Tensor2<f32> = images.flatten(1, 3);
    /// assert_eq!(rows.shape(), [5, 12]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn flatten<E: Dimension>(&self, from: usize, to: usize) -> Tensor<T, E> {
        has_axis("flatten", self.shape(), to);
        assert!(
            from <= to,
            "flatten of a tensor of shape {:?}: the axis {from} comes after {to}",
            self.shape()
        );
        let mut shape = self.shape().to_vec();
        let merged = shape[from..=to].iter().product();
        shape.splice(from..=to, [merged]);
        has_rank::<E>("flatten", self.shape(), shape.len());
        Reshape::apply(self, &shape)
    }
}
