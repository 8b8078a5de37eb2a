//! xᵀ

use std::marker::PhantomData;

use ndarray::Dimension;

use crate::{Element, custom_function, tensor::Tensor};

/// A tensor with its axes in reverse order, without a copy.
#[derive(Debug)]
pub struct Transpose<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Transpose<T, D> {
    /// Returns a view with the axes in reverse order.
    #[forward]
    pub fn forward(x: &Tensor<T, D>) -> Tensor<T, D> {
        x.part(|view| view.t())
    }

    #[adjoint(x)]
    fn adjoint(grad_output: &Tensor<T, D>) -> Tensor<T, D> {
        Self::forward(grad_output)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Reverses the order of the axes, without a copy: the transpose of a matrix.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// assert_eq!(Tensor::from(array![[1.0, 2.0]]).t().to_array(), array![[1.0], [2.0]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn t(&self) -> Self {
        Transpose::apply(self)
    }
}
