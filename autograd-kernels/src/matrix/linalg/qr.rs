//! QR factors, by Householder reflections.

use std::sync::Arc;

use ndarray::{ArcArray2, Array, Array2, ArrayView, ArrayView2, ArrayViewMut2, Axis, Dimension, s};

use super::reflectors::Reflectors;
use super::triangular::{Triangle, Triangular};
use super::{as_matrix, solved};
use crate::element::Element;
use crate::loops::movement::full;
use crate::loops::row_major::row_major;

/// The QR factorization of a matrix that has at least as many rows as columns: A = QR, where the columns of Q are
/// orthonormal and R is an upper triangle. The diagonal of R is not negative, which makes the factors unique where the
/// columns of A are linearly independent.
///
/// A clone shares the factors, so it can be a saved value of a custom function at no cost.
///
/// ```
/// use pullback::kernels::Qr;
/// use pullback::ndarray::array;
///
/// let factors = Qr::new(&array![[0.0, 2.0], [3.0, 4.0], [0.0, 0.0]].view());
/// assert_eq!(factors.r(), array![[3.0, 4.0], [0.0, 2.0]]);
/// assert_eq!(factors.q(), array![[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]);
/// // Of too many equations, the solution with the least squares of errors.
/// assert_eq!(factors.solve(&array![2.0, 7.0, 5.0].view()), array![1.0, 1.0]);
/// ```
#[derive(Clone, Debug)]
pub struct Qr<T> {
    reflectors: Arc<Reflectors<T>>,
    r: ArcArray2<T>,
    /// The signs of the columns of Q.
    signs: Arc<[T]>,
}

impl<T: Element> Qr<T> {
    /// Factors a matrix.
    ///
    /// # Panics
    /// If the matrix has more columns than rows.
    #[track_caller]
    pub fn new(a: &ArrayView2<'_, T>) -> Self {
        assert!(
            a.nrows() >= a.ncols(),
            "a matrix of shape {:?} has more columns than rows",
            a.shape()
        );
        let mut r = row_major(a);
        let reflectors = Reflectors::of_columns(r.view_mut());
        r.slice_collapse(s![..a.ncols(), ..]);
        let mut signs = vec![T::one(); a.ncols()];
        for ((i, mut row), sign) in r.rows_mut().into_iter().enumerate().zip(&mut signs) {
            row.slice_mut(s![..i]).fill(T::zero());
            if row[i].is_sign_negative() {
                row.slice_mut(s![i..]).mapv_inplace(|x| -x);
                *sign = -T::one();
            }
        }
        Self {
            reflectors: Arc::new(reflectors),
            r: r.into_shared(),
            signs: signs.into(),
        }
    }

    /// Returns Q, of the shape of A.
    pub fn q(&self) -> Array2<T> {
        self.reflectors.columns(&self.signs)
    }

    /// Returns R, whose elements below the diagonal are 0.
    pub fn r(&self) -> ArrayView2<'_, T> {
        self.r.view()
    }

    /// Returns the X for which the sum of the squares of AX − B is least, for a matrix or a vector B. Where the diagonal of
    /// R is 0, X is infinite or NaN.
    ///
    /// # Panics
    /// If the number of rows of B is different, or B does not have one or two axes.
    #[track_caller]
    pub fn solve<E: Dimension>(&self, b: &ArrayView<'_, T, E>) -> Array<T, E> {
        let columns = self.signs.len();
        let mut x = solved(b, self.reflectors.rows(), |mut x| {
            self.reflectors.apply_transposed(x.view_mut());
            let mut x = x.slice_move(s![..columns, ..]);
            self.sign_rows(x.view_mut());
            Triangular::new(self.r.view(), Triangle::Upper).solve(x);
        });
        x.slice_axis_inplace(Axis(0), (..columns).into());
        x
    }

    /// Returns the X of `AᵀX = B` whose sum of squares is least, for a matrix or a vector B. Where the diagonal of R is 0,
    /// X is infinite or NaN.
    ///
    /// # Panics
    /// If the number of rows of B is not that of columns of A, or B does not have one or two axes.
    #[track_caller]
    pub fn solve_transposed<E: Dimension>(&self, b: &ArrayView<'_, T, E>) -> Array<T, E> {
        let mut inner = solved(b, self.signs.len(), |mut x| {
            let r = Triangular::new(self.r.view(), Triangle::Upper);
            r.transposed().solve(x.view_mut());
            self.sign_rows(x);
        });
        let mut shape = inner.raw_dim();
        shape[0] = self.reflectors.rows();
        let mut x: Array<T, E> = full(shape.slice(), T::zero());
        let mut matrix = as_matrix(&mut x);
        matrix
            .slice_mut(s![..self.signs.len(), ..])
            .assign(&as_matrix(&mut inner));
        self.reflectors.apply(matrix);
        x
    }

    /// Multiplies rows by the signs of the columns of Q.
    fn sign_rows(&self, mut x: ArrayViewMut2<'_, T>) {
        for (mut row, &sign) in x.rows_mut().into_iter().zip(&*self.signs) {
            row.mapv_inplace(|x| x * sign);
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::matrix::gemm::matmul;
    use crate::testing::random;

    #[track_caller]
    fn is_factored(a: &Array2<f64>, tolerance: f64) {
        let factors = Qr::new(&a.view());
        let (q, r) = (factors.q(), factors.r());
        assert_eq!(q.dim(), a.dim());
        let largest = a.fold(0.0_f64, |largest, x| largest.max(x.abs()));
        let off = matmul(&q.view(), &r) - a;
        // The smallest numbers have few digits.
        let most = tolerance * largest + 1e-321;
        assert!(off.iter().all(|off| off.abs() <= most), "{off:e}");
        let off = matmul(&q.t(), &q.view()) - Array2::<f64>::eye(a.ncols());
        assert!(off.iter().all(|off| off.abs() <= tolerance), "{off:e}");
        for ((i, j), &x) in r.indexed_iter() {
            assert!(if i > j { x == 0.0 } else { i < j || x >= 0.0 }, "{r}");
        }
    }

    #[test]
    fn factors_of_every_shape_are_orthonormal_and_a_triangle() {
        for (rows, columns) in [
            (0, 0),
            (1, 0),
            (1, 1),
            (2, 2),
            (5, 3),
            (40, 1),
            (16, 16),
            (33, 33),
            (70, 40),
            (64, 64),
            (150, 100),
        ] {
            is_factored(&random((rows, columns), 1), 1e-14);
        }
    }

    #[test]
    fn columns_of_any_size_and_rank_are_orthonormal() {
        for scale in [1e-320, 1e-300, 1e-160, 1e160, 1e300] {
            is_factored(&(random((12, 7), 2) * scale), 1e-14);
        }
        // Columns from tiny to large, each as exact as if it were alone.
        let mut graded = random((40, 36), 3);
        for (j, mut column) in graded.columns_mut().into_iter().enumerate() {
            column *= 10.0_f64.powf(17.0 * (j as f64 - 18.0));
        }
        is_factored(&graded, 1e-14);
        // Of rank 1, and of rank 0.
        is_factored(&Array2::ones((30, 20)), 1e-14);
        is_factored(&Array2::zeros((4, 3)), 0.0);
        let mut repeated = random((30, 20), 4);
        let first = repeated.column(0).to_owned();
        repeated.column_mut(7).assign(&first);
        is_factored(&repeated, 1e-14);
    }

    #[test]
    fn least_squares_are_orthogonal_to_the_columns() {
        let (a, b) = (random((50, 35), 5), random((50, 4), 6));
        let factors = Qr::new(&a.view());
        let x = factors.solve(&b.view());
        let off = matmul(&a.t(), &(matmul(&a.view(), &x.view()) - &b).view());
        assert!(off.iter().all(|off| off.abs() < 1e-12), "{off:e}");
        let column = factors.solve(&b.column(2));
        let off = &column - &x.column(2);
        assert!(off.iter().all(|off| off.abs() < 1e-12), "{off:e}");
        let none = Qr::new(&Array2::<f64>::zeros((2, 1)).view()).solve(&array![1.0, 2.0].view());
        assert!(!none[0].is_finite());
    }

    #[test]
    fn solutions_of_the_transposed_system_are_the_shortest() {
        let (a, b) = (random((50, 35), 9), random((35, 4), 10));
        let factors = Qr::new(&a.view());
        let x = factors.solve_transposed(&b.view());
        let off = matmul(&a.t(), &x.view()) - &b;
        assert!(off.iter().all(|off| off.abs() < 1e-12), "{off:e}");
        // The shortest is a combination of the columns: the rest of it after projection is 0.
        let fitted = matmul(&a.view(), &factors.solve(&x.view()).view());
        assert!((fitted - &x).iter().all(|off| off.abs() < 1e-12));
        let off = factors.solve_transposed(&b.column(2)) - x.column(2);
        assert!(off.iter().all(|off| off.abs() < 1e-12), "{off:e}");
    }

    #[test]
    fn what_is_not_a_number_is_in_both_factors() {
        let mut a = random((5, 3), 7);
        a[[3, 1]] = f64::NAN;
        let factors = Qr::new(&a.view());
        assert!(factors.r()[[1, 1]].is_nan() && factors.q()[[0, 1]].is_nan());
        a[[3, 1]] = f64::INFINITY;
        let factors = Qr::new(&a.view());
        assert!(!factors.r()[[1, 1]].is_finite() && factors.q()[[0, 1]].is_nan());
    }

    #[test]
    #[should_panic(expected = "a matrix of shape [2, 3] has more columns than rows")]
    fn a_wide_matrix_is_refused() {
        drop(Qr::new(&random((2, 3), 8).view()));
    }
}
