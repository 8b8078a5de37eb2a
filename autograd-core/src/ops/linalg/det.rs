//! Determinants.

use std::marker::PhantomData;

use ndarray::{Array0, Array2, ArrayView2, arr0};

use super::{SOLVED, factors};
use crate::error::Error;
use crate::kernels::Lu;
use crate::ops::Solve;
use crate::tensor::{Tensor, Tensor0, Tensor2};
use crate::{Element, custom_function};

/// The determinant of a matrix.
#[derive(Debug)]
pub struct Det<T>(PhantomData<T>);

#[custom_function(gradcheck(a = [3, 3], factors = None))]
impl<T: Element> Det<T> {
    /// Returns det A, the determinant.
    #[doc = crate::math!(r"\frac{\partial \det A}{\partial A} = \det A \cdot A^{-\top}")]
    /// `factors` are those of A, if they are known.
    ///
    /// # Errors
    /// [`Singular`](crate::ErrorKind::Singular) if it is 0: its gradient is computed from the inverse.
    ///
    /// # Panics
    /// If A is not square.
    #[forward]
    #[track_caller]
    pub fn forward(a: ArrayView2<T>, factors: Option<&Lu<T>>) -> Result<Array0<T>, Error> {
        let det = match factors {
            Some(factors) => factors.det(),
            None => super::factors("det", &a)?.det(),
        };
        Ok(arr0(det))
    }

    #[backward(a)]
    fn backward(
        grad_output: &Tensor0<T>,
        a: &Tensor2<T>,
        output: &Tensor0<T>,
        factors: Option<&Lu<T>>,
    ) -> Tensor2<T> {
        inverse_transposed(a, factors) * (grad_output * output)
    }

    #[jvp]
    fn jvp(
        tangent_a: &Tensor2<T>,
        a: &Tensor2<T>,
        output: &Tensor0<T>,
        factors: Option<&Lu<T>>,
    ) -> Tensor0<T> {
        (inverse_transposed(a, factors) * tangent_a).sum() * output
    }
}

/// The logarithm of the magnitude of the determinant of a matrix.
#[derive(Debug)]
pub struct LogDet<T>(PhantomData<T>);

#[custom_function(gradcheck(a = [3, 3], factors = None))]
impl<T: Element> LogDet<T> {
    /// Returns ln |det A|.
    #[doc = crate::math!(r"\frac{\partial \ln |\det A|}{\partial A} = A^{-\top}")]
    /// `factors` are those of A, if they are known.
    ///
    /// # Errors
    /// [`Singular`](crate::ErrorKind::Singular) if the determinant is 0.
    ///
    /// # Panics
    /// If A is not square.
    #[forward]
    #[track_caller]
    pub fn forward(a: ArrayView2<T>, factors: Option<&Lu<T>>) -> Result<Array0<T>, Error> {
        let (_, logarithm) = match factors {
            Some(factors) => factors.log_det(),
            None => super::factors("slogdet", &a)?.log_det(),
        };
        Ok(arr0(logarithm))
    }

    #[backward(a)]
    fn backward(grad_output: &Tensor0<T>, a: &Tensor2<T>, factors: Option<&Lu<T>>) -> Tensor2<T> {
        inverse_transposed(a, factors) * grad_output
    }

    #[jvp]
    fn jvp(tangent_a: &Tensor2<T>, a: &Tensor2<T>, factors: Option<&Lu<T>>) -> Tensor0<T> {
        (inverse_transposed(a, factors) * tangent_a).sum()
    }
}

/// Returns the inverse, transposed, of a matrix that was factored.
#[track_caller]
fn inverse_transposed<T: Element>(a: &Tensor2<T>, factors: Option<&Lu<T>>) -> Tensor2<T> {
    let eye = Tensor::from(Array2::eye(a.shape()[0]));
    Solve::apply(a, &eye, factors, true).expect(SOLVED)
}

impl<T: Element> Tensor2<T> {
    /// Returns the determinant.
    ///
    /// # Errors
    /// [`Singular`](crate::ErrorKind::Singular) if it is 0: its gradient is computed from the inverse.
    ///
    /// # Panics
    /// If the matrix is not square.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// assert_eq!(Tensor::from(array![[2.0, 1.0], [0.0, 4.0]]).det()?.item(), 8.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[track_caller]
    pub fn det(&self) -> Result<Tensor0<T>, Error> {
        let factors = factors("det", &self.view())?;
        Det::apply(self, Some(&factors))
    }

    /// Returns the sign of the determinant, 1 or −1, and ln |det A|, which is finite where the determinant of a large
    /// matrix is not. The sign is a plain number.
    ///
    /// [`LogDet`](crate::ops::LogDet) has the formula of the gradient.
    ///
    /// # Errors
    /// [`Singular`](crate::ErrorKind::Singular) if the determinant is 0.
    ///
    /// # Panics
    /// If the matrix is not square.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::{Array2, array}};
    ///
    /// let (sign, logarithm) = Tensor::from(array![[0.0, 2.0], [1.0, 0.0]]).slogdet()?;
    /// assert_eq!((sign, logarithm.item()), (-1.0, 2.0_f64.ln()));
    ///
    /// let (_, logarithm) = Tensor::from(Array2::<f32>::eye(100) * 10.0).slogdet()?;
    /// assert!((logarithm.item() - 100.0 * 10.0_f32.ln()).abs() < 1e-3);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[track_caller]
    pub fn slogdet(&self) -> Result<(T, Tensor0<T>), Error> {
        let factors = factors("slogdet", &self.view())?;
        let (sign, _) = factors.log_det();
        Ok((sign, LogDet::apply(self, Some(&factors))?))
    }
}
