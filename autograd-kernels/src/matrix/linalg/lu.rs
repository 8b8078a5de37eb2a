//! LU factors, with rows in another order.

use std::sync::Arc;

use ndarray::{ArcArray2, Array, Array2, ArrayView, ArrayView2, ArrayViewMut2, Axis, Dimension};

use super::tile::{self, SIZE, by_size};
use super::triangular::{Triangle, Triangular};
use super::{FactorError, solved, square};
use crate::element::Element;
use crate::loops::movement::full;
use crate::loops::row_major::{copy_columns, row_major};
use crate::loops::sum::sum;
use crate::loops::wide::{Loop, widest};
use crate::math::ln;
use crate::matrix::gemm::gemm;

/// The LU factorization of a matrix: PA = LU, where P reorders the rows.
///
/// A clone shares the factors, so it can be a saved value of a custom function at no cost.
///
/// ```
/// use pullback::kernels::Lu;
/// use pullback::ndarray::array;
///
/// let factors = Lu::new(&array![[0.0, 2.0], [1.0, 4.0]].view())?;
/// assert_eq!(factors.solve(&array![4.0, 9.0].view()), array![1.0, 2.0]);
/// assert_eq!(factors.solve_transposed(&array![[2.0], [10.0]].view()), array![[1.0], [2.0]]);
/// assert_eq!(factors.det(), -2.0);
/// # Ok::<(), pullback::kernels::FactorError>(())
/// ```
///
/// A function that factors once, in forward, and solves with the transpose in backward:
///
/// ```
/// use pullback::kernels::{FactorError, Lu, matmul};
/// use pullback::ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, array};
/// use pullback::prelude::*;
///
/// pub struct Solve;
///
/// #[custom_function(gradcheck(a = [3, 3], b = [3]))]
/// impl Solve {
///     /// The x of Ax = b.
///     #[forward(saves(factors))]
///     pub fn forward(
///         a: ArrayView2<f64>,
///         b: ArrayView1<f64>,
///     ) -> Result<(Array1<f64>, Lu<f64>), FactorError> {
///         let factors = Lu::new(&a)?;
///         Ok((factors.solve(&b), factors))
///     }
///
///     #[backward(a, b)]
///     fn backward(
///         grad_output: ArrayView1<f64>,
///         output: ArrayView1<f64>,
///         factors: &Lu<f64>,
///     ) -> (Array2<f64>, Array1<f64>) {
///         let grad_b = factors.solve_transposed(&grad_output);
///         let column = grad_b.view().insert_axis(Axis(1));
///         (-matmul(&column, &output.insert_axis(Axis(0))), grad_b)
///     }
/// }
///
/// let a = Tensor::from(array![[2.0, 1.0], [0.0, 4.0]]).set_requires_grad(true);
/// let x = Solve::apply(&a, &Tensor::from(array![4.0, 8.0]))?;
/// assert_eq!(x.to_array(), array![1.0, 2.0]);
/// x.sum().backward()?;
/// assert_eq!(a.grad(), Some(array![[-0.5, -1.0], [-0.125, -0.25]]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Lu<T> {
    /// U, and below its diagonal L, whose diagonal is 1.
    factors: ArcArray2<T>,
    /// The row that each row was swapped with, one after the other.
    swaps: Arc<[usize]>,
}

impl<T: Element> Lu<T> {
    /// Factors a matrix.
    ///
    /// # Errors
    /// [`Singular`](FactorError::Singular) if it is: an element on the diagonal of U is 0.
    ///
    /// # Panics
    /// If the matrix is not square.
    #[track_caller]
    pub fn new(a: &ArrayView2<'_, T>) -> Result<Self, FactorError> {
        square(a);
        let mut factors = row_major(a);
        let mut swaps: Arc<[usize]> = (0..a.nrows()).collect();
        // INVARIANT: there is no other handle.
        let new = Arc::get_mut(&mut swaps).expect("a new slice");
        factor(factors.view_mut(), new).map_err(|pivot| FactorError::Singular { pivot })?;
        Ok(Self {
            factors: factors.into_shared(),
            swaps,
        })
    }

    /// Returns the determinant. Of a large matrix it may be infinite or 0: [`log_det`](Self::log_det) is not.
    pub fn det(&self) -> T {
        self.factors
            .diag()
            .iter()
            .fold(self.sign(), |product, &x| product * x)
    }

    /// Returns the sign of the determinant, 1 or −1, and ln |det A|.
    pub fn log_det(&self) -> (T, T) {
        let diagonal = self.factors.diag();
        let sign = diagonal
            .iter()
            .fold(self.sign(), |sign, x| sign * x.signum());
        (sign, sum(&diagonal.mapv(|x| ln(x.abs())).view()))
    }

    /// Returns the sign of the order of the rows.
    fn sign(&self) -> T {
        let swapped = self.swaps.iter().enumerate().filter(|(row, to)| row != *to);
        if swapped.count() % 2 == 0 {
            T::one()
        } else {
            -T::one()
        }
    }

    /// Returns the X of AX = B, for a matrix or a vector B.
    ///
    /// # Panics
    /// If the number of rows of B is different, or B does not have one or two axes.
    #[track_caller]
    pub fn solve<E: Dimension>(&self, b: &ArrayView<'_, T, E>) -> Array<T, E> {
        solved(b, self.swaps.len(), |x| self.solve_in_place(x))
    }

    /// Returns the X of `AᵀX = B`, for a matrix or a vector B.
    ///
    /// # Panics
    /// If the number of rows of B is different, or B does not have one or two axes.
    #[track_caller]
    pub fn solve_transposed<E: Dimension>(&self, b: &ArrayView<'_, T, E>) -> Array<T, E> {
        solved(b, self.swaps.len(), |mut x| {
            self.upper().transposed().solve(x.view_mut());
            self.lower().transposed().solve(x.view_mut());
            swap_rows(x, self.swaps.iter().copied().enumerate().rev());
        })
    }

    /// Returns the inverse.
    pub fn inverse(&self) -> Array2<T> {
        let size = self.swaps.len();
        let mut inverse: Array2<T> = full(&[size, size], T::zero());
        inverse.diag_mut().fill(T::one());
        self.solve_in_place(inverse.view_mut());
        inverse
    }

    fn solve_in_place(&self, mut x: ArrayViewMut2<'_, T>) {
        swap_rows(x.view_mut(), self.swaps.iter().copied().enumerate());
        self.lower().solve(x.view_mut());
        self.upper().solve(x);
    }

    fn lower(&self) -> Triangular<'_, T> {
        Triangular::new(self.factors.view(), Triangle::Lower).with_ones()
    }

    fn upper(&self) -> Triangular<'_, T> {
        Triangular::new(self.factors.view(), Triangle::Upper)
    }
}

/// Replaces a matrix, which has at least as many rows as columns, by its factors, or returns the index of the first pivot
/// that is 0.
fn factor<T: Element>(mut a: ArrayViewMut2<'_, T>, swaps: &mut [usize]) -> Result<(), usize> {
    let columns = a.ncols();
    if columns <= SIZE {
        return factor_panel(a, swaps);
    }
    let half = (columns / 2).next_multiple_of(SIZE);
    let (left_swaps, right_swaps) = swaps.split_at_mut(half);
    let (mut left, mut right) = a.view_mut().split_at(Axis(1), half);
    factor(left.view_mut(), left_swaps)?;
    swap_rows(right.view_mut(), left_swaps.iter().copied().enumerate());
    let (first, below) = left.view().split_at(Axis(0), half);
    let (mut above, mut rest) = right.view_mut().split_at(Axis(0), half);
    let lower = Triangular::new(first, Triangle::Lower).with_ones();
    lower.solve(above.view_mut());
    gemm(-T::one(), &below, &above.view(), T::one(), &mut rest);
    factor(rest, right_swaps).map_err(|pivot| half + pivot)?;
    for to in &mut *right_swaps {
        *to += half;
    }
    swap_rows(left, (half..).zip(right_swaps.iter().copied()));
    Ok(())
}

/// Factors a matrix of few columns in a copy in which they are contiguous.
fn factor_panel<T: Element>(a: ArrayViewMut2<'_, T>, swaps: &mut [usize]) -> Result<(), usize> {
    let rows = a.nrows();
    if rows <= SIZE {
        return by_size!(rows, factor_small(a, swaps));
    }
    let mut columns = row_major(&a.t());
    // INVARIANT: the copy is in row-major order.
    let elements = columns.as_slice_mut().expect("row-major");
    let done = factor_columns(elements, rows, rows, swaps);
    copy_columns(a, &columns.t(), |x| x);
    done
}

fn factor_small<T: Element, const WIDTH: usize>(
    a: ArrayViewMut2<'_, T>,
    swaps: &mut [usize],
) -> Result<(), usize> {
    let mut columns = [[T::zero(); WIDTH]; WIDTH];
    tile::load(&a.t(), &mut columns);
    let done = factor_columns(columns.as_flattened_mut(), WIDTH, a.nrows(), swaps);
    tile::store(&columns, a.reversed_axes());
    done
}

/// Factors columns, each contiguous, whose starts are `stride` apart.
fn factor_columns<T: Element>(
    columns: &mut [T],
    stride: usize,
    rows: usize,
    swaps: &mut [usize],
) -> Result<(), usize> {
    let mut done = Ok(());
    let columns = &mut columns[..swaps.len() * stride];
    widest(Panel {
        columns,
        stride,
        rows,
        swaps,
        done: &mut done,
    });
    done
}

struct Panel<'a, T> {
    columns: &'a mut [T],
    stride: usize,
    rows: usize,
    swaps: &'a mut [usize],
    done: &'a mut Result<(), usize>,
}

impl<T: Element> Loop for Panel<'_, T> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        let Self {
            columns,
            stride,
            rows,
            swaps,
            done,
        } = self;
        for (step, swap) in swaps.iter_mut().enumerate() {
            let of_largest = step + largest(&columns[step * stride..][step..rows]);
            if columns[step * stride + of_largest] == T::zero() {
                *done = Err(step);
                return;
            }
            *swap = of_largest;
            if of_largest != step {
                for column in columns.chunks_exact_mut(stride) {
                    column.swap(step, of_largest);
                }
            }
            let (before, after) = columns.split_at_mut((step + 1) * stride);
            let (above, factors) = before[step * stride..][..rows].split_at_mut(step + 1);
            let diagonal = above[step];
            for x in &mut *factors {
                *x /= diagonal;
            }
            for column in after.chunks_exact_mut(stride) {
                let (above, below) = column[..rows].split_at_mut(step + 1);
                let factor = above[step];
                for (x, &y) in below.iter_mut().zip(&*factors) {
                    *x -= factor * y;
                }
            }
        }
    }
}

/// Returns the index of the element of the largest magnitude, or of the first that is not a number.
#[cfg_attr(optimized, inline(always))]
fn largest<T: Element>(column: &[T]) -> usize {
    const LANES: usize = 16;
    // NaN is larger than all numbers, and stays.
    let larger = |most: T, x: T| {
        if x.abs() > most || x.is_nan() {
            x.abs()
        } else {
            most
        }
    };
    let (chunks, rest) = column.as_chunks::<LANES>();
    let mut most = rest.iter().copied().fold(T::zero(), larger);
    if let Some((first, chunks)) = chunks.split_first() {
        let mut lanes = first.map(T::abs);
        for chunk in chunks {
            for (most, &x) in lanes.iter_mut().zip(chunk) {
                *most = larger(*most, x);
            }
        }
        most = lanes.into_iter().fold(most, larger);
    }
    let is_largest = |x: &T| x.abs() == most || (x.is_nan() && most.is_nan());
    column.iter().position(is_largest).unwrap_or(0)
}

/// Swaps pairs of rows, one pair after the other.
fn swap_rows<T>(mut x: ArrayViewMut2<'_, T>, pairs: impl Iterator<Item = (usize, usize)>) {
    for (row, to) in pairs.filter(|(row, to)| row != to) {
        let (mut above, mut below) = x.view_mut().split_at(Axis(0), to);
        let (mut above, mut below) = (above.row_mut(row), below.row_mut(0));
        match (above.as_slice_mut(), below.as_slice_mut()) {
            (Some(above), Some(below)) => above.swap_with_slice(below),
            _ => ndarray::Zip::from(above)
                .and(below)
                .for_each(std::mem::swap),
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::matrix::gemm::matmul;
    use crate::testing::numbers;

    #[test]
    fn solutions_solve() {
        for size in [0, 1, 2, 5, 12, 16, 17, 33, 100] {
            // The largest elements are beside the diagonal: rows have to be swapped.
            let mut a = numbers((size, size), 0.0);
            for row in 0..size {
                a[[row, (row + 1) % size]] += 2.0;
            }
            let b = numbers((size, 3), 0.4);
            let factors = Lu::new(&a.view()).unwrap();
            for (x, a) in [
                (factors.solve(&b.view()), a.view()),
                (factors.solve_transposed(&b.view()), a.t()),
                (matmul(&factors.inverse().view(), &b.view()), a.view()),
            ] {
                let off = matmul(&a, &x.view()) - &b;
                assert!(off.iter().all(|off| off.abs() < 1e-10), "{size}: {off}");
            }
            let off = factors.solve(&b.column(1)) - factors.solve(&b.view()).column(1);
            assert!(off.iter().all(|off| off.abs() < 1e-12), "{size}: {off}");
        }
    }

    #[test]
    fn determinants_are_volumes_with_signs() {
        let det = |a: Array2<f64>| {
            let factors = Lu::new(&a.view()).unwrap();
            let (sign, logarithm) = factors.log_det();
            let off = sign * logarithm.exp() - factors.det();
            assert!(off.is_nan() || off.abs() < 1e-14, "{off}");
            factors.det()
        };
        assert_eq!(det(Array2::zeros((0, 0))), 1.0);
        assert_eq!(det(array![[-3.0]]), -3.0);
        assert_eq!(
            det(array![[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
            1.0
        );
        assert_eq!(det(array![[0.0, 1.0], [1.0, 0.0]]), -1.0);
        assert!(det(array![[f64::NAN, 1.0], [1.0, 0.0]]).is_nan());
    }

    #[test]
    fn the_first_pivot_that_is_0_is_reported() {
        for (size, pivot) in [(1, 0), (5, 3), (40, 0), (40, 17), (40, 39)] {
            let mut a = numbers((size, size), 0.0) + Array2::<f64>::eye(size) * 3.0;
            for row in 0..size {
                a[[row, pivot]] = 0.0;
            }
            let error = Lu::new(&a.view()).unwrap_err();
            assert_eq!(error, FactorError::Singular { pivot });
        }
    }

    #[test]
    fn the_largest_of_a_column_is_the_pivot() {
        let mut column: Vec<f64> = numbers(50, 0.0).to_vec();
        for place in [0, 13, 31, 32, 49] {
            column[place] = -4.0;
            assert_eq!(largest(&column), place);
            column[place] = 0.1;
        }
        column[20] = f64::INFINITY;
        assert_eq!(largest(&column), 20);
        column[45] = f64::NAN;
        assert_eq!(largest(&column), 45);
        column[7] = f64::NAN;
        assert_eq!(largest(&column), 7);
        assert_eq!(largest(&[0.0, 0.0]), 0);
    }

    #[test]
    #[should_panic(expected = "a matrix of shape [2, 3] is not square")]
    fn what_is_not_square_is_refused() {
        drop(Lu::new(&numbers((2, 3), 0.0).view()));
    }
}
