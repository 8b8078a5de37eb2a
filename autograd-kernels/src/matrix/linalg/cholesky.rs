//! Cholesky factors of symmetric positive definite matrices.

use ndarray::{ArcArray2, Array, Array2, ArrayView, ArrayView2, ArrayViewMut2, Axis, Dimension, s};

use super::tile::{self, SIZE, by_size};
use super::triangular::{Triangle, Triangular};
use super::{FactorError, solved, square, symmetric_part};
use crate::element::Element;
use crate::loops::row_major::{copy_columns, row_major};
use crate::loops::sum::sum;
use crate::loops::wide::{Loop, map_in_place, widest};
use crate::math::ln;
use crate::matrix::gemm::gemm;

/// The Cholesky factorization of a symmetric positive definite matrix: `A = LLᵀ`.
///
/// A clone shares the factors, so it can be a saved value of a custom function at no cost.
///
/// ```
/// use pullback::kernels::Cholesky;
/// use pullback::ndarray::array;
///
/// let factors = Cholesky::new(&array![[4.0, 2.0], [2.0, 10.0]].view())?;
/// assert_eq!(factors.lower(), array![[2.0, 0.0], [1.0, 3.0]]);
/// assert_eq!(factors.solve(&array![8.0, 22.0].view()), array![1.0, 2.0]);
/// assert_eq!(factors.log_det(), 36.0_f64.ln());
/// # Ok::<(), pullback::kernels::FactorError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cholesky<T> {
    lower: ArcArray2<T>,
}

impl<T: Element> Cholesky<T> {
    /// Factors a matrix, or (A + Aᵀ)/2 if A is not symmetric.
    ///
    /// # Errors
    /// [`NotPositiveDefinite`](FactorError::NotPositiveDefinite) if it is not.
    ///
    /// # Panics
    /// If the matrix is not square.
    #[track_caller]
    pub fn new(a: &ArrayView2<'_, T>) -> Result<Self, FactorError> {
        Ok(Self {
            lower: cholesky(a)?.into_shared(),
        })
    }

    /// Returns L, whose elements above the diagonal are 0.
    pub fn lower(&self) -> ArrayView2<'_, T> {
        self.lower.view()
    }

    /// Returns the X of AX = B, for a matrix or a vector B. The transposed system is the same: A is symmetric.
    ///
    /// # Panics
    /// If the number of rows of B is different, or B does not have one or two axes.
    #[track_caller]
    pub fn solve<E: Dimension>(&self, b: &ArrayView<'_, T, E>) -> Array<T, E> {
        let lower = Triangular::new(self.lower.view(), Triangle::Lower);
        solved(b, self.lower.nrows(), |mut x| {
            lower.solve(x.view_mut());
            lower.transposed().solve(x);
        })
    }

    /// Returns ln det A.
    pub fn log_det(&self) -> T {
        let logarithms = sum(&self.lower.diag().mapv(ln).view());
        logarithms + logarithms
    }
}

/// Returns the lower triangular L of `A = LLᵀ`, or of `(A + Aᵀ)/2 = LLᵀ` if A is not symmetric.
///
/// # Errors
/// If A is not positive definite.
///
/// # Panics
/// If A is not square.
#[track_caller]
pub fn cholesky<T: Element>(a: &ArrayView2<'_, T>) -> Result<Array2<T>, FactorError> {
    square(a);
    let refused = |pivot| FactorError::NotPositiveDefinite { pivot };
    if a.nrows() <= SIZE {
        return by_size!(a.nrows(), small(a)).map_err(refused);
    }
    let mut l = row_major(a);
    symmetric_part(&mut l);
    factor(l.view_mut()).map_err(refused)?;
    for (row, elements) in l.rows_mut().into_iter().enumerate() {
        // INVARIANT: the copy is in row-major order.
        elements.into_slice().expect("row-major")[row + 1..].fill(T::zero());
    }
    Ok(l)
}

/// Returns the factor of a matrix that fits in a tile, or the pivot that is not positive.
fn small<T: Element, const WIDTH: usize>(a: &ArrayView2<'_, T>) -> Result<Array2<T>, usize> {
    let (half, size) = (T::from_f64(0.5), a.nrows());
    let mut rows = [[T::zero(); WIDTH]; WIDTH];
    tile::load(a, &mut rows);
    for i in 0..size {
        for j in 0..=i {
            rows[i][j] = (rows[i][j] + rows[j][i]) * half;
            rows[j][i] = if j < i { T::zero() } else { rows[j][i] };
        }
    }
    factor_tile(&mut rows[..size])?;
    let mut l = Array2::zeros(a.raw_dim());
    tile::store(&rows, l.view_mut());
    Ok(l)
}

/// Replaces the lower triangle by its factor, or returns the pivot that is not positive. What is above the diagonal is
/// not read, and of no meaning afterwards.
fn factor<T: Element>(mut a: ArrayViewMut2<'_, T>) -> Result<(), usize> {
    let size = a.nrows();
    if size <= SIZE {
        let mut rows = [[T::zero(); SIZE]; SIZE];
        tile::load(&a.view(), &mut rows);
        let done = factor_tile(&mut rows[..size]);
        tile::store(&rows, a);
        return done;
    }
    let half = (size / 2).next_multiple_of(SIZE);
    let (mut first, second) = a.view_mut().split_at(Axis(0), half);
    let mut first = first.slice_mut(s![.., ..half]);
    let (mut below, mut rest) = second.split_at(Axis(1), half);
    factor(first.view_mut())?;
    let lower = Triangular::new(first.view(), Triangle::Lower);
    lower.solve(below.view_mut().reversed_axes());
    subtract_square(&below.view(), rest.view_mut());
    factor(rest).map_err(|pivot| half + pivot)
}

/// Subtracts `BBᵀ` from the lower triangle of A.
fn subtract_square<T: Element>(b: &ArrayView2<'_, T>, mut a: ArrayViewMut2<'_, T>) {
    const WIDTH: usize = 4 * SIZE;
    for (mut columns, from) in a
        .axis_chunks_iter_mut(Axis(1), WIDTH)
        .zip((0..).step_by(WIDTH))
    {
        let rows = b.slice(s![from.., ..]);
        let right = rows.slice(s![..columns.ncols(), ..]);
        let mut below = columns.slice_mut(s![from.., ..]);
        gemm(-T::one(), &rows, &right.t(), T::one(), &mut below);
    }
}

/// Replaces the lower triangle of a tile by its factor, or returns the pivot that is not positive.
fn factor_tile<T: Element, const WIDTH: usize>(rows: &mut [[T; WIDTH]]) -> Result<(), usize> {
    for i in 0..rows.len() {
        let (above, below) = rows.split_at_mut(i);
        let row = &mut below[0];
        for (j, other) in above.iter().enumerate() {
            let products = row[..j].iter().zip(other).map(|(&x, &y)| x * y);
            row[j] = products.fold(row[j], |rest, x| rest - x) / other[j];
        }
        let square = row[..i].iter().fold(row[i], |rest, &x| rest - x * x);
        if square <= T::zero() {
            return Err(i);
        }
        row[i] = square.sqrt();
    }
    Ok(())
}

/// Returns the gradient of A, which is symmetric, for the factor L of A and the gradient of L, of which only the lower
/// triangle counts.
///
/// # Panics
/// If the shapes differ, or L is not square.
#[track_caller]
pub fn cholesky_gradient<T: Element>(l: &ArrayView2<'_, T>, grad: &ArrayView2<'_, T>) -> Array2<T> {
    square(l);
    assert!(
        l.dim() == grad.dim(),
        "a factor of shape {:?} with a gradient of shape {:?}",
        l.shape(),
        grad.shape()
    );
    let mut gradient = row_major(grad);
    pull_back(l, gradient.view_mut());
    let half = T::from_f64(0.5);
    // INVARIANT: the copy is in row-major order.
    let elements = gradient.as_slice_mut().expect("row-major");
    map_in_place(elements, move |x| x * half);
    gradient
}

/// Replaces the gradient of L, the lower triangle of `grad`, by twice the symmetric gradient of A. This is [`factor`],
/// step by step from the last to the first (Murray, "Differentiation of the Cholesky decomposition", 2016).
fn pull_back<T: Element>(l: &ArrayView2<'_, T>, mut grad: ArrayViewMut2<'_, T>) {
    let size = l.nrows();
    if size <= SIZE {
        let (mut factor, mut tile) = ([[T::zero(); SIZE]; SIZE], [[T::zero(); SIZE]; SIZE]);
        tile::load(l, &mut factor);
        tile::load(&grad.view(), &mut tile);
        widest(PullBack(&factor[..size], &mut tile[..size]));
        return tile::store(&tile, grad);
    }
    let half = (size / 2).next_multiple_of(SIZE);
    let [first, below, rest] = [s![..half, ..half], s![half.., ..half], s![half.., half..]];
    let (l_first, l_below) = (l.slice(first), l.slice(below));
    pull_back(&l.slice(rest), grad.slice_mut(rest));
    let (upper, lower) = grad.view_mut().split_at(Axis(0), half);
    let (mut grad_first, grad_above) = upper.split_at(Axis(1), half);
    let (mut grad_below, grad_rest) = lower.split_at(Axis(1), half);
    let (one, minus_one) = (T::one(), -T::one());
    gemm(minus_one, &grad_rest.view(), &l_below, one, &mut grad_below);
    let lower = Triangular::new(l_first, Triangle::Lower);
    lower
        .transposed()
        .solve(grad_below.view_mut().reversed_axes());
    gemm(minus_one, &grad_below.t(), &l_below, one, &mut grad_first);
    copy_columns(grad_above, &grad_below.t(), |x| x);
    pull_back(&l_first, grad_first);
}

/// The gradient of a small matrix: the factor, and the gradient of it in the lower triangle.
struct PullBack<'a, T>(&'a [[T; SIZE]], &'a mut [[T; SIZE]]);

impl<T: Element> Loop for PullBack<'_, T> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        let Self(l, grad) = self;
        let size = l.len();
        for step in (0..size).rev() {
            let diagonal = l[step][step];
            let mut along = T::zero();
            for row in step + 1..size {
                along += grad[row][step] * l[row][step];
            }
            grad[step][step] = (grad[step][step] - along / diagonal) / diagonal;
            for row in step + 1..size {
                grad[row][step] /= diagonal;
            }
            let factor = grad[step][step];
            for column in 0..step {
                grad[step][column] -= factor * l[step][column];
            }
            for row in step + 1..size {
                let factor = grad[row][step];
                for column in 0..step {
                    grad[step][column] -= factor * l[row][column];
                    grad[row][column] -= factor * l[step][column];
                }
            }
        }
        // The diagonal of the gradient is half of what is there.
        for row in 0..size {
            for column in 0..row {
                grad[column][row] = grad[row][column];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Zip, array};

    use super::*;
    use crate::matrix::gemm::matmul;
    use crate::testing::numbers;

    fn definite(size: usize) -> Array2<f64> {
        let b = numbers((size, size), 0.0);
        matmul(&b.view(), &b.t()) + Array2::<f64>::eye(size)
    }

    #[test]
    fn factors_multiply_to_the_matrix() {
        for size in [0, 1, 4, 9, 16, 17, 50, 130] {
            let a = definite(size);
            let factors = Cholesky::new(&a.view()).unwrap();
            let l = factors.lower();
            let off = matmul(&l, &l.t()) - &a;
            assert!(off.iter().all(|off| off.abs() < 1e-12), "{size}");
            let mut above = l.indexed_iter().filter(|((i, j), _)| i < j);
            assert!(above.all(|(_, &x)| x == 0.0));
            let b = numbers((size, 3), 0.2);
            let off = matmul(&a.view(), &factors.solve(&b.view()).view()) - &b;
            assert!(off.iter().all(|off| off.abs() < 1e-10), "{size}");
            // Only the symmetric part counts.
            let skew = numbers((size, size), 0.7);
            let same = cholesky(&(&a + &skew - skew.t()).view()).unwrap();
            let off = &same - &l;
            assert!(off.iter().all(|off| off.abs() < 1e-12), "{size}");
        }
    }

    #[test]
    fn the_pivot_that_is_not_positive_is_reported() {
        let refused = |a: Array2<f64>| cholesky(&a.view()).unwrap_err();
        let at = |pivot| FactorError::NotPositiveDefinite { pivot };
        assert_eq!(refused(array![[1.0, 2.0], [2.0, 4.0]]), at(1));
        for pivot in [0, 15, 16, 35, 39] {
            let mut a = definite(40);
            a[[pivot, pivot]] = -1.0;
            assert_eq!(refused(a), at(pivot));
        }
        let factor = cholesky(&array![[f64::NAN]].view()).unwrap();
        assert!(factor[[0, 0]].is_nan());
    }

    /// The gradient by its formula: the symmetric part of L⁻ᵀ Φ(Lᵀ grad) L⁻¹, where Φ is the lower triangle whose
    /// diagonal is halved.
    #[test]
    fn gradients_of_every_size_are_those_of_the_formula() {
        for size in [0, 1, 2, 15, 16, 17, 33, 80] {
            let l = cholesky(&definite(size).view()).unwrap();
            let grad = numbers((size, size), 0.6);
            let lower = Array2::from_shape_fn(
                (size, size),
                |(i, j)| {
                    if i < j { 0.0 } else { grad[[i, j]] }
                },
            );
            let mut inner = matmul(&l.t(), &lower.view());
            Zip::indexed(&mut inner).for_each(|(i, j), x| {
                *x *= [0.0, 0.5, 1.0][(i + 1).saturating_sub(j).min(2)];
            });
            let transposed = Triangular::new(l.view(), Triangle::Lower).transposed();
            transposed.solve(inner.view_mut());
            transposed.solve(inner.view_mut().reversed_axes());
            let expected = (&inner + &inner.t()) * 0.5;
            let off = cholesky_gradient(&l.view(), &grad.view()) - expected;
            assert!(off.iter().all(|off| off.abs() < 1e-11), "{size}");
        }
    }
}
