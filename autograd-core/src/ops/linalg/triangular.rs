//! Systems of equations with triangular matrices, and triangles of matrices.

use std::marker::PhantomData;

use ndarray::{Array, Array2, ArrayView, ArrayView2, Dimension, s};

use super::solve::{fit, outer, times};
use crate::kernels::{self, Triangle};
use crate::ops::add_tangents;
use crate::tensor::{Tensor, Tensor2};
use crate::{Element, custom_function};

/// The X of AX = B, where A is a triangle of a matrix.
#[derive(Debug)]
pub struct SolveTriangular<T, E>(PhantomData<(T, E)>);

#[custom_function(gradcheck(a = [3, 3], b = [3, 2], triangle = Triangle::Upper))]
impl<T: Element, E: Dimension> SolveTriangular<T, E> {
    /// Returns the X of AX = B, where A is a triangle of a matrix. Where its diagonal is 0, X is infinite or NaN.
    #[doc = crate::math!(r"X = A^{-1} B, \qquad \frac{\partial L}{\partial B} = A^{-\top} G, \quad \frac{\partial L}{\partial A} = -\frac{\partial L}{\partial B} X^\top")]
    /// Here G is the gradient of X. The gradient of A is that triangle of the matrix, and 0 elsewhere.
    ///
    /// # Panics
    /// If A is not square, the number of rows of B is different, or B does not have one or two axes.
    #[forward]
    #[track_caller]
    pub fn forward(a: ArrayView2<T>, b: ArrayView<T, E>, triangle: Triangle) -> Array<T, E> {
        fit("solve_triangular", &a, &b);
        kernels::solve_triangular(&a, &b, triangle)
    }

    #[backward(a)]
    fn grad_a(
        grad_output: &Tensor<T, E>,
        a: &Tensor2<T>,
        output: &Tensor<T, E>,
        triangle: Triangle,
    ) -> Tensor2<T> {
        let of_b = Self::apply(&a.t(), grad_output, triangle.transposed());
        -TriangularPart::apply(&outer(&of_b, output), triangle, T::one())
    }

    #[backward(b)]
    fn grad_b(grad_output: &Tensor<T, E>, a: &Tensor2<T>, triangle: Triangle) -> Tensor<T, E> {
        Self::apply(&a.t(), grad_output, triangle.transposed())
    }

    #[jvp]
    fn jvp(
        tangent_a: Option<&Tensor2<T>>,
        tangent_b: Option<&Tensor<T, E>>,
        a: &Tensor2<T>,
        output: &Tensor<T, E>,
        triangle: Triangle,
    ) -> Option<Tensor<T, E>> {
        let along_a = tangent_a.map(|tangent| {
            let tangent = TriangularPart::apply(tangent, triangle, T::one());
            -times(&tangent, output)
        });
        let right = add_tangents(along_a, tangent_b.cloned())?;
        Some(Self::apply(a, &right, triangle))
    }
}

/// A triangle of a matrix, with its diagonal multiplied by a number; the other elements are 0.
#[derive(Debug)]
pub struct TriangularPart<T>(PhantomData<T>);

#[custom_function(gradcheck(x = [3, 3], triangle = Triangle::Lower, diagonal = 0.5))]
impl<T: Element> TriangularPart<T> {
    /// Returns a triangle of a matrix, with its diagonal multiplied by a number; the other elements are 0.
    #[forward]
    pub fn forward(x: ArrayView2<T>, triangle: Triangle, diagonal: T) -> Array2<T> {
        let mut part = kernels::row_major(&x);
        for (i, mut row) in part.rows_mut().into_iter().enumerate() {
            let Some(on_diagonal) = row.get_mut(i) else {
                continue;
            };
            *on_diagonal *= diagonal;
            let others = match triangle {
                Triangle::Lower => s![i + 1..],
                Triangle::Upper => s![..i],
            };
            row.slice_mut(others).fill(T::zero());
        }
        part
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor2<T>, triangle: Triangle, diagonal: T) -> Tensor2<T> {
        Self::apply(grad_output, triangle, diagonal)
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor2<T>, triangle: Triangle, diagonal: T) -> Tensor2<T> {
        Self::apply(tangent_x, triangle, diagonal)
    }
}

impl<T: Element> Tensor2<T> {
    /// Returns the x of Ax = b, where A is a triangle of the matrix, for a vector b or for the columns of a matrix. Where
    /// the diagonal is 0, x is infinite or NaN.
    ///
    /// To solve with the transpose of a triangle L, call `l.t().solve_triangular(b, Triangle::Upper)`: nothing is copied.
    /// [`SolveTriangular`](crate::ops::SolveTriangular) has the formula of the gradient.
    ///
    /// # Panics
    /// If A is not square, the number of rows of b is different, or b does not have one or two axes.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Triangle};
    ///
    /// let l = Tensor::from(array![[2.0, 0.0], [1.0, 4.0]]);
    /// let b = Tensor::from(array![2.0, 9.0]);
    /// assert_eq!(l.solve_triangular(&b, Triangle::Lower).to_array(), array![1.0, 2.0]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn solve_triangular<E: Dimension>(
        &self,
        b: &Tensor<T, E>,
        triangle: Triangle,
    ) -> Tensor<T, E> {
        SolveTriangular::apply(self, b, triangle)
    }
}
