//! Singular values and vectors: reflections from both sides make the matrix bidiagonal, and rotations make it diagonal.

use ndarray::{Array1, Array2, ArrayView2, s};

use super::bidiagonal::Bidiagonal;
use super::reflectors::{Reflectors, dot, reflection};
use super::rotations::{Rows, fix_signs};
use super::{FactorError, scale};
use crate::element::Element;
use crate::loops::movement::full;
use crate::loops::row_major::row_major;
use crate::loops::wide::{Loop, widest};

/// The singular value decomposition of a matrix: U, σ and `Vᵀ`.
pub type Svd<T> = (Array2<T>, Array1<T>, Array2<T>);

/// Returns U, σ and `Vᵀ` with `A = U diag(σ) Vᵀ`, where the columns of U and V are orthonormal, as many as A has rows or
/// columns, whichever are fewer, and the singular values σ are in descending order.
///
/// The sign of each pair of singular vectors is arbitrary. Here the first element of a column of U whose magnitude is within
/// 1 % of the largest is positive.
///
/// # Errors
/// [`NotConverged`](FactorError::NotConverged) if an element is infinite or NaN.
///
/// ```
/// use pullback::kernels::svd;
/// use pullback::ndarray::array;
///
/// let (u, values, vt) = svd(&array![[0.0, 2.0], [-3.0, 0.0]].view())?;
/// assert_eq!(values, array![3.0, 2.0]);
/// assert_eq!(u, array![[0.0, 1.0], [1.0, 0.0]]);
/// assert_eq!(vt, array![[-1.0, 0.0], [0.0, 1.0]]);
/// # Ok::<(), pullback::kernels::FactorError>(())
/// ```
pub fn svd<T: Element>(a: &ArrayView2<'_, T>) -> Result<Svd<T>, FactorError> {
    let scale = scale(a)?;
    let (mut columns, values, mut rows) = if a.nrows() < a.ncols() {
        let (rows, values, columns) = tall(&a.t(), scale)?;
        (columns, values, rows)
    } else {
        tall(a, scale)?
    };
    fix_signs(&mut columns, Some(&mut rows));
    Ok((columns.reversed_axes(), values, rows))
}

/// Returns `Uᵀ`, σ and `Vᵀ` of a matrix that has at least as many rows as columns.
fn tall<T: Element>(a: &ArrayView2<'_, T>, scale: T) -> Result<Svd<T>, FactorError> {
    let mut a = row_major(a);
    a.mapv_inplace(|x| x * scale);
    let (rows, columns) = a.dim();
    // With many more rows, the triangle of the QR factorization is less work.
    let reflectors = (rows >= 2 * columns).then(|| Reflectors::of_columns(a.view_mut()));
    if reflectors.is_some() {
        a.slice_collapse(s![..columns, ..]);
        a = row_major(&a.view());
        for (i, mut row) in a.rows_mut().into_iter().enumerate() {
            row.slice_mut(s![..i]).fill(T::zero());
        }
    }
    let Bases {
        mut matrix,
        left,
        right,
    } = bidiagonal(a);
    let (mut u, mut v) = (Rows::new(&left.t()), Rows::new(&right.t()));
    matrix.iterate(&mut u, &mut v)?;
    let values = matrix.diagonal;
    let mut order: Vec<usize> = (0..columns).collect();
    order.sort_by(|&i, &j| values[j].abs().total_cmp(&values[i].abs()));
    let (mut u, mut v) = (u.into_rows(&order), v.into_rows(&order));
    for (mut row, &i) in v.rows_mut().into_iter().zip(&order) {
        if values[i] < 0.0 {
            row.mapv_inplace(|x| -x);
        }
    }
    if let Some(reflectors) = reflectors {
        let mut whole = full(&[rows, columns], T::zero());
        whole.slice_mut(s![..columns, ..]).assign(&u.t());
        reflectors.apply(whole.view_mut());
        u = row_major(&whole.t());
    }
    let values = order.iter().map(|&i| T::from_f64(values[i].abs()) / scale);
    Ok((u, values.collect(), v))
}

/// A bidiagonal matrix B, and orthogonal bases with `A = UBVᵀ`.
struct Bases<T> {
    matrix: Bidiagonal,
    left: Array2<T>,
    right: Array2<T>,
}

/// Makes a matrix, which has at least as many rows as columns, bidiagonal by reflections from both sides.
fn bidiagonal<T: Element>(mut a: Array2<T>) -> Bases<T> {
    let (rows, columns) = a.dim();
    let (mut diagonal, mut above) = (vec![0.0; columns], vec![0.0; columns.saturating_sub(1)]);
    // The v of each reflection in a row.
    let mut left = full(&[columns, rows], T::zero());
    let mut right = full(&[above.len(), above.len()], T::zero());
    let mut scales = [vec![T::zero(); columns], vec![T::zero(); above.len()]];
    if let (Some(elements), Some(left), Some(right)) =
        (a.as_slice_mut(), left.as_slice_mut(), right.as_slice_mut())
    {
        widest(Reduction {
            elements,
            shape: [rows, columns],
            vectors: [left, right],
            scales: &mut scales,
            diagonal: &mut diagonal,
            above: &mut above,
        });
    }
    let ones = vec![T::one(); columns];
    let left = Reflectors::new(row_major(&left.t()), &scales[0]).columns(&ones);
    let right = Reflectors::new(row_major(&right.t()), &scales[1]);
    let mut basis: Array2<T> = full(&[columns, columns], T::zero());
    if let Some(first) = basis.first_mut() {
        *first = T::one();
        let columns = right.columns(&ones[1..]);
        basis.slice_mut(s![1.., 1..]).assign(&columns);
    }
    let epsilon = T::epsilon().as_f64();
    Bases {
        matrix: Bidiagonal {
            diagonal,
            above,
            epsilon,
        },
        left,
        right: basis,
    }
}

struct Reduction<'a, T> {
    elements: &'a mut [T],
    shape: [usize; 2],
    /// The v of the reflections from the left, and from the right.
    vectors: [&'a mut [T]; 2],
    scales: &'a mut [Vec<T>; 2],
    diagonal: &'a mut [f64],
    above: &'a mut [f64],
}

impl<T: Element> Loop for Reduction<'_, T> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        let Self {
            elements,
            shape: [rows, columns],
            vectors,
            scales,
            diagonal,
            above,
        } = self;
        let [left, right] = vectors;
        // The matrix is A − vyᵀ − xuᵀ: a row is changed when it is next read, to add a multiple of it to the next y.
        let [mut v, mut x] = [vec![T::zero(); rows], vec![T::zero(); rows]];
        let [mut y, mut u] = [vec![T::zero(); columns], vec![T::zero(); columns]];
        let mut sums = vec![T::zero(); columns];
        for step in 0..columns {
            let column = &mut left[step * rows..][step..rows];
            for (row, element) in column.iter_mut().enumerate() {
                let row = step + row;
                *element = elements[row * columns + step] - (v[row] * y[step] + x[row] * u[step]);
            }
            let (tau, image) = reflection(column);
            (scales[0][step], diagonal[step]) = (tau, image.as_f64());
            let from = step + 1;
            let sums = &mut sums[from..];
            sums.fill(T::zero());
            for (row, &factor) in (step..rows).zip(&*column) {
                let elements = &mut elements[row * columns..][from..columns];
                change_and_add(
                    elements,
                    [v[row], x[row]],
                    [&y[from..], &u[from..]],
                    factor,
                    sums,
                );
            }
            v[step..].copy_from_slice(column);
            for (y, &sum) in y[from..].iter_mut().zip(&*sums) {
                *y = tau * sum;
            }
            if from == columns {
                return;
            }
            let row = &mut right[step * (columns - 1)..][step..columns - 1];
            for ((to, &element), &y) in row
                .iter_mut()
                .zip(&elements[step * columns + from..])
                .zip(&y[from..])
            {
                *to = element - y;
            }
            let (tau, image) = reflection(row);
            (scales[1][step], above[step]) = (tau, image.as_f64());
            let along = dot(&y[from..], row);
            for i in from..rows {
                let elements = &elements[i * columns..][from..columns];
                x[i] = tau * (dot(elements, row) - v[i] * along);
            }
            u[from..].copy_from_slice(row);
        }
    }
}

/// Subtracts a·y + b·u from a row, for `factors` a and b and `others` y and u, and adds a multiple of it to `sums`.
#[cfg_attr(optimized, inline(always))]
fn change_and_add<T: Element>(
    row: &mut [T],
    [a, b]: [T; 2],
    [y, u]: [&[T]; 2],
    factor: T,
    sums: &mut [T],
) {
    for (((element, &y), &u), sum) in row.iter_mut().zip(y).zip(u).zip(sums) {
        let changed = *element - (a * y + b * u);
        *element = changed;
        *sum += factor * changed;
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Axis;

    use super::*;
    use crate::matrix::gemm::matmul;
    use crate::testing::random;

    #[track_caller]
    fn is_decomposed(a: &Array2<f64>) -> Array1<f64> {
        let (u, values, vt) = svd(&a.view()).unwrap();
        let least = a.nrows().min(a.ncols());
        assert_eq!(
            (u.dim(), values.len(), vt.dim()),
            ((a.nrows(), least), least, (least, a.ncols()))
        );
        assert!(values.iter().rev().is_sorted() && values.iter().all(|&x| x >= 0.0));
        let largest = a.fold(0.0_f64, |largest, x| largest.max(x.abs()));
        let tolerance = 1e-14 * (4.0 + least as f64).sqrt();
        let off = matmul(&(&u * &(&values / largest)).view(), &vt.view()) - a / largest;
        assert!(
            largest == 0.0 || off.iter().all(|off| off.abs() <= tolerance),
            "{off:e}"
        );
        for off in [matmul(&u.t(), &u.view()), matmul(&vt.view(), &vt.t())] {
            let off = off - Array2::<f64>::eye(least);
            assert!(off.iter().all(|off| off.abs() <= tolerance), "{off:e}");
        }
        for column in u.axis_iter(Axis(1)) {
            let largest = column.fold(0.0_f64, |largest, x| largest.max(x.abs()));
            assert!(*column.iter().find(|x| x.abs() >= 0.99 * largest).unwrap() > 0.0);
        }
        values
    }

    #[test]
    fn random_matrices_of_every_shape() {
        for (rows, columns) in [
            (0, 0),
            (3, 0),
            (0, 3),
            (1, 1),
            (2, 2),
            (3, 3),
            (5, 4),
            (4, 5),
            (1, 7),
            (7, 1),
            (16, 16),
            (33, 33),
            (40, 33),
            (33, 50),
            (70, 20),
            (20, 70),
            (64, 64),
            (90, 80),
        ] {
            for seed in 0..5 {
                is_decomposed(&random((rows, columns), seed));
            }
        }
    }

    #[test]
    fn singular_values_that_are_equal_zero_or_of_any_magnitude() {
        assert_eq!(is_decomposed(&Array2::eye(20)), Array1::<f64>::ones(20));
        assert_eq!(
            is_decomposed(&Array2::zeros((7, 5))),
            Array1::<f64>::zeros(5)
        );
        let values = is_decomposed(&Array2::ones((40, 30)));
        assert!((values[0] - 1200.0_f64.sqrt()).abs() < 1e-12 && values[1] < 1e-13);
        // Of rank 4.
        let a = matmul(&random((30, 4), 0).view(), &random((4, 25), 1).view());
        let values = is_decomposed(&a);
        assert!(values[3] > 1.0 && values[4] < 1e-14);
        // With a column and a row of zeros.
        let mut a = random((12, 12), 2);
        a.column_mut(5).fill(0.0);
        a.row_mut(11).fill(0.0);
        assert!(is_decomposed(&a)[11] < 1e-15);
        let plain = is_decomposed(&random((20, 20), 1));
        for scale in [1e-300, 1e-150, 1e150, 1e305] {
            let off = is_decomposed(&(random((20, 20), 1) * scale)) / scale - &plain;
            assert!(
                off.iter().all(|off| off.abs() < 1e-13),
                "{scale:e}: {off:e}"
            );
        }
        let (basis, _, _) = svd(&random((50, 50), 3).view()).unwrap();
        let (other, _, _) = svd(&random((50, 50), 4).view()).unwrap();
        let expected = Array1::from_shape_fn(50, |i| (5 - i / 10) as f64);
        let a = matmul(&(&basis * &expected).view(), &other.t());
        let off = is_decomposed(&a) - expected;
        assert!(off.iter().all(|off| off.abs() < 1e-13), "{off:e}");
    }

    /// Products of singular values are determinants: the smallest is as exact as the largest.
    #[test]
    fn graded_matrices_have_small_singular_values_to_many_digits() {
        for sign in [-1.0, 1.0] {
            let mut a = random((20, 20), 5);
            for ((i, _), x) in a.indexed_iter_mut() {
                *x *= 10.0_f64.powf(sign * i as f64);
            }
            let values = is_decomposed(&a);
            assert!(values[19] / values[0] < 1e-17);
        }
        // An upper bidiagonal matrix: its singular values are computed to nearly all digits.
        let a = Array2::from_shape_fn((12, 12), |(i, j)| match j.wrapping_sub(i) {
            0 => 10.0_f64.powf(-2.0 * i as f64),
            1 => 0.5 * 10.0_f64.powf(-2.0 * i as f64),
            _ => 0.0,
        });
        let values = is_decomposed(&a);
        let product: f64 = values.iter().product();
        let expected: f64 = a.diag().iter().product();
        assert!(
            (product / expected - 1.0).abs() < 1e-13,
            "{product:e} {expected:e}"
        );
    }

    #[test]
    fn single_precision() {
        let a = random((70, 60), 0);
        let (_, expected, _) = svd(&a.view()).unwrap();
        let (u, values, vt) = svd(&a.mapv(f32::from_f64).view()).unwrap();
        let off = matmul(&(&u * &values).view(), &vt.view()) - a.mapv(f32::from_f64);
        assert!(off.iter().all(|off| off.abs() < 1e-5), "{off:e}");
        let off = values.mapv(f64::from) - expected;
        assert!(off.iter().all(|off| off.abs() < 1e-5), "{off:e}");
    }

    #[test]
    fn what_is_not_finite_is_an_error() {
        for x in [f64::NAN, f64::NEG_INFINITY] {
            let mut a = random((5, 4), 0);
            a[[1, 3]] = x;
            assert_eq!(svd(&a.view()).unwrap_err(), FactorError::NotConverged);
        }
    }
}
