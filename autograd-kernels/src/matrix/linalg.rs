//! Factorizations of small dense matrices, and systems of equations solved with them.

use ndarray::{Array2, ArrayView2, ArrayViewMut1, Axis};

use crate::checks::counted;
use crate::element::Element;

/// The LU factorization of a matrix: PA = LU, where P reorders the rows.
#[derive(Clone, Debug)]
pub struct Lu<T> {
    /// U, and below its diagonal L, whose diagonal is 1.
    factors: Array2<T>,
    /// The row that each row was swapped with, one after the other.
    swaps: Vec<usize>,
}

impl<T: Element> Lu<T> {
    /// Factors a matrix.
    ///
    /// # Errors
    /// If the matrix is singular, with the index on the diagonal of U of the first 0.
    ///
    /// # Panics
    /// If the matrix is not square.
    #[track_caller]
    pub fn new(a: &ArrayView2<'_, T>) -> Result<Self, usize> {
        square(a);
        let mut factors = a.to_owned();
        let size = a.nrows();
        let mut swaps = Vec::with_capacity(size);
        for step in 0..size {
            let pivot = (step..size).fold(step, |best, row| {
                let (new, old) = (factors[[row, step]].abs(), factors[[best, step]].abs());
                if new > old || (new.is_nan() && !old.is_nan()) {
                    row
                } else {
                    best
                }
            });
            if factors[[pivot, step]] == T::zero() {
                return Err(step);
            }
            swap_rows(&mut factors, step, pivot);
            swaps.push(pivot);
            let (done, mut rest) = factors.view_mut().split_at(Axis(0), step + 1);
            let pivot = done.row(step);
            for mut row in rest.rows_mut() {
                let factor = row[step] / pivot[step];
                row[step] = factor;
                for column in step + 1..size {
                    row[column] -= factor * pivot[column];
                }
            }
        }
        Ok(Self { factors, swaps })
    }

    /// Returns the determinant.
    pub fn det(&self) -> T {
        let swapped = self.swaps.iter().enumerate().filter(|(row, to)| row != *to);
        let sign = if swapped.count() % 2 == 0 {
            T::one()
        } else {
            -T::one()
        };
        self.factors
            .diag()
            .iter()
            .fold(sign, |product, &x| product * x)
    }

    /// Returns the X of AX = B.
    ///
    /// # Panics
    /// If the number of rows of B is different.
    #[track_caller]
    pub fn solve(&self, b: &ArrayView2<'_, T>) -> Array2<T> {
        rows(b, self.swaps.len());
        let mut x = b.to_owned();
        for (row, &to) in self.swaps.iter().enumerate() {
            swap_rows(&mut x, row, to);
        }
        self.lower().solve(&mut x);
        self.upper().solve(&mut x);
        x
    }

    /// Returns the X of `AᵀX = B`.
    ///
    /// # Panics
    /// If the number of rows of B is different.
    #[track_caller]
    pub fn solve_transposed(&self, b: &ArrayView2<'_, T>) -> Array2<T> {
        rows(b, self.swaps.len());
        let mut x = b.to_owned();
        self.upper().transposed().solve(&mut x);
        self.lower().transposed().solve(&mut x);
        for (row, &to) in self.swaps.iter().enumerate().rev() {
            swap_rows(&mut x, row, to);
        }
        x
    }

    fn lower(&self) -> Triangle<'_, T> {
        Triangle {
            matrix: self.factors.view(),
            is_lower: true,
            has_ones: true,
        }
    }

    fn upper(&self) -> Triangle<'_, T> {
        Triangle {
            matrix: self.factors.view(),
            is_lower: false,
            has_ones: false,
        }
    }
}

/// Returns the lower triangular L of `A = LLᵀ`, or of `(A + Aᵀ)/2 = LLᵀ` if A is not symmetric.
///
/// # Errors
/// If A is not positive definite, with the index on the diagonal where L has no root.
///
/// # Panics
/// If A is not square.
#[track_caller]
pub fn cholesky<T: Element>(a: &ArrayView2<'_, T>) -> Result<Array2<T>, usize> {
    square(a);
    let half = T::from_f64(0.5);
    let mut l = Array2::zeros(a.raw_dim());
    for i in 0..a.nrows() {
        for j in 0..=i {
            let sum: T = (0..j).map(|k| l[[i, k]] * l[[j, k]]).sum();
            let rest = (a[[i, j]] + a[[j, i]]) * half - sum;
            if i > j {
                l[[i, j]] = rest / l[[j, j]];
            } else if rest > T::zero() || rest.is_nan() {
                l[[i, i]] = rest.sqrt();
            } else {
                return Err(i);
            }
        }
    }
    Ok(l)
}

/// Returns the X of LX = B, or of `LᵀX = B` if `transposed`, where L is the lower triangle of a matrix. Where its
/// diagonal is 0, X is infinite or NaN.
///
/// # Panics
/// If L is not square, or the number of rows of B is different.
#[track_caller]
pub fn solve_triangular<T: Element>(
    l: &ArrayView2<'_, T>,
    b: &ArrayView2<'_, T>,
    transposed: bool,
) -> Array2<T> {
    square(l);
    rows(b, l.nrows());
    let mut x = b.to_owned();
    let triangle = Triangle {
        matrix: l.view(),
        is_lower: true,
        has_ones: false,
    };
    if transposed {
        triangle.transposed().solve(&mut x);
    } else {
        triangle.solve(&mut x);
    }
    x
}

/// A triangle of a matrix.
struct Triangle<'a, T> {
    matrix: ArrayView2<'a, T>,
    is_lower: bool,
    /// Whether the diagonal counts as 1, instead of the matrix's.
    has_ones: bool,
}

impl<T: Element> Triangle<'_, T> {
    fn transposed(self) -> Self {
        Self {
            matrix: self.matrix.reversed_axes(),
            is_lower: !self.is_lower,
            ..self
        }
    }

    /// Replaces the right side by the solution.
    fn solve(&self, x: &mut Array2<T>) {
        let size = x.nrows();
        for step in 0..size {
            let row = if self.is_lower { step } else { size - 1 - step };
            if !self.has_ones {
                let diagonal = self.matrix[[row, row]];
                x.row_mut(row).mapv_inplace(|x| x / diagonal);
            }
            let solved = x.row(row).to_owned();
            let rest = if self.is_lower { row + 1..size } else { 0..row };
            for other in rest {
                let factor = self.matrix[[other, row]];
                subtract(x.row_mut(other), factor, &solved);
            }
        }
    }
}

fn subtract<T: Element>(mut row: ArrayViewMut1<'_, T>, factor: T, solved: &ndarray::Array1<T>) {
    row.zip_mut_with(solved, |x, &solved| *x -= factor * solved);
}

fn swap_rows<T>(x: &mut Array2<T>, row: usize, to: usize) {
    for column in 0..x.ncols() {
        x.swap([row, column], [to, column]);
    }
}

#[track_caller]
fn square<T>(a: &ArrayView2<'_, T>) {
    assert!(
        a.is_square(),
        "a matrix of shape {:?} is not square",
        a.shape()
    );
}

#[track_caller]
fn rows<T>(b: &ArrayView2<'_, T>, size: usize) {
    assert!(
        b.nrows() == size,
        "a system of {} with a right side of shape {:?}",
        counted(size, "row", "rows"),
        b.shape()
    );
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, array};

    use super::*;
    use crate::matrix::gemm::matmul;
    use crate::testing::numbers;

    #[test]
    fn solutions_solve() {
        for size in [0, 1, 2, 5, 12] {
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
            ] {
                let off = matmul(&a, &x.view()) - &b;
                assert!(off.iter().all(|off| off.abs() < 1e-10), "{size}: {off}");
            }
        }
    }

    #[test]
    fn determinants_are_volumes_with_signs() {
        let det = |a: Array2<f64>| Lu::new(&a.view()).unwrap().det();
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
    fn cholesky_factors_multiply_to_the_matrix() {
        for size in [0, 1, 4, 9] {
            let b = numbers((size, size), 0.0);
            let a = matmul(&b.view(), &b.t()) + Array2::<f64>::eye(size);
            let l = cholesky(&a.view()).unwrap();
            let off = matmul(&l.view(), &l.t()) - &a;
            assert!(off.iter().all(|off| off.abs() < 1e-12));
            let (x, transposed) = (
                Array1::from_elem(size, 1.0).insert_axis(Axis(1)),
                [false, true],
            );
            for transposed in transposed {
                let solved = solve_triangular(&l.view(), &x.view(), transposed);
                let l = if transposed { l.t() } else { l.view() };
                let off = matmul(&l, &solved.view()) - &x;
                assert!(off.iter().all(|off| off.abs() < 1e-10));
            }
        }
        assert_eq!(cholesky(&array![[1.0, 2.0], [2.0, 4.0]].view()), Err(1));
    }

    #[test]
    fn elements_above_the_diagonal_are_not_read() {
        let (l, b) = (array![[2.0, 9.0], [1.0, 4.0]], array![[2.0], [9.0]]);
        let x = solve_triangular(&l.view(), &b.view(), false);
        assert_eq!(x, array![[1.0], [2.0]]);
    }

    #[test]
    #[should_panic(expected = "a matrix of shape [2, 3] is not square")]
    fn what_is_not_square_is_refused() {
        drop(Lu::new(&numbers((2, 3), 0.0).view()));
    }
}
