//! Inverses.

use std::marker::PhantomData;

use ndarray::{Array2, ArrayView2};

use super::factors;
use crate::error::Error;
use crate::tensor::Tensor2;
use crate::{Element, custom_function};

/// The inverse of a matrix.
#[derive(Debug)]
pub struct Inverse<T>(PhantomData<T>);

#[custom_function(gradcheck(a = [3, 3]))]
impl<T: Element> Inverse<T> {
    /// Returns A⁻¹, the inverse.
    #[doc = crate::math!(r"\frac{\partial L}{\partial A} = -A^{-\top} G A^{-\top}")]
    /// Here G is the gradient of the inverse.
    ///
    /// # Errors
    /// [`Singular`](crate::ErrorKind::Singular) if there is none.
    ///
    /// # Panics
    /// If A is not square.
    #[forward]
    #[track_caller]
    pub fn forward(a: ArrayView2<T>) -> Result<Array2<T>, Error> {
        let factors = factors("inv", &a)?;
        Ok(factors.inverse())
    }

    #[backward(a)]
    fn backward(grad_output: &Tensor2<T>, output: &Tensor2<T>) -> Tensor2<T> {
        -output.t().matmul(grad_output).matmul(&output.t())
    }

    #[jvp]
    fn jvp(tangent_a: &Tensor2<T>, output: &Tensor2<T>) -> Tensor2<T> {
        -output.matmul(tangent_a).matmul(output)
    }
}

impl<T: Element> Tensor2<T> {
    /// Returns the inverse. To solve a system, [`solve`](Self::solve) is faster and more exact.
    ///
    /// # Errors
    /// [`Singular`](crate::ErrorKind::Singular) if there is none.
    ///
    /// # Panics
    /// If the matrix is not square.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let a = Tensor::from(array![[2.0, 0.0], [0.0, 4.0]]);
    /// assert_eq!(a.inv()?.to_array(), array![[0.5, 0.0], [0.0, 0.25]]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[track_caller]
    pub fn inv(&self) -> Result<Self, Error> {
        Inverse::apply(self)
    }
}
