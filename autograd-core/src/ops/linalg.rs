//! Systems of equations, inverses, determinants and Cholesky factors of small dense matrices.
//!
//! Backward factors the same matrix as forward, so it can rely on success.

use std::marker::PhantomData;
use std::panic::Location;

use ndarray::{Array, Array0, Array2, ArrayView, ArrayView2, Axis, Dimension};

use super::{Contract, add_tangents};
use crate::error::{Error, ErrorKind};
use crate::kernels::{self, Lu, Subscripts};
use crate::tensor::{Tensor, Tensor0, Tensor2};
use crate::{Element, Shape, custom_function};

#[track_caller]
fn square<T: Element>(function: &str, a: &ArrayView2<'_, T>) {
    let shape = a.shape();
    assert!(
        a.is_square(),
        "{function} of a tensor of shape {shape:?}: it is not square"
    );
}

#[track_caller]
fn factors<T: Element>(function: &'static str, a: &ArrayView2<'_, T>) -> Result<Lu<T>, Error> {
    square(function, a);
    let applied_at = Location::caller();
    Lu::new(a).map_err(|pivot| {
        ErrorKind::Singular {
            shape: Shape::from(a.shape()),
            pivot,
        }
        .of(function, applied_at)
    })
}

/// The reason why a gradient may expect a solution: forward has solved a system with the same matrix.
const SOLVED: &str = "a matrix that was factored once";

/// The X of AX = B, or of `AᵀX = B`.
#[derive(Debug)]
pub struct Solve<T, E>(PhantomData<(T, E)>);

#[custom_function(gradcheck(a = [3, 3], b = [3, 2], transposed = true))]
impl<T: Element, E: Dimension> Solve<T, E> {
    /// Returns the X of AX = B, or of `AᵀX = B` if `transposed`.
    #[doc = crate::math!(r"X = A^{-1} B, \qquad \frac{\partial L}{\partial B} = A^{-\top} G, \quad \frac{\partial L}{\partial A} = -\frac{\partial L}{\partial B} X^\top")]
    /// Here G is the gradient of X.
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
        transposed: bool,
    ) -> Result<Array<T, E>, Error> {
        let factors = factors("solve", &a)?;
        assert!(
            (1..=2).contains(&b.ndim()) && b.shape()[0] == a.nrows(),
            "solve of tensors of shapes {:?} and {:?}: they do not fit",
            a.shape(),
            b.shape()
        );
        let mut b = b.into_dyn();
        let is_vector = b.ndim() == 1;
        if is_vector {
            b = b.insert_axis(Axis(1));
        }
        // INVARIANT: there are two axes now, and those of b in the end.
        let b = b.into_dimensionality().expect("two axes");
        let x = if transposed {
            factors.solve_transposed(&b)
        } else {
            factors.solve(&b)
        };
        let mut x = x.into_dyn();
        if is_vector {
            x = x.index_axis_move(Axis(1), 0);
        }
        Ok(x.into_dimensionality().expect("the axes of b"))
    }

    #[backward(a)]
    fn grad_a(
        grad_output: &Tensor<T, E>,
        a: &Tensor2<T>,
        output: &Tensor<T, E>,
        transposed: bool,
    ) -> Tensor2<T> {
        let of_b = Self::apply(a, grad_output, !transposed).expect(SOLVED);
        let (rows, columns) = if transposed {
            (output, &of_b)
        } else {
            (&of_b, output)
        };
        let names = |own| -> Vec<u8> { [own, 2][..rows.ndim()].to_vec() };
        let subscripts = Subscripts::new(names(0), names(1), [0, 1]);
        -Contract::apply(rows, columns, &subscripts, a.shape())
    }

    #[backward(b)]
    fn grad_b(grad_output: &Tensor<T, E>, a: &Tensor2<T>, transposed: bool) -> Tensor<T, E> {
        Self::apply(a, grad_output, !transposed).expect(SOLVED)
    }

    #[jvp]
    fn jvp(
        tangent_a: Option<&Tensor2<T>>,
        tangent_b: Option<&Tensor<T, E>>,
        a: &Tensor2<T>,
        output: &Tensor<T, E>,
        transposed: bool,
    ) -> Option<Tensor<T, E>> {
        let along_a = tangent_a.map(|tangent| {
            let names = |own| -> Vec<u8> { [own, 2][..output.ndim()].to_vec() };
            let matrix = if transposed { [1, 0] } else { [0, 1] };
            let subscripts = Subscripts::new(matrix, names(1), names(0));
            -Contract::apply(tangent, output, &subscripts, output.shape())
        });
        let right = add_tangents(along_a, tangent_b.cloned())?;
        Some(Self::apply(a, &right, transposed).expect(SOLVED))
    }
}

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
        Ok(factors.solve(&Array2::eye(a.nrows()).view()))
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

/// The determinant of a matrix.
#[derive(Debug)]
pub struct Det<T>(PhantomData<T>);

#[custom_function(gradcheck(a = [3, 3]))]
impl<T: Element> Det<T> {
    /// Returns det A, the determinant.
    #[doc = crate::math!(r"\frac{\partial \det A}{\partial A} = \det A \cdot A^{-\top}")]
    /// # Errors
    /// [`Singular`](crate::ErrorKind::Singular) if it is 0: its gradient is computed from the inverse.
    ///
    /// # Panics
    /// If A is not square.
    #[forward]
    #[track_caller]
    pub fn forward(a: ArrayView2<T>) -> Result<Array0<T>, Error> {
        let factors = factors("det", &a)?;
        Ok(Array0::from_elem((), factors.det()))
    }

    #[backward(a)]
    fn backward(grad_output: &Tensor0<T>, a: &Tensor2<T>, output: &Tensor0<T>) -> Tensor2<T> {
        let inverse = Inverse::apply(a).expect(SOLVED);
        inverse.t() * (grad_output * output)
    }

    #[jvp]
    fn jvp(tangent_a: &Tensor2<T>, a: &Tensor2<T>, output: &Tensor0<T>) -> Tensor0<T> {
        let inverse = Inverse::apply(a).expect(SOLVED);
        let trace = Subscripts::new([0, 1], [1, 0], []);
        output * Contract::<T, _, _, ndarray::Ix0>::apply(&inverse, tangent_a, &trace, &[])
    }
}

/// The X of LX = B, or of `LᵀX = B`, where L is the lower triangle of a matrix. Where its diagonal is 0, X is infinite
/// or NaN.
#[derive(Debug)]
pub struct SolveTriangular<T>(PhantomData<T>);

#[custom_function(gradcheck(l = [3, 3], b = [3, 2], transposed = true))]
impl<T: Element> SolveTriangular<T> {
    /// Returns the X of LX = B, or of `LᵀX = B` if `transposed`, where L is the lower triangle of `l`.
    ///
    /// # Panics
    /// If L is not square, or the number of rows of B is different.
    #[forward]
    #[track_caller]
    pub fn forward(l: ArrayView2<T>, b: ArrayView2<T>, transposed: bool) -> Array2<T> {
        kernels::solve_triangular(&l, &b, transposed)
    }

    #[backward(l)]
    fn grad_l(
        grad_output: &Tensor2<T>,
        l: &Tensor2<T>,
        output: &Tensor2<T>,
        transposed: bool,
    ) -> Tensor2<T> {
        let of_b = Self::apply(l, grad_output, !transposed);
        let product = if transposed {
            output.matmul(&of_b.t())
        } else {
            of_b.matmul(&output.t())
        };
        -lower(&product, T::one())
    }

    #[backward(b)]
    fn grad_b(grad_output: &Tensor2<T>, l: &Tensor2<T>, transposed: bool) -> Tensor2<T> {
        Self::apply(l, grad_output, !transposed)
    }

    #[jvp]
    fn jvp(
        tangent_l: Option<&Tensor2<T>>,
        tangent_b: Option<&Tensor2<T>>,
        l: &Tensor2<T>,
        output: &Tensor2<T>,
        transposed: bool,
    ) -> Option<Tensor2<T>> {
        let along_l = tangent_l.map(|tangent| {
            let tangent = lower(tangent, T::one());
            let tangent = if transposed { tangent.t() } else { tangent };
            -tangent.matmul(output)
        });
        let right = add_tangents(along_l, tangent_b.cloned())?;
        Some(Self::apply(l, &right, transposed))
    }
}

/// Returns the lower triangle of a matrix, with its diagonal multiplied by a number.
#[track_caller]
fn lower<T: Element>(x: &Tensor2<T>, diagonal: T) -> Tensor2<T> {
    let (rows, columns) = x.view().dim();
    let mask = Array2::from_shape_fn((rows, columns), |(i, j)| match i.cmp(&j) {
        std::cmp::Ordering::Less => T::zero(),
        std::cmp::Ordering::Equal => diagonal,
        std::cmp::Ordering::Greater => T::one(),
    });
    x * Tensor::from(mask)
}

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
        let applied_at = Location::caller();
        kernels::cholesky(&a).map_err(|pivot| {
            ErrorKind::NotPositiveDefinite {
                shape: Shape::from(a.shape()),
                pivot,
            }
            .of("cholesky", applied_at)
        })
    }

    // With Φ for the lower triangle whose diagonal is halved, the gradient is the symmetric part of
    // L⁻ᵀ Φ(Lᵀ grad) L⁻¹.
    #[backward(a)]
    fn backward(grad_output: &Tensor2<T>, output: &Tensor2<T>) -> Tensor2<T> {
        let half = T::from_f64(0.5);
        let inner = lower(&output.t().matmul(grad_output), half);
        let left = SolveTriangular::apply(output, &inner, true);
        let whole = SolveTriangular::apply(output, &left.t(), true);
        (&whole + whole.t()) * half
    }

    #[jvp]
    fn jvp(tangent_a: &Tensor2<T>, output: &Tensor2<T>) -> Tensor2<T> {
        let half = T::from_f64(0.5);
        let symmetric = (tangent_a + tangent_a.t()) * half;
        let left = SolveTriangular::apply(output, &symmetric, false);
        let whole = SolveTriangular::apply(output, &left.t(), false);
        output.matmul(&lower(&whole, half))
    }
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
        Solve::apply(self, b, false)
    }

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
        Det::apply(self)
    }

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
