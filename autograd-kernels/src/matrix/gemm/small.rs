//! Products of small matrices with AVX-512: no buffers to fill in memory, no blocks that are mostly padding.
//!
//! C is computed in tiles of a few rows and one or two registers of columns, whose sums stay in registers
//! from the first summand to the last. Elements of A are read in place, and so are rows of B if
//! they are contiguous.

use std::mem::MaybeUninit;

use super::product::{Product, at, at_mut};
use crate::registers::{Lanes, Register};

/// The most summands. A panel of them is on the stack where B is not read in place.
const SUMMANDS: usize = 128;

/// The most products of two elements. For larger products, a library is faster.
const PRODUCTS: usize = 128 * 128 * 128;

/// The rows of a tile.
const ROWS: usize = 8;

/// The most elements in one row of a tile: two registers of `f32`.
const WIDTH: usize = 32;

/// Returns whether a product of these lengths is faster here.
pub(super) fn fits([m, k, n]: [usize; 3]) -> bool {
    let is_small = k <= SUMMANDS && m.saturating_mul(k).saturating_mul(n) <= PRODUCTS;
    is_small && is_x86_feature_detected!("avx512f")
}

/// Some columns of B: their rows are `stride` apart, each contiguous.
#[derive(Clone, Copy)]
struct Panel<T> {
    start: *const T,
    stride: isize,
    first: usize,
    width: usize,
}

/// Computes a product that [`fits`].
///
/// # Safety
/// The conditions of [`Product`] must hold.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn product<T: Lanes>(product: &Product<T>) {
    let [_, k, n] = product.lengths;
    let mut memory = [[const { MaybeUninit::<T>::uninit() }; WIDTH]; SUMMANDS];
    let b = product.b;
    let most = 2 * T::Avx512::LANES;
    for first in (0..n).step_by(most) {
        let width = most.min(n - first);
        // SAFETY: the rows `0..k` and the columns from `first`, `width` of them, are elements of B.
        unsafe {
            let mut panel = Panel {
                start: at(b.start, 0, first, b.strides),
                stride: b.strides[0],
                first,
                width,
            };
            if b.strides[1] != 1 {
                for (p, row) in memory[..k].iter_mut().enumerate() {
                    for (j, element) in row[..width].iter_mut().enumerate() {
                        element.write(*at(b.start, p, first + j, b.strides));
                    }
                }
                panel.start = memory.as_ptr().cast();
                panel.stride = WIDTH.cast_signed();
            }
            if width > T::Avx512::LANES {
                tiles::<T, 2>(product, panel);
            } else {
                tiles::<T, 1>(product, panel);
            }
        }
    }
}

/// Computes all rows of C in the columns of a panel, which is `V` registers wide.
#[cfg_attr(optimized, inline(always))]
unsafe fn tiles<T: Lanes, const V: usize>(product: &Product<T>, panel: Panel<T>) {
    let m = product.lengths[0];
    for row in (0..m).step_by(ROWS) {
        // SAFETY: the tile's rows are rows of A and C.
        unsafe {
            match m - row {
                1 => tile::<T, 1, V>(product, panel, row),
                2 => tile::<T, 2, V>(product, panel, row),
                3 => tile::<T, 3, V>(product, panel, row),
                4 => tile::<T, 4, V>(product, panel, row),
                5 => tile::<T, 5, V>(product, panel, row),
                6 => tile::<T, 6, V>(product, panel, row),
                7 => tile::<T, 7, V>(product, panel, row),
                _ => tile::<T, ROWS, V>(product, panel, row),
            }
        }
    }
}

#[cfg_attr(optimized, inline(always))]
unsafe fn tile<T: Lanes, const R: usize, const V: usize>(
    product: &Product<T>,
    panel: Panel<T>,
    row: usize,
) {
    let lanes = T::Avx512::LANES;
    let counts: [usize; V] = std::array::from_fn(|v| lanes.min(panel.width - v * lanes));
    let a = product.a;
    // SAFETY: `R` elements of A in each column, a row of the panel of the width of all registers, and as
    // much of `R` rows of C.
    unsafe {
        let mut sums = [[T::Avx512::zeros(); V]; R];
        for p in 0..product.lengths[1] {
            let start = panel.start.offset(p.cast_signed() * panel.stride);
            let b: [T::Avx512; V] =
                std::array::from_fn(|v| T::Avx512::load_lanes(start.add(v * lanes), 0..counts[v]));
            for (i, sums) in sums.iter_mut().enumerate() {
                let factor = T::Avx512::all(*at(a.start, row + i, p, a.strides));
                for (sum, &b) in sums.iter_mut().zip(&b) {
                    *sum = sum.plus(factor, b);
                }
            }
        }
        for (i, sums) in sums.into_iter().enumerate() {
            for (v, sum) in sums.into_iter().enumerate() {
                let column = panel.first + v * lanes;
                put(product, sum, row + i, column, counts[v]);
            }
        }
    }
}

/// Finishes `count` elements in a row of C.
#[cfg_attr(optimized, inline(always))]
unsafe fn put<T: Lanes>(
    product: &Product<T>,
    sum: T::Avx512,
    row: usize,
    column: usize,
    count: usize,
) {
    // SAFETY: the elements are C's, which are read only if they are initialized.
    unsafe {
        let c = at_mut(product.c, row, column, product.c_strides);
        let mut sum = sum.times(T::Avx512::all(product.alpha));
        let beta = T::Avx512::all(product.beta);
        if product.c_strides[1] == 1 {
            if product.beta != T::zero() {
                sum = sum.plus(beta, T::Avx512::load_lanes(c, 0..count));
            }
            return sum.store_lanes(c, 0..count);
        }
        let mut elements = [T::zero(); WIDTH];
        sum.store_lanes(elements.as_mut_ptr(), 0..count);
        for (j, &element) in elements[..count].iter().enumerate() {
            let c = at_mut(c, 0, j, product.c_strides);
            *c = if product.beta == T::zero() {
                element
            } else {
                element + product.beta * *c
            };
        }
    }
}
