//! Cholesky factors.

use std::marker::PhantomData;

use ndarray::{Array2, ArrayView2};

use super::{failed, square};
use crate::error::Error;
use crate::kernels::{self, Triangle};
use crate::ops::TriangularPart;
use crate::tensor::Tensor2;
use crate::{Element, custom_function};

/// The lower triangular L of `A = LLᵀ`.
#[derive(Debug)]
pub struct Cholesky<T>(PhantomData<T>);

#[custom_function]
impl<T: Element> Cholesky<T> {
    /// Returns the lower triangular L of `A = LLᵀ`, or of `(A + Aᵀ)/2 = LLᵀ` if A is not symmetric.
    ///
    /// # Errors
    /// [`NotPositiveDefinite`](crate::ErrorKind::NotPositiveDefinite) if A is not.
    ///
    /// # Panics
    /// If A is not square.
    #[forward]
    #[track_caller]
    pub fn forward(a: ArrayView2<T>) -> Result<Array2<T>, Error> {
        square("cholesky", &a);
        kernels::cholesky(&a).map_err(failed("cholesky", &a))
    }

    // With Φ for the lower triangle whose diagonal is halved, the gradient is the symmetric part of
    // L⁻ᵀ Φ(Lᵀ grad) L⁻¹. Where it is not recorded, the kernel computes it in a third of the operations.
    #[backward(a)]
    fn backward(grad_output: &Tensor2<T>, output: &Tensor2<T>) -> Tensor2<T> {
        if grad_output.is_plain() && output.is_plain() {
            return kernels::cholesky_gradient(&output.view(), &grad_output.view()).into();
        }
        let half = T::from_f64(0.5);
        let grad = TriangularPart::apply(grad_output, Triangle::Lower, T::one());
        let inner = TriangularPart::apply(&output.t().matmul(&grad), Triangle::Lower, half);
        let left = output.t().solve_triangular(&inner, Triangle::Upper);
        let whole = output.t().solve_triangular(&left.t(), Triangle::Upper);
        (&whole + whole.t()) * half
    }

    #[jvp]
    fn jvp(tangent_a: &Tensor2<T>, output: &Tensor2<T>) -> Tensor2<T> {
        let half = T::from_f64(0.5);
        let symmetric = (tangent_a + tangent_a.t()) * half;
        let left = output.solve_triangular(&symmetric, Triangle::Lower);
        let whole = output.solve_triangular(&left.t(), Triangle::Lower);
        output.matmul(&TriangularPart::apply(&whole, Triangle::Lower, half))
    }
}

impl<T: Element> Tensor2<T> {
    /// Returns the lower triangular L of `A = LLᵀ`, or of `(A + Aᵀ)/2 = LLᵀ` if A is not symmetric.
    ///
    /// # Errors
    /// [`NotPositiveDefinite`](crate::ErrorKind::NotPositiveDefinite) if A is not.
    ///
    /// # Panics
    /// If the matrix is not square.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let a = Tensor::from(array![[4.0, 2.0], [2.0, 10.0]]);
    /// assert_eq!(a.cholesky()?.to_array(), array![[2.0, 0.0], [1.0, 3.0]]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[track_caller]
    pub fn cholesky(&self) -> Result<Self, Error> {
        Cholesky::apply(self)
    }
}
