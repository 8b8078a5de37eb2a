//! Householder reflections: products of I − τvvᵀ, applied as products of matrices.

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, s};

use super::{exponent, power_of_two};
use crate::element::Element;
use crate::loops::movement::full;
use crate::loops::row_major::{copy_columns, row_major};
use crate::loops::wide::{Loop, sum_of_lanes, widest};
use crate::matrix::gemm::{gemm, matmul};

/// The reflections of a block.
const BLOCK: usize = 32;

/// The product of reflections I − τvvᵀ, the first of which is the leftmost: an orthogonal matrix.
#[derive(Debug)]
pub(super) struct Reflectors<T> {
    /// The vector v of each in a column: a lower trapezoid, with 1 on its diagonal and 0 above.
    vectors: Array2<T>,
    /// For each block of columns V, the upper triangular T with which the product of its reflections is `I − VTVᵀ`.
    factors: Vec<Array2<T>>,
}

impl<T: Element> Reflectors<T> {
    /// Collects reflections. Only what is below the diagonal of `vectors` is read.
    pub(super) fn new(mut vectors: Array2<T>, scales: &[T]) -> Self {
        for (i, mut row) in vectors.rows_mut().into_iter().enumerate() {
            if let Some(x) = row.get_mut(i) {
                *x = T::one();
                row.slice_mut(s![i + 1..]).fill(T::zero());
            }
        }
        let factors = scales.chunks(BLOCK).zip(0..).map(|(scales, block)| {
            let from = block * BLOCK;
            let columns = vectors.slice(s![from.., from..from + scales.len()]);
            block_factor(&columns, scales)
        });
        let factors = factors.collect();
        Self { vectors, factors }
    }

    /// Factors a matrix that has at least as many rows as columns: the product of the reflections, times an upper triangle
    /// that replaces the matrix's; what is below it is of no meaning afterwards.
    pub(super) fn of_columns(mut a: ArrayViewMut2<'_, T>) -> Self {
        let mut vectors = full(a.shape(), T::zero());
        let mut factors = Vec::with_capacity(a.ncols().div_ceil(BLOCK));
        for from in (0..a.ncols()).step_by(BLOCK) {
            let width = BLOCK.min(a.ncols() - from);
            let (panel, rest) = a.slice_mut(s![from.., from..]).split_at(Axis(1), width);
            let own = vectors.slice_mut(s![from.., from..from + width]);
            let factor = reflect_panel(panel, own);
            let columns = vectors.slice(s![from.., from..from + width]);
            apply(&columns, &factor.t(), rest);
            factors.push(factor);
        }
        Self { vectors, factors }
    }

    /// Returns the number of elements of each v.
    pub(super) fn rows(&self) -> usize {
        self.vectors.nrows()
    }

    /// Replaces a matrix by the product with it from the left.
    pub(super) fn apply(&self, mut to: ArrayViewMut2<'_, T>) {
        for (block, factor) in self.factors.iter().enumerate().rev() {
            let from = block * BLOCK;
            let columns = self.vectors.slice(s![from.., from..from + factor.nrows()]);
            apply(&columns, &factor.view(), to.slice_mut(s![from.., ..]));
        }
    }

    /// Replaces a matrix by the product of the transpose with it.
    pub(super) fn apply_transposed(&self, mut to: ArrayViewMut2<'_, T>) {
        for (block, factor) in self.factors.iter().enumerate() {
            let from = block * BLOCK;
            let columns = self.vectors.slice(s![from.., from..from + factor.nrows()]);
            apply(&columns, &factor.t(), to.slice_mut(s![from.., ..]));
        }
    }

    /// Returns the first columns of the product, multiplied by `signs`.
    pub(super) fn columns(&self, signs: &[T]) -> Array2<T> {
        let mut q: Array2<T> = full(&[self.vectors.nrows(), signs.len()], T::zero());
        for (x, &sign) in q.diag_mut().iter_mut().zip(signs) {
            *x = sign;
        }
        for (block, factor) in self.factors.iter().enumerate().rev() {
            let from = block * BLOCK;
            let columns = self.vectors.slice(s![from.., from..from + factor.nrows()]);
            // The columns before are still those of the identity.
            apply(&columns, &factor.view(), q.slice_mut(s![from.., from..]));
        }
        q
    }
}

/// Replaces C by (I − VTVᵀ)C.
fn apply<T: Element>(v: &ArrayView2<'_, T>, t: &ArrayView2<'_, T>, mut c: ArrayViewMut2<'_, T>) {
    let inner = matmul(&v.t(), &c.view());
    gemm(
        -T::one(),
        v,
        &matmul(t, &inner.view()).view(),
        T::one(),
        &mut c,
    );
}

/// Returns the T of reflections.
fn block_factor<T: Element>(v: &ArrayView2<'_, T>, scales: &[T]) -> Array2<T> {
    let products = matmul(&v.t(), v);
    let mut t = Array2::zeros(products.raw_dim());
    for (j, &scale) in scales.iter().enumerate() {
        for i in 0..j {
            let sum: T = (i..j).map(|k| t[[i, k]] * products[[k, j]]).sum();
            t[[i, j]] = -scale * sum;
        }
        t[[j, j]] = scale;
    }
    t
}

/// Reflects the columns of a panel one after the other, in a copy in which they are contiguous. Returns the T of the
/// reflections.
fn reflect_panel<T: Element>(
    panel: ArrayViewMut2<'_, T>,
    mut vectors: ArrayViewMut2<'_, T>,
) -> Array2<T> {
    let mut columns = row_major(&panel.t());
    let mut scales = vec![T::zero(); panel.ncols()];
    if let Some(columns) = columns.as_slice_mut() {
        widest(Panel {
            columns,
            rows: panel.nrows(),
            scales: &mut scales,
        });
    }
    copy_columns(panel, &columns.t(), |x| x);
    for (j, mut column) in columns.rows_mut().into_iter().enumerate() {
        column.slice_mut(s![..j]).fill(T::zero());
        column[j] = T::one();
    }
    copy_columns(vectors.view_mut(), &columns.t(), |x| x);
    block_factor(&vectors.view(), &scales)
}

/// Columns, each contiguous, and the τ of their reflections.
struct Panel<'a, T> {
    columns: &'a mut [T],
    rows: usize,
    scales: &'a mut [T],
}

impl<T: Element> Loop for Panel<'_, T> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        let Self {
            columns,
            rows,
            scales,
        } = self;
        for (step, scale) in scales.iter_mut().enumerate() {
            let (before, after) = columns.split_at_mut((step + 1) * rows);
            let column = &mut before[step * rows + step..];
            let (tau, diagonal) = reflection(column);
            *scale = tau;
            for other in after.chunks_exact_mut(rows) {
                let other = &mut other[step..];
                let factor = tau * dot(column, other);
                subtract(other, factor, column);
            }
            column[0] = diagonal;
        }
    }
}

/// Replaces x by the v of the reflection that maps it to a multiple of the first unit vector, where the first element of v
/// is 1. Returns τ and that multiple.
#[cfg_attr(optimized, inline(always))]
pub(super) fn reflection<T: Element>(x: &mut [T]) -> (T, T) {
    let square = dot(x, x);
    // Squares that are neither too large nor too small for their sum to be exact to rounding.
    let least = T::min_positive_value() / (T::epsilon() * T::epsilon());
    if square >= least && square <= T::one() / least {
        return plain_reflection(x, square);
    }
    scaled_reflection(x)
}

#[cfg_attr(optimized, inline(always))]
fn plain_reflection<T: Element>(x: &mut [T], square: T) -> (T, T) {
    let [first, rest @ ..] = x else {
        return (T::zero(), T::zero());
    };
    let (head, norm) = (*first, square.sqrt());
    *first = T::one();
    // With the other sign, digits would cancel.
    let image = if head > T::zero() { -norm } else { norm };
    if dot(rest, rest) == T::zero() {
        return (T::zero(), head);
    }
    let divisor = head - image;
    for x in rest {
        *x /= divisor;
    }
    (-divisor / image, image)
}

/// The reflection of a multiple of x that is near 1. It is the same; the factor is a power of 2, so that nothing is rounded.
#[cold]
fn scaled_reflection<T: Element>(x: &mut [T]) -> (T, T) {
    let largest = x.iter().fold(T::zero(), |largest, x| largest.max(x.abs()));
    if largest == T::zero() || !largest.is_finite() {
        let square = dot(x, x);
        return plain_reflection(x, square);
    }
    // In two steps: the factor of the smallest numbers is not a number of the type.
    let half: T = power_of_two(exponent(largest) / -2);
    for x in &mut *x {
        *x = *x * half * half;
    }
    let square = dot(x, x);
    let (scale, image) = plain_reflection(x, square);
    (scale, image / half / half)
}

/// The partial sums of a product.
pub(super) const LANES: usize = 32;

#[cfg_attr(optimized, inline(always))]
pub(super) fn dot<T: Element>(x: &[T], y: &[T]) -> T {
    let mut lanes = [T::zero(); LANES];
    let ((chunks_x, rest_x), (chunks_y, rest_y)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    for (x, y) in chunks_x.iter().zip(chunks_y) {
        for lane in 0..LANES {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    for (lane, (&x, &y)) in rest_x.iter().zip(rest_y).enumerate() {
        lanes[lane] += x * y;
    }
    sum_of_lanes(lanes)
}

/// Subtracts a multiple of y from x.
#[cfg_attr(optimized, inline(always))]
pub(super) fn subtract<T: Element>(x: &mut [T], factor: T, y: &[T]) {
    for (x, &y) in x.iter_mut().zip(y) {
        *x -= factor * y;
    }
}
