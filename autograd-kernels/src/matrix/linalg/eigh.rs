//! Eigenvalues and eigenvectors of symmetric matrices: reflections make the matrix tridiagonal, and rotations by the
//! implicit QL iteration make it diagonal.

use ndarray::{Array1, Array2, ArrayView2, s};

use super::reflectors::{LANES, Reflectors, dot, reflection};
use super::rotations::{Rows, fix_signs};
use super::{FactorError, scale, square, symmetric_part};
use crate::element::Element;
use crate::loops::movement::full;
use crate::loops::row_major::row_major;
use crate::loops::wide::{Loop, sum_of_lanes, widest};
use crate::math::hypot;

/// Returns the eigenvalues of a symmetric matrix, or of (A + Aᵀ)/2 if A is not symmetric, in ascending order, and their
/// eigenvectors, in the columns of a matrix: AV = V diag(λ), where the columns of V are orthonormal.
///
/// The sign of an eigenvector is arbitrary. Here the first element whose magnitude is within 1 % of the largest is positive.
///
/// # Errors
/// [`NotConverged`](FactorError::NotConverged) if an element is infinite or NaN.
///
/// # Panics
/// If the matrix is not square.
///
/// ```
/// use pullback::kernels::eigh;
/// use pullback::ndarray::array;
///
/// let (values, vectors) = eigh(&array![[2.0, 0.0], [0.0, 1.0]].view())?;
/// assert_eq!(values, array![1.0, 2.0]);
/// assert_eq!(vectors, array![[0.0, 1.0], [1.0, 0.0]]);
/// # Ok::<(), pullback::kernels::FactorError>(())
/// ```
#[track_caller]
pub fn eigh<T: Element>(a: &ArrayView2<'_, T>) -> Result<(Array1<T>, Array2<T>), FactorError> {
    square(a);
    let scale = scale(a)?;
    let mut symmetric = row_major(a);
    symmetric.mapv_inplace(|x| x * scale);
    symmetric_part(&mut symmetric);
    let Tridiagonal {
        mut diagonal,
        mut beside,
        basis,
    } = tridiagonal(symmetric);
    let mut rows = Rows::new(&basis.t());
    iterate(&mut diagonal, &mut beside, T::epsilon().as_f64(), &mut rows)?;
    let mut order: Vec<usize> = (0..diagonal.len()).collect();
    order.sort_by(|&i, &j| diagonal[i].total_cmp(&diagonal[j]));
    let values = order
        .iter()
        .map(|&i| T::from_f64(diagonal[i]) / scale)
        .collect();
    let mut vectors = rows.into_rows(&order);
    fix_signs(&mut vectors, None);
    Ok((values, vectors.reversed_axes()))
}

/// A tridiagonal matrix that is similar to a symmetric one.
struct Tridiagonal<T> {
    diagonal: Vec<f64>,
    /// The elements beside the diagonal, and 0.
    beside: Vec<f64>,
    /// The orthogonal matrix Q with `A = QTQᵀ`.
    basis: Array2<T>,
}

/// Makes a symmetric matrix tridiagonal by reflections from both sides.
fn tridiagonal<T: Element>(mut a: Array2<T>) -> Tridiagonal<T> {
    let size = a.nrows();
    let (mut diagonal, mut beside) = (vec![0.0; size], vec![0.0; size]);
    let mut basis: Array2<T> = full(&[size, size], T::zero());
    if let (Some(first), Some(elements)) = (basis.first_mut(), a.as_slice_mut()) {
        *first = T::one();
        // The v of each reflection in a row.
        let mut vectors = full(&[size - 1, size - 1], T::zero());
        let mut scales = vec![T::zero(); size - 1];
        widest(Reduction {
            elements,
            size,
            // INVARIANT: a new array is contiguous.
            vectors: vectors.as_slice_mut().expect("row-major"),
            scales: &mut scales,
            diagonal: &mut diagonal,
            beside: &mut beside,
        });
        let reflectors = Reflectors::new(row_major(&vectors.t()), &scales);
        let ones = vec![T::one(); size - 1];
        basis
            .slice_mut(s![1.., 1..])
            .assign(&reflectors.columns(&ones));
    }
    Tridiagonal {
        diagonal,
        beside,
        basis,
    }
}

struct Reduction<'a, T> {
    elements: &'a mut [T],
    size: usize,
    vectors: &'a mut [T],
    scales: &'a mut [T],
    diagonal: &'a mut [f64],
    beside: &'a mut [f64],
}

impl<T: Element> Loop for Reduction<'_, T> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        let Self {
            elements,
            size,
            vectors,
            scales,
            diagonal,
            beside,
        } = self;
        // The matrix is A − vwᵀ − wvᵀ: each row is changed when it is next read, to multiply it with the next v.
        let (mut v, mut w) = (vec![T::zero(); size], vec![T::zero(); size]);
        let mut product = vec![T::zero(); size];
        for step in 0..size {
            let (done, rest) = elements.split_at_mut((step + 1) * size);
            let row = &mut done[step * size + step..];
            change(row, [v[step], w[step]], [&v[step..], &w[step..]]);
            let [on_diagonal, x @ ..] = row else {
                return;
            };
            diagonal[step] = on_diagonal.as_f64();
            let Some(scale) = scales.get_mut(step) else {
                return;
            };
            let (tau, image) = reflection(x);
            (*scale, beside[step]) = (tau, image.as_f64());
            vectors[step * (size - 1)..][step..size - 1].copy_from_slice(x);
            let from = step + 1;
            for (row, other) in rest.chunks_exact_mut(size).zip(from..) {
                let factors = [v[other], w[other]];
                product[other] =
                    change_and_multiply(&mut row[from..], factors, [&v[from..], &w[from..]], x);
            }
            let product = &product[from..];
            let along = T::from_f64(0.5) * tau * dot(product, x);
            v[from..].copy_from_slice(x);
            for ((w, &product), &x) in w[from..].iter_mut().zip(product).zip(&*x) {
                *w = tau * (product - along * x);
            }
        }
    }
}

/// Subtracts a·w + b·v from a row, for `factors` a and b and `others` v and w.
#[cfg_attr(optimized, inline(always))]
fn change<T: Element>(row: &mut [T], [a, b]: [T; 2], [v, w]: [&[T]; 2]) {
    for ((x, &v), &w) in row.iter_mut().zip(v).zip(w) {
        *x -= a * w + b * v;
    }
}

/// Changes a row, and returns its product with a vector.
#[cfg_attr(optimized, inline(always))]
fn change_and_multiply<T: Element>(
    row: &mut [T],
    factors: [T; 2],
    [v, w]: [&[T]; 2],
    vector: &[T],
) -> T {
    let mut lanes = [T::zero(); LANES];
    let whole = row.len() - row.len() % LANES;
    let (chunks, rest) = row.as_chunks_mut::<LANES>();
    let others = v
        .as_chunks::<LANES>()
        .0
        .iter()
        .zip(w.as_chunks::<LANES>().0);
    let vectors = vector.as_chunks::<LANES>().0;
    for ((row, (v, w)), vector) in chunks.iter_mut().zip(others).zip(vectors) {
        change(row, factors, [v, w]);
        for lane in 0..LANES {
            lanes[lane] += row[lane] * vector[lane];
        }
    }
    change(rest, factors, [&v[whole..], &w[whole..]]);
    sum_of_lanes(lanes) + dot(rest, &vector[whole..])
}

/// Makes a tridiagonal matrix diagonal, and rotates rows as it is rotated: the implicit QL iteration.
fn iterate<T: Element>(
    d: &mut [f64],
    e: &mut [f64],
    epsilon: f64,
    rows: &mut Rows<T>,
) -> Result<(), FactorError> {
    /// Twice as many as were ever needed: an eigenvalue takes two steps, rarely more than three.
    const MOST_STEPS: usize = 60;
    let mut rotations = Vec::new();
    for first in 0..d.len() {
        for step in 0.. {
            let is_small = |i: &usize| e[*i].abs() <= epsilon * (d[*i].abs() + d[*i + 1].abs());
            let last = (first..d.len() - 1).find(is_small).unwrap_or(d.len() - 1);
            if last == first {
                break;
            }
            if step == MOST_STEPS {
                return Err(FactorError::NotConverged);
            }
            rotations.clear();
            sweep(&mut d[first..=last], &mut e[first..=last], &mut rotations);
            rows.rotate(last, true, &rotations);
        }
    }
    Ok(())
}

/// Chases an element, from the last row to the first, with the eigenvalue of the first two rows as the shift.
fn sweep(d: &mut [f64], e: &mut [f64], rotations: &mut Vec<[f64; 2]>) {
    let last = d.len() - 1;
    let ratio = (d[1] - d[0]) / (2.0 * e[0]);
    let root = hypot(ratio, 1.0).copysign(ratio);
    let mut above = d[last] - d[0] + e[0] / (ratio + root);
    let [mut sine, mut cosine, mut shift] = [1.0, 1.0, 0.0];
    for i in (0..last).rev() {
        let (bulge, beside) = (sine * e[i], cosine * e[i]);
        let length = hypot(bulge, above);
        e[i + 1] = length;
        if length == 0.0 {
            // The matrix has come apart here.
            d[i + 1] -= shift;
            e[last] = 0.0;
            return;
        }
        (sine, cosine) = (bulge / length, above / length);
        let rest = d[i + 1] - shift;
        let turned = (d[i] - rest) * sine + 2.0 * cosine * beside;
        shift = sine * turned;
        d[i + 1] = rest + shift;
        above = cosine * turned - beside;
        rotations.push([cosine, sine]);
    }
    d[0] -= shift;
    e[0] = above;
    e[last] = 0.0;
}

#[cfg(test)]
mod tests {
    use ndarray::{Axis, array};

    use super::*;
    use crate::matrix::gemm::matmul;
    use crate::testing::random;

    fn symmetric(size: usize, seed: u64) -> Array2<f64> {
        let a = random((size, size), seed);
        &a + &a.t()
    }

    #[track_caller]
    fn is_diagonal(a: &Array2<f64>) -> Array1<f64> {
        let (values, vectors) = eigh(&a.view()).unwrap();
        assert!(values.iter().is_sorted());
        let largest = a.fold(0.0_f64, |largest, x| largest.max(x.abs()));
        let tolerance = 1e-14 * (1.0 + a.nrows() as f64).sqrt();
        let off = matmul(&a.view(), &vectors.view()) / largest - &vectors * &(&values / largest);
        assert!(
            largest == 0.0 || off.iter().all(|off| off.abs() <= tolerance),
            "{off:e}"
        );
        let off = matmul(&vectors.t(), &vectors.view()) - Array2::<f64>::eye(a.nrows());
        assert!(off.iter().all(|off| off.abs() <= tolerance), "{off:e}");
        for vector in vectors.axis_iter(Axis(1)) {
            let largest = vector.fold(0.0_f64, |largest, x| largest.max(x.abs()));
            assert!(*vector.iter().find(|x| x.abs() >= 0.99 * largest).unwrap() > 0.0);
        }
        values
    }

    #[test]
    fn random_matrices_of_every_size() {
        for size in [0, 1, 2, 3, 4, 5, 16, 31, 32, 33, 34, 65, 120] {
            for seed in 0..5 {
                is_diagonal(&symmetric(size, seed));
            }
        }
    }

    #[test]
    fn eigenvalues_that_are_equal_or_of_any_magnitude() {
        assert_eq!(is_diagonal(&Array2::eye(20)), Array1::<f64>::ones(20));
        assert_eq!(is_diagonal(&Array2::zeros((7, 7))), Array1::<f64>::zeros(7));
        // Of rank 1.
        let values = is_diagonal(&Array2::ones((40, 40)));
        assert!((values[39] - 40.0).abs() < 1e-12 && values[38].abs() < 1e-13);
        let plain = is_diagonal(&symmetric(20, 1));
        for scale in [1e-300, 1e-150, 1e150, 1e305] {
            let off = is_diagonal(&(symmetric(20, 1) * scale)) / scale - &plain;
            assert!(
                off.iter().all(|off| off.abs() < 1e-13),
                "{scale:e}: {off:e}"
            );
        }
        // Numbers of few digits.
        let (values, _) = eigh(&(symmetric(20, 1) * 1e-310).view()).unwrap();
        let off = values / 1e-310 - plain;
        assert!(off.iter().all(|off| off.abs() < 1e-11), "{off:e}");
        // Graded, from either end.
        for sign in [-1.0, 1.0] {
            let mut a = symmetric(30, 2);
            for ((i, j), x) in a.indexed_iter_mut() {
                *x *= 10.0_f64.powf(sign * (i + j) as f64 / 3.0);
            }
            is_diagonal(&a);
        }
        // Many equal ones.
        let (_, basis) = eigh(&symmetric(50, 3).view()).unwrap();
        let values = Array1::from_shape_fn(50, |i| (i / 10) as f64);
        let a = matmul(&(&basis * &values).view(), &basis.t());
        let off = is_diagonal(&a) - &values;
        assert!(off.iter().all(|off| off.abs() < 1e-13), "{off:e}");
    }

    #[test]
    fn known_eigenvalues() {
        // Second differences: 2 − 2 cos(kπ/(n + 1)).
        let size = 100;
        let a = Array2::from_shape_fn((size, size), |(i, j)| match i.abs_diff(j) {
            0 => 2.0,
            1 => -1.0,
            _ => 0.0,
        });
        for (i, value) in is_diagonal(&a).iter().enumerate() {
            let angle = (i + 1) as f64 * std::f64::consts::PI / (size + 1) as f64;
            assert!((value - (2.0 - 2.0 * angle.cos())).abs() < 1e-13);
        }
        // Only the symmetric part counts.
        let skewed: Array2<f64> = array![[0.0, 2.0], [0.0, 0.0]];
        let (values, _) = eigh(&skewed.view()).unwrap();
        assert!(
            (values - array![-1.0, 1.0])
                .iter()
                .all(|off: &f64| off.abs() < 1e-15)
        );
        let (values, _) = eigh(&skewed.mapv(f32::from_f64).view()).unwrap();
        assert!(
            (values - array![-1.0, 1.0])
                .iter()
                .all(|off: &f32| off.abs() < 1e-6)
        );
    }

    #[test]
    fn what_is_not_finite_is_an_error() {
        for x in [f64::NAN, f64::INFINITY] {
            let mut a = symmetric(5, 0);
            a[[1, 4]] = x;
            assert_eq!(eigh(&a.view()).unwrap_err(), FactorError::NotConverged);
        }
    }
}
