//! Eigenvalues and eigenvectors of symmetric matrices.

use std::marker::PhantomData;

use ndarray::{Array1, Array2, ArrayView2, Axis};

use super::pairs::{OverPairs, Pairs, defined};
use super::{failed, square};
use crate::error::Error;
use crate::kernels;
use crate::ops::add_tangents;
use crate::tensor::{Tensor1, Tensor2};
use crate::{Element, custom_function};

/// The eigenvalues and eigenvectors of a symmetric matrix.
#[derive(Debug)]
pub struct Eigh<T>(PhantomData<T>);

#[custom_function(gradcheck(a = [4, 4]))]
impl<T: Element> Eigh<T> {
    /// Returns the eigenvalues λ of A, or of (A + Aᵀ)/2 if A is not symmetric, in ascending order, and their eigenvectors,
    /// in the columns of V.
    #[doc = crate::math!(r"\frac{\partial L}{\partial A} = V \left(\operatorname{diag}(g) + F\right) V^\top")]
    #[doc = crate::math!(r"F_{ij} = \frac{S_{ij}}{\lambda_j - \lambda_i}, \quad S = \frac{V^\top G - G^\top V}{2}")]
    /// Here g is the gradient of λ, and G that of V. Eigenvectors of eigenvalues that are equal to rounding have no
    /// derivative: a gradient that depends on them is an error, and their tangent is NaN. The gradient of the eigenvalues is
    /// right.
    ///
    /// # Errors
    /// [`NotConverged`](crate::ErrorKind::NotConverged) if an element is infinite or NaN.
    ///
    /// # Panics
    /// If A is not square.
    #[forward(outputs(values, vectors))]
    #[track_caller]
    pub fn forward(a: ArrayView2<T>) -> Result<(Array1<T>, Array2<T>), Error> {
        square("eigh", &a);
        kernels::eigh(&a).map_err(failed("eigh", &a))
    }

    #[backward(a)]
    fn backward(
        grad_values: Option<&Tensor1<T>>,
        grad_vectors: Option<&Tensor2<T>>,
        values: &Tensor1<T>,
        vectors: &Tensor2<T>,
    ) -> Result<Option<Tensor2<T>>, String> {
        let inner = grad_vectors.map(|grad| vectors.t().matmul(grad));
        if let Some(inner) = &inner {
            defined(inner, values, Pairs::Differences)?;
        }
        let along_vectors = inner.map(|inner| {
            let skew = (&inner - inner.t()) * T::from_f64(0.5);
            vectors.matmul(&OverPairs::apply(&skew, values, Pairs::Differences))
        });
        let along_values = grad_values.map(|grad| vectors * grad);
        let whole = add_tangents(along_values, along_vectors);
        Ok(whole.map(|whole| whole.matmul(&vectors.t())))
    }

    #[jvp]
    fn jvp(
        tangent_a: &Tensor2<T>,
        values: &Tensor1<T>,
        vectors: &Tensor2<T>,
    ) -> (Tensor1<T>, Tensor2<T>) {
        let symmetric = (tangent_a + tangent_a.t()) * T::from_f64(0.5);
        let turned = symmetric.matmul(vectors);
        let inner = OverPairs::apply(&vectors.t().matmul(&turned), values, Pairs::Differences);
        ((vectors * turned).sum_axis(Axis(0)), vectors.matmul(&inner))
    }
}

impl<T: Element> Tensor2<T> {
    /// Returns the eigenvalues of a symmetric matrix, or of (A + Aᵀ)/2 if A is not symmetric, in ascending order, and their
    /// eigenvectors, which are orthonormal, in the columns of a matrix.
    ///
    /// The sign of an eigenvector is arbitrary. Here the first element whose magnitude is within 1 % of the largest is
    /// positive. Eigenvectors of eigenvalues that are equal to rounding have no derivative: a backward pass that depends on
    /// them is an error. The gradient of the eigenvalues is right. A vector whose gradient is exactly 0 counts as one that the
    /// result does not depend on: where eigenvalues of 0 are equal, V diag(λ) Vᵀ has no error and lacks a part of its
    /// gradient. [`Eigh`](crate::ops::Eigh) has the formula.
    ///
    /// # Errors
    /// [`NotConverged`](crate::ErrorKind::NotConverged) if an element is infinite or NaN.
    ///
    /// # Panics
    /// If the matrix is not square.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let a = Tensor::from(array![[3.0, 0.0], [0.0, 2.0]]).set_requires_grad(true);
    /// let (values, vectors) = a.eigh()?;
    /// assert_eq!(values.to_array(), array![2.0, 3.0]);
    /// assert_eq!(vectors.to_array(), array![[0.0, 1.0], [1.0, 0.0]]);
    ///
    /// values.max().backward()?;
    /// assert_eq!(a.grad(), Some(array![[1.0, 0.0], [0.0, 0.0]]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[track_caller]
    pub fn eigh(&self) -> Result<(Tensor1<T>, Self), Error> {
        Eigh::apply(self)
    }
}
