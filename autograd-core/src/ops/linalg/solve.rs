//! Solutions of systems of equations.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, ArrayView2, Dimension};

use super::{SOLVED, factors, square};
use crate::error::Error;
use crate::kernels::{Lu, Subscripts};
use crate::ops::{Contract, add_tangents};
use crate::tensor::{Tensor, Tensor2};
use crate::{Element, custom_function};

/// The X of AX = B, or of `AᵀX = B`.
#[derive(Debug)]
pub struct Solve<T, E>(PhantomData<(T, E)>);

#[custom_function(gradcheck(a = [3, 3], b = [3, 2], factors = None, transposed = true))]
impl<T: Element, E: Dimension> Solve<T, E> {
    /// Returns the X of AX = B, or of `AᵀX = B` if `transposed`.
    #[doc = crate::math!(r"X = A^{-1} B, \qquad \frac{\partial L}{\partial B} = A^{-\top} G, \quad \frac{\partial L}{\partial A} = -\frac{\partial L}{\partial B} X^\top")]
    /// Here G is the gradient of X. `factors` are those of A, if they are known.
    ///
    /// # Errors
    /// [`Singular`](crate::ErrorKind::Singular) if A is.
    ///
    /// # Panics
    /// If A is not square, the number of rows of B is different, or B does not have one or two axes.
    #[forward]
    #[track_caller]
    pub fn forward(
        a: ArrayView2<T>,
        b: ArrayView<T, E>,
        factors: Option<&Lu<T>>,
        transposed: bool,
    ) -> Result<Array<T, E>, Error> {
        fit("solve", &a, &b);
        let factors = match factors {
            Some(factors) => factors.clone(),
            None => super::factors("solve", &a)?,
        };
        Ok(if transposed {
            factors.solve_transposed(&b)
        } else {
            factors.solve(&b)
        })
    }

    #[backward(a)]
    fn grad_a(
        grad_output: &Tensor<T, E>,
        a: &Tensor2<T>,
        output: &Tensor<T, E>,
        factors: Option<&Lu<T>>,
        transposed: bool,
    ) -> Tensor2<T> {
        let of_b = Self::apply(a, grad_output, factors, !transposed).expect(SOLVED);
        -if transposed {
            outer(output, &of_b)
        } else {
            outer(&of_b, output)
        }
    }

    #[backward(b)]
    fn grad_b(
        grad_output: &Tensor<T, E>,
        a: &Tensor2<T>,
        factors: Option<&Lu<T>>,
        transposed: bool,
    ) -> Tensor<T, E> {
        Self::apply(a, grad_output, factors, !transposed).expect(SOLVED)
    }

    #[jvp]
    fn jvp(
        tangent_a: Option<&Tensor2<T>>,
        tangent_b: Option<&Tensor<T, E>>,
        a: &Tensor2<T>,
        output: &Tensor<T, E>,
        factors: Option<&Lu<T>>,
        transposed: bool,
    ) -> Option<Tensor<T, E>> {
        let along_a = tangent_a.map(|tangent| {
            -if transposed {
                times(&tangent.t(), output)
            } else {
                times(tangent, output)
            }
        });
        let right = add_tangents(along_a, tangent_b.cloned())?;
        Some(Self::apply(a, &right, factors, transposed).expect(SOLVED))
    }
}

/// Checks that a right side fits a square matrix.
#[track_caller]
pub(super) fn fit<T: Element, E: Dimension>(
    function: &str,
    a: &ArrayView2<'_, T>,
    b: &ArrayView<'_, T, E>,
) {
    square(function, a);
    assert!(
        (1..=2).contains(&b.ndim()) && b.shape()[0] == a.nrows(),
        "{function} of tensors of shapes {:?} and {:?}: they do not fit",
        a.shape(),
        b.shape()
    );
}

/// Returns `xyᵀ` of two vectors, or of two matrices.
#[track_caller]
pub(super) fn outer<T: Element, E: Dimension>(x: &Tensor<T, E>, y: &Tensor<T, E>) -> Tensor2<T> {
    let subscripts = Subscripts::new(names(0, x), names(1, x), [0, 1]);
    Contract::apply(x, y, &subscripts, &[x.shape()[0], y.shape()[0]])
}

/// Returns the product of a square matrix, and a vector or a matrix.
#[track_caller]
pub(super) fn times<T: Element, E: Dimension>(a: &Tensor2<T>, x: &Tensor<T, E>) -> Tensor<T, E> {
    let subscripts = Subscripts::new([0, 1], names(1, x), names(0, x));
    Contract::apply(a, x, &subscripts, x.shape())
}

/// Returns names of the axes of a vector or a matrix, with `first` for the first one.
fn names<T: Element, E: Dimension>(first: u8, x: &Tensor<T, E>) -> Vec<u8> {
    [first, 2][..x.ndim()].to_vec()
}

impl<T: Element> Tensor2<T> {
    /// Returns the x of Ax = b, for a vector b or for the columns of a matrix.
    ///
    /// [`Solve`](crate::ops::Solve) has the formula of the gradient.
    ///
    /// # Errors
    /// [`Singular`](crate::ErrorKind::Singular) if A is.
    ///
    /// # Panics
    /// If A is not square, the number of rows of b is different, or b does not have one or two axes.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let a = Tensor::from(array![[2.0, 0.0], [1.0, 4.0]]);
    /// let x = a.solve(&Tensor::from(array![2.0, 9.0]))?;
    /// assert_eq!(x.to_array(), array![1.0, 2.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[track_caller]
    pub fn solve<E: Dimension>(&self, b: &Tensor<T, E>) -> Result<Tensor<T, E>, Error> {
        let a = self.view();
        fit("solve", &a, &b.view());
        let factors = factors("solve", &a)?;
        Solve::apply(self, b, Some(&factors), false)
    }
}
