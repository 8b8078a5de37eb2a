//! The methods.

use ndarray::Dimension;

use super::{Cholesky, Det, Inverse, Solve};
use crate::{Element, Error, Tensor, Tensor0, Tensor2};

impl<T: Element> Tensor2<T> {
    /// The x of Ax = b, for a vector or the columns of a matrix.
    ///
    /// [`Solve`](crate::ops::Solve) has the formula of the gradient.
    ///
    /// # Errors
    /// [`ErrorKind::Singular`](crate::ErrorKind::Singular) if A is.
    ///
    /// # Panics
    /// If A is not square, or b has another number of rows, or neither one axis nor two.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    ///
    /// let a = Tensor::from(array![[2.0, 0.0], [1.0, 4.0]]);
    /// let x = a.solve(&Tensor::from(array![2.0, 9.0]))?;
    /// assert_eq!(x.to_array(), array![1.0, 2.0]);
    /// # Ok::<(), autograd_core::Error>(())
    /// ```
    #[track_caller]
    pub fn solve<E: Dimension>(&self, b: &Tensor<T, E>) -> Result<Tensor<T, E>, Error> {
        Solve::apply(self, b, false)
    }

    /// The inverse. To solve a system, [`solve`](Self::solve) is faster and more exact.
    ///
    /// # Errors
    /// [`ErrorKind::Singular`](crate::ErrorKind::Singular) if there is none.
    ///
    /// # Panics
    /// If the matrix is not square.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    ///
    /// let a = Tensor::from(array![[2.0, 0.0], [0.0, 4.0]]);
    /// assert_eq!(a.inv()?.to_array(), array![[0.5, 0.0], [0.0, 0.25]]);
    /// # Ok::<(), autograd_core::Error>(())
    /// ```
    #[track_caller]
    pub fn inv(&self) -> Result<Self, Error> {
        Inverse::apply(self)
    }

    /// The determinant.
    ///
    /// # Errors
    /// [`ErrorKind::Singular`](crate::ErrorKind::Singular) if it is 0: its gradient is computed from the inverse.
    ///
    /// # Panics
    /// If the matrix is not square.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    ///
    /// assert_eq!(Tensor::from(array![[2.0, 1.0], [0.0, 4.0]]).det()?.item(), 8.0);
    /// # Ok::<(), autograd_core::Error>(())
    /// ```
    #[track_caller]
    pub fn det(&self) -> Result<Tensor0<T>, Error> {
        Det::apply(self)
    }

    /// The lower triangular L of `A = LLᵀ`, of (A + Aᵀ)/2 if A is not symmetric.
    ///
    /// # Errors
    /// [`ErrorKind::NotPositiveDefinite`](crate::ErrorKind::NotPositiveDefinite) if A is not.
    ///
    /// # Panics
    /// If the matrix is not square.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    ///
    /// let a = Tensor::from(array![[4.0, 2.0], [2.0, 10.0]]);
    /// assert_eq!(a.cholesky()?.to_array(), array![[2.0, 0.0], [1.0, 3.0]]);
    /// # Ok::<(), autograd_core::Error>(())
    /// ```
    #[track_caller]
    pub fn cholesky(&self) -> Result<Self, Error> {
        Cholesky::apply(self)
    }
}
