//! Factors of small dense matrices, and systems solved with them.

use ndarray::{Array2, ArrayView2, ArrayViewMut1, Axis};

use crate::counted;
use crate::element::Element;

/// A matrix as a product of triangular ones, with its rows in another order: PA = LU.
#[derive(Clone, Debug)]
pub struct Lu<T> {
    /// U, and below its diagonal L, whose own is ones.
    factors: Array2<T>,
    /// The row that each changed places with, one after the other.
    swaps: Vec<usize>,
}

impl<T: Element> Lu<T> {
    /// The factors of a matrix.
    ///
    /// # Errors
    /// If the matrix is singular, with the place on the diagonal of U where this shows.
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

    /// The determinant.
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

    /// The X of AX = B.
    ///
    /// # Panics
    /// If B has another number of rows.
    #[track_caller]
    pub fn solve(&self, b: &ArrayView2<'_, T>) -> Array2<T> {
        rows(b, self.swaps.len());
        let mut x = b.to_owned();
        for (row, &to) in self.swaps.iter().enumerate() {
            swap_rows(&mut x, row, to);
        }
        let (l, u) = (
            Triangle::new(&self.factors).lower().of_ones(),
            Triangle::new(&self.factors),
        );
        l.solve(&mut x);
        u.solve(&mut x);
        x
    }

    /// The X of `AᵀX = B`.
    ///
    /// # Panics
    /// If B has another number of rows.
    #[track_caller]
    pub fn solve_transposed(&self, b: &ArrayView2<'_, T>) -> Array2<T> {
        rows(b, self.swaps.len());
        let mut x = b.to_owned();
        let (l, u) = (
            Triangle::new(&self.factors).lower().of_ones(),
            Triangle::new(&self.factors),
        );
        u.transposed().solve(&mut x);
        l.transposed().solve(&mut x);
        for (row, &to) in self.swaps.iter().enumerate().rev() {
            swap_rows(&mut x, row, to);
        }
        x
    }
}

/// The lower triangular L of `A = LLᵀ`, of (A + Aᵀ)/2 if A is not symmetric.
///
/// # Errors
/// If A is not positive definite, with the place on the diagonal where this shows.
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

/// The X of LX = B, or of `LᵀX = B`, where L is the lower triangle of a matrix. Infinite, or not a number, where
/// its diagonal is 0.
///
/// # Panics
/// If L is not square, or B has another number of rows.
#[track_caller]
pub fn solve_triangular<T: Element>(
    l: &ArrayView2<'_, T>,
    b: &ArrayView2<'_, T>,
    transposed: bool,
) -> Array2<T> {
    square(l);
    rows(b, l.nrows());
    let mut x = b.to_owned();
    let triangle = Triangle::new(l).lower();
    if transposed {
        triangle.transposed().solve(&mut x);
    } else {
        triangle.solve(&mut x);
    }
    x
}

/// A triangle of a matrix.
#[derive(Clone)]
struct Triangle<'a, T> {
    matrix: ArrayView2<'a, T>,
    is_lower: bool,
    has_ones: bool,
}

impl<'a, T: Element> Triangle<'a, T> {
    /// The upper one.
    fn new<S: ndarray::Data<Elem = T>>(matrix: &'a ndarray::ArrayBase<S, ndarray::Ix2>) -> Self {
        Self {
            matrix: matrix.view(),
            is_lower: false,
            has_ones: false,
        }
    }

    fn lower(self) -> Self {
        Self {
            is_lower: true,
            ..self
        }
    }

    /// With ones on its diagonal, whatever the matrix has there.
    fn of_ones(self) -> Self {
        Self {
            has_ones: true,
            ..self
        }
    }

    fn transposed(self) -> Self {
        Self {
            matrix: self.matrix.reversed_axes(),
            is_lower: !self.is_lower,
            ..self
        }
    }

    /// Puts the solution in place of the right side.
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
    use crate::matmul;

    fn numbers(rows: usize, columns: usize, seed: f64) -> Array2<f64> {
        let mut position = seed;
        Array2::from_shape_simple_fn((rows, columns), || {
            position += 1.0;
            (position * 0.618_033_988_749_895).fract() - 0.5
        })
    }

    #[test]
    fn solutions_solve() {
        for size in [0, 1, 2, 5, 12] {
            // The largest elements are beside the diagonal: rows have to change places.
            let mut a = numbers(size, size, 0.0);
            for row in 0..size {
                a[[row, (row + 1) % size]] += 2.0;
            }
            let b = numbers(size, 3, 0.4);
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
            let b = numbers(size, size, 0.0);
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
    #[should_panic(expected = "a matrix of shape [2, 3] is not square")]
    fn what_is_not_square_is_refused() {
        drop(Lu::new(&numbers(2, 3, 0.0).view()));
    }
}
