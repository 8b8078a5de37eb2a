//! The product of two matrices.

use std::marker::PhantomData;

use ndarray::{Array2, ArrayView2};

use super::joined;
use crate::{Element, Tensor2, custom_function};

/// The product of two matrices. Transposed operands are multiplied as they lie in memory.
#[derive(Debug)]
pub struct MatMul<T>(PhantomData<T>);

#[custom_function(gradcheck(x = [2, 3], y = [3, 4]))]
impl<T: Element> MatMul<T> {
    /// The product of two matrices.
    ///
    /// # Panics
    /// If `x` has not as many columns as `y` has rows.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView2<T>, y: ArrayView2<T>) -> Array2<T> {
        assert!(
            x.ncols() == y.nrows(),
            "matmul of shapes {:?} and {:?}: the columns of the first are not the rows of the second",
            x.shape(),
            y.shape()
        );
        x.dot(&y)
    }

    #[backward(x)]
    fn grad_x(grad_output: &Tensor2<T>, y: &Tensor2<T>) -> Tensor2<T> {
        grad_output.matmul(&y.t())
    }

    #[backward(y)]
    fn grad_y(grad_output: &Tensor2<T>, x: &Tensor2<T>) -> Tensor2<T> {
        x.t().matmul(grad_output)
    }

    #[jvp]
    fn jvp(
        tangent_x: Option<&Tensor2<T>>,
        tangent_y: Option<&Tensor2<T>>,
        x: &Tensor2<T>,
        y: &Tensor2<T>,
    ) -> Option<Tensor2<T>> {
        let along_x = tangent_x.map(|tangent| tangent.matmul(y));
        let along_y = tangent_y.map(|tangent| x.matmul(tangent));
        joined(along_x, along_y)
    }
}

impl<T: Element> Tensor2<T> {
    /// The product of two matrices.
    ///
    /// # Panics
    /// If this one has not as many columns as `other` has rows.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    ///
    /// let x = Tensor::from(array![[1.0, 2.0]]);
    /// assert_eq!(x.matmul(&x.t()).to_array(), array![[5.0]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn matmul(&self, other: &Self) -> Self {
        MatMul::apply(self, other)
    }
}
