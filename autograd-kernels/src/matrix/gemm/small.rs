//! Products of small matrices with AVX-512: no buffers to fill in memory, no blocks that are mostly padding.
//!
//! C is computed in tiles of a few rows and one or two registers of columns, whose sums stay in registers
//! from the first summand to the last. Elements of A are read in place, and so are rows of B if
//! they are contiguous.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::product::{Product, at, at_mut};
use crate::element::Element;

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

/// Element types that have a register.
pub(crate) trait Lanes: Element {
    /// 64 bytes of elements.
    type Register: Register<Element = Self>;
}

impl Lanes for f32 {
    type Register = __m512;
}

impl Lanes for f64 {
    type Register = __m512d;
}

/// A register of elements.
///
/// The functions may be called only where AVX-512 is enabled. Pointers must be valid for `count` elements.
pub(crate) trait Register: Copy {
    type Element;
    const LANES: usize;

    unsafe fn zeros() -> Self;
    unsafe fn all(element: Self::Element) -> Self;
    /// Loads the first `count` elements, and zeros.
    unsafe fn load(start: *const Self::Element, count: usize) -> Self;
    /// Writes the first `count` elements.
    unsafe fn store(self, start: *mut Self::Element, count: usize);
    unsafe fn times(self, other: Self) -> Self;
    /// Returns x·y + self.
    unsafe fn plus(self, x: Self, y: Self) -> Self;
}

macro_rules! register {
    ($Register:ty, $T:ty, $mask:ty, $zeros:ident, $all:ident, $load:ident, $store:ident, $times:ident, $plus:ident) => {
        impl Register for $Register {
            type Element = $T;
            const LANES: usize = 64 / size_of::<$T>();

            #[inline(always)]
            unsafe fn zeros() -> Self {
                // SAFETY: the processor has AVX-512, here and below.
                unsafe { $zeros() }
            }

            #[inline(always)]
            unsafe fn all(element: $T) -> Self {
                unsafe { $all(element) }
            }

            #[inline(always)]
            unsafe fn load(start: *const $T, count: usize) -> Self {
                // SAFETY: no more than `count` elements are touched, here and in `store`.
                unsafe { $load(<$mask>::MAX >> (Self::LANES - count), start) }
            }

            #[inline(always)]
            unsafe fn store(self, start: *mut $T, count: usize) {
                unsafe { $store(start, <$mask>::MAX >> (Self::LANES - count), self) }
            }

            #[inline(always)]
            unsafe fn times(self, other: Self) -> Self {
                unsafe { $times(self, other) }
            }

            #[inline(always)]
            unsafe fn plus(self, x: Self, y: Self) -> Self {
                unsafe { $plus(x, y, self) }
            }
        }
    };
}

register!(
    __m512,
    f32,
    u16,
    _mm512_setzero_ps,
    _mm512_set1_ps,
    _mm512_maskz_loadu_ps,
    _mm512_mask_storeu_ps,
    _mm512_mul_ps,
    _mm512_fmadd_ps
);
register!(
    __m512d,
    f64,
    u8,
    _mm512_setzero_pd,
    _mm512_set1_pd,
    _mm512_maskz_loadu_pd,
    _mm512_mask_storeu_pd,
    _mm512_mul_pd,
    _mm512_fmadd_pd
);

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
    let most = 2 * T::Register::LANES;
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
            if width > T::Register::LANES {
                tiles::<T, 2>(product, panel);
            } else {
                tiles::<T, 1>(product, panel);
            }
        }
    }
}

/// Computes all rows of C in the columns of a panel, which is `V` registers wide.
#[inline(always)]
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

#[inline(always)]
unsafe fn tile<T: Lanes, const R: usize, const V: usize>(
    product: &Product<T>,
    panel: Panel<T>,
    row: usize,
) {
    let lanes = T::Register::LANES;
    let counts: [usize; V] = std::array::from_fn(|v| lanes.min(panel.width - v * lanes));
    let a = product.a;
    // SAFETY: `R` elements of A in each column, a row of the panel of the width of all registers, and as
    // much of `R` rows of C.
    unsafe {
        let mut sums = [[T::Register::zeros(); V]; R];
        for p in 0..product.lengths[1] {
            let start = panel.start.offset(p.cast_signed() * panel.stride);
            let b: [T::Register; V] =
                std::array::from_fn(|v| T::Register::load(start.add(v * lanes), counts[v]));
            for (i, sums) in sums.iter_mut().enumerate() {
                let factor = T::Register::all(*at(a.start, row + i, p, a.strides));
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
#[inline(always)]
unsafe fn put<T: Lanes>(
    product: &Product<T>,
    sum: T::Register,
    row: usize,
    column: usize,
    count: usize,
) {
    // SAFETY: the elements are C's, which are read only if they are initialized.
    unsafe {
        let c = at_mut(product.c, row, column, product.c_strides);
        let mut sum = sum.times(T::Register::all(product.alpha));
        let beta = T::Register::all(product.beta);
        if product.c_strides[1] == 1 {
            if product.beta != T::zero() {
                sum = sum.plus(beta, T::Register::load(c, count));
            }
            return sum.store(c, count);
        }
        let mut elements = [T::zero(); WIDTH];
        sum.store(elements.as_mut_ptr(), count);
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
