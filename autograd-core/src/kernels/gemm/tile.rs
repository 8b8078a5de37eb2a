//! A few rows and one or two registers of columns of a product, with AVX-512: their sums stay in registers
//! from the first summand to the last.

use std::arch::x86_64::*;

use super::{Product, at, at_mut};
use crate::element::Element;

/// The rows of a tile.
pub(super) const ROWS: usize = 8;

/// The bytes of one row of a tile: two registers.
pub(super) const BYTES: usize = 128;

/// Element types with a register of them.
pub(in crate::kernels) trait Lanes: Element {
    /// 64 bytes of elements.
    type Register: Register<Element = Self>;
}

impl Lanes for f32 {
    type Register = __m512;
}

impl Lanes for f64 {
    type Register = __m512d;
}

/// As many elements as a register holds.
///
/// All of it is only for functions with AVX-512. Pointers must be good for `count` elements.
pub(in crate::kernels) trait Register: Copy {
    type Element;
    const LANES: usize;

    unsafe fn zeros() -> Self;
    unsafe fn all(element: Self::Element) -> Self;
    /// The first `count` of what is there, and zeros.
    unsafe fn load(start: *const Self::Element, count: usize) -> Self;
    /// Writes the first `count`.
    unsafe fn store(self, start: *mut Self::Element, count: usize);
    unsafe fn times(self, other: Self) -> Self;
    /// x·y + self.
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

/// Some columns of B: their rows lie `stride` apart, each contiguous.
#[derive(Clone, Copy)]
pub(super) struct Panel<T> {
    pub(super) start: *const T,
    pub(super) stride: isize,
    /// The first column, counted in C.
    pub(super) first: usize,
    pub(super) width: usize,
}

/// Computes the tile of C from a row on in the columns of a panel, with all rows that are left or as many as
/// a tile has.
///
/// # Safety
/// What [`Product`] says must hold, the processor have AVX-512, and the panel be of B, and of no more columns
/// than two registers hold.
#[inline(always)]
pub(super) unsafe fn tile<T: Lanes>(product: &Product<T>, panel: Panel<T>, row: usize) {
    // SAFETY: passed on.
    unsafe {
        if panel.width > T::Register::LANES {
            of_width::<T, 2>(product, panel, row);
        } else {
            of_width::<T, 1>(product, panel, row);
        }
    }
}

#[inline(always)]
unsafe fn of_width<T: Lanes, const V: usize>(product: &Product<T>, panel: Panel<T>, row: usize) {
    // SAFETY: passed on.
    unsafe {
        match product.lengths[0] - row {
            1 => of_size::<T, 1, V>(product, panel, row),
            2 => of_size::<T, 2, V>(product, panel, row),
            3 => of_size::<T, 3, V>(product, panel, row),
            4 => of_size::<T, 4, V>(product, panel, row),
            5 => of_size::<T, 5, V>(product, panel, row),
            6 => of_size::<T, 6, V>(product, panel, row),
            7 => of_size::<T, 7, V>(product, panel, row),
            _ => of_size::<T, ROWS, V>(product, panel, row),
        }
    }
}

#[inline(always)]
unsafe fn of_size<T: Lanes, const R: usize, const V: usize>(
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
    // SAFETY: the elements are C's, which are read only if they are initialised.
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
        let mut elements = [T::zero(); BYTES / 4];
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
