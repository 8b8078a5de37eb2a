//! Products of a matrix and a vector: each element of the matrix is read once, along the axis on which it
//! is contiguous.

use super::product::{Product, at, at_mut};
use crate::element::Element;
use crate::loops::wide::sum_of_lanes;
use crate::memory;

/// Returns whether the matrix is contiguous along an axis.
pub(super) fn fits<T>(product: &Product<T>) -> bool {
    let [m, k, _] = product.lengths;
    let [rows, columns] = product.a.strides;
    m == 1 || k == 1 || rows == 1 || columns == 1
}

/// Computes a product of one column whose matrix [`fits`].
///
/// # Safety
/// The conditions of [`Product`] must hold.
pub(super) unsafe fn product<T: Element, const LANES: usize>(product: &Product<T>) {
    // SAFETY: passed on; each only where the processor has what it is compiled for.
    unsafe {
        let gathered;
        let [m, k, _] = product.lengths;
        let x = if product.b.strides[0] == 1 || k == 1 {
            std::slice::from_raw_parts(product.b.start, k)
        } else {
            let mut elements = memory::take(k);
            elements.extend((0..k).map(|p| *at(product.b.start, p, 0, product.b.strides)));
            gathered = elements;
            &gathered
        };
        debug_assert!(m > 0);
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                return with_avx512::<T, LANES>(product, x);
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return with_avx2::<T, LANES>(product, x);
            }
        }
        along::<T, LANES, false>(product, x);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
unsafe fn with_avx512<T: Element, const LANES: usize>(product: &Product<T>, x: &[T]) {
    // SAFETY: passed on.
    unsafe { along::<T, LANES, true>(product, x) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn with_avx2<T: Element, const LANES: usize>(product: &Product<T>, x: &[T]) {
    // SAFETY: passed on.
    unsafe { along::<T, LANES, true>(product, x) }
}

/// Rows or columns that are worked on side by side.
const SIDE_BY_SIDE: usize = 4;

#[cfg_attr(optimized, inline(always))]
unsafe fn along<T: Element, const LANES: usize, const FUSED: bool>(product: &Product<T>, x: &[T]) {
    let [m, _, _] = product.lengths;
    let [rows, columns] = product.a.strides;
    // SAFETY: the blocks cover the rows once; what they are read along is contiguous.
    unsafe {
        if columns == 1 || (x.len() == 1 && rows != 1) {
            let whole = m - m % SIDE_BY_SIDE;
            for row in (0..whole).step_by(SIDE_BY_SIDE) {
                dots::<T, LANES, SIDE_BY_SIDE, FUSED>(product, x, row);
            }
            for row in whole..m {
                dots::<T, LANES, 1, FUSED>(product, x, row);
            }
            return;
        }
        let block = LANES * SIDE_BY_SIDE;
        let whole = m - m % block;
        for row in (0..whole).step_by(block) {
            sums::<T, LANES, SIDE_BY_SIDE, FUSED>(product, x, row, block);
        }
        for row in (whole..m).step_by(LANES) {
            sums::<T, LANES, 1, FUSED>(product, x, row, LANES.min(m - row));
        }
    }
}

#[cfg_attr(optimized, inline(always))]
fn plus<T: Element, const FUSED: bool>(sum: T, x: T, y: T) -> T {
    if FUSED {
        x.mul_add(y, sum)
    } else {
        sum + x * y
    }
}

/// Multiplies `R` rows, each contiguous, with the vector.
#[cfg_attr(optimized, inline(always))]
unsafe fn dots<T: Element, const LANES: usize, const R: usize, const FUSED: bool>(
    product: &Product<T>,
    x: &[T],
    row: usize,
) {
    let a = product.a;
    let mut lanes = [[T::zero(); LANES]; R];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for (chunk, x) in chunks.iter().enumerate() {
        for (i, lanes) in lanes.iter_mut().enumerate() {
            // SAFETY: `LANES` elements of a row of A, from column `chunk * LANES` on.
            let elements: [T; LANES] = unsafe {
                at(a.start, row + i, chunk * LANES, a.strides)
                    .cast::<[T; LANES]>()
                    .read()
            };
            for ((lane, element), &x) in lanes.iter_mut().zip(elements).zip(x) {
                *lane = plus::<T, FUSED>(*lane, element, x);
            }
        }
    }
    let done = x.len() - rest.len();
    for (i, lanes) in lanes.iter().enumerate() {
        let mut sum = sum_of_lanes(*lanes);
        for (p, &x) in rest.iter().enumerate() {
            // SAFETY: an element of A.
            let element = unsafe { *at(a.start, row + i, done + p, a.strides) };
            sum = plus::<T, FUSED>(sum, element, x);
        }
        // SAFETY: the row is one of the product's.
        unsafe { put(product, row + i, sum) };
    }
}

/// Multiplies `count` rows, at most `R * LANES`, of contiguous columns with the vector.
#[cfg_attr(optimized, inline(always))]
unsafe fn sums<T: Element, const LANES: usize, const R: usize, const FUSED: bool>(
    product: &Product<T>,
    x: &[T],
    row: usize,
    count: usize,
) {
    let a = product.a;
    let mut sums = [[T::zero(); LANES]; R];
    for (p, &x) in x.iter().enumerate() {
        for (i, sums) in sums.iter_mut().enumerate() {
            let first = i * LANES;
            // SAFETY: elements of column `p` of A, `LANES` of them or as many as there are left.
            let elements: [T; LANES] = unsafe {
                let start = at(a.start, row + first, p, a.strides);
                if count == R * LANES {
                    start.cast::<[T; LANES]>().read()
                } else {
                    let mut elements = [T::zero(); LANES];
                    let rest = count - first;
                    start.copy_to_nonoverlapping(elements.as_mut_ptr(), rest);
                    elements
                }
            };
            for (sum, element) in sums.iter_mut().zip(elements) {
                *sum = plus::<T, FUSED>(*sum, element, x);
            }
        }
    }
    for (i, &sum) in sums.as_flattened()[..count].iter().enumerate() {
        // SAFETY: the row is one of the product's.
        unsafe { put(product, row + i, sum) };
    }
}

/// Finishes one element of C.
#[cfg_attr(optimized, inline(always))]
unsafe fn put<T: Element>(product: &Product<T>, row: usize, sum: T) {
    let (alpha, beta) = (product.alpha, product.beta);
    // SAFETY: an element of C, which is read only if it is initialized.
    unsafe {
        let c = at_mut(product.c, row, 0, product.c_strides);
        *c = if beta == T::zero() {
            alpha * sum
        } else {
            alpha * sum + beta * *c
        };
    }
}
