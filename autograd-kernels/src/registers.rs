//! Vector registers, for kernels whose sums must stay in them.
//!
//! Loops over slices are compiled for the processor by `loops::wide`, without intrinsics. A kernel that reuses each
//! element that it reads needs more: it is written for any [`Register`], and [`widest`] runs it with the largest that
//! the processor has.

#![allow(unsafe_code, reason = "each block has its argument")]
#![allow(
    clippy::inline_always,
    reason = "a kernel is compiled for a processor's instructions if it is inlined into a function that is"
)]
#![cfg_attr(
    not(all(feature = "ops", target_arch = "x86_64")),
    allow(
        dead_code,
        reason = "products of matrices use only the largest registers, and other processors not all of them"
    )
)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::ops::Range;

use crate::element::Element;

/// A register of elements.
///
/// The functions may be called only where the processor has its instructions. Pointers must be valid for the lanes that
/// are read or written. They are where lane 0 would be, and need not be aligned.
pub(crate) trait Register: Copy {
    type Element: Element;
    const LANES: usize;
    /// The number of registers of the processor.
    const COUNT: usize;

    unsafe fn zeros() -> Self;
    unsafe fn all(element: Self::Element) -> Self;
    unsafe fn load(start: *const Self::Element) -> Self;
    /// Loads some lanes, or none; the others are zeros.
    unsafe fn load_lanes(start: *const Self::Element, lanes: Range<usize>) -> Self;
    unsafe fn store(self, start: *mut Self::Element);
    /// Writes some lanes, or none.
    unsafe fn store_lanes(self, start: *mut Self::Element, lanes: Range<usize>);
    unsafe fn times(self, other: Self) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    /// Returns x·y + self, in one rounding on every processor: the sums of a kernel have the same bits with registers
    /// of any size. An x86 processor without AVX2 has no instruction for it; there a function computes it slowly.
    unsafe fn plus(self, x: Self, y: Self) -> Self;
    /// Returns the larger elements of both, those of `self` where they are equal or one is NaN.
    unsafe fn larger(self, other: Self) -> Self;
    /// Returns the smaller elements of both, those of `self` where they are equal or one is NaN.
    unsafe fn smaller(self, other: Self) -> Self;
    /// Returns whether an element of either is NaN.
    unsafe fn has_nan(self, other: Self) -> bool;
    /// Returns every other lane, of both from the first on.
    unsafe fn evens(self, other: Self) -> Self;
}

/// Element types that have registers.
pub(crate) trait Lanes: Element {
    #[cfg(target_arch = "x86_64")]
    type Avx512: Register<Element = Self>;
    #[cfg(target_arch = "x86_64")]
    type Avx2: Register<Element = Self>;
    /// 16 bytes of elements, on any processor.
    type Plain: Register<Element = Self>;
}

impl Lanes for f32 {
    #[cfg(target_arch = "x86_64")]
    type Avx512 = __m512;
    #[cfg(target_arch = "x86_64")]
    type Avx2 = __m256;
    type Plain = Plain<Self, 4>;
}

impl Lanes for f64 {
    #[cfg(target_arch = "x86_64")]
    type Avx512 = __m512d;
    #[cfg(target_arch = "x86_64")]
    type Avx2 = __m256d;
    type Plain = Plain<Self, 2>;
}

/// A kernel for any register. It is inlined into a function that is compiled for the processor.
pub(crate) trait Kernel<T> {
    /// # Safety
    /// The processor must have the registers, and the kernel's own conditions must hold.
    unsafe fn run<R: Register<Element = T>>(self);
}

/// Runs a kernel with the widest registers that the processor has.
///
/// # Safety
/// The kernel's own conditions must hold.
#[inline]
pub(crate) unsafe fn widest<T: Lanes>(kernel: impl Kernel<T>) {
    // SAFETY: the processor has what the functions are compiled for, as is checked; the rest is passed on.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        {
            if most() >= 64 && has_avx512() {
                return avx512(kernel);
            }
            let is_there = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            if most() >= 32 && is_there {
                return avx2(kernel);
            }
        }
        kernel.run::<T::Plain>();
    }
}

/// Returns the size in bytes of the largest registers to use.
#[cfg(target_arch = "x86_64")]
fn most() -> usize {
    #[cfg(test)]
    return tests::MOST.get();
    #[cfg(not(test))]
    64
}

/// Returns whether the processor has the instructions for registers of 64 bytes that loops are compiled for.
#[cfg(target_arch = "x86_64")]
#[cfg_attr(optimized, inline(always))]
pub(crate) fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn avx512<T: Lanes>(kernel: impl Kernel<T>) {
    // SAFETY: passed on.
    unsafe { kernel.run::<T::Avx512>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<T: Lanes>(kernel: impl Kernel<T>) {
    // SAFETY: passed on.
    unsafe { kernel.run::<T::Avx2>() }
}

/// Returns an array of registers in memory, whose indices may be variables. The compiler would keep the array in memory
/// from its first use on, so what a loop sums into is a separate one.
#[cfg_attr(optimized, inline(always))]
pub(crate) fn in_memory<R: Register, const N: usize, const C: usize>(
    sums: &[[R; C]; N],
) -> [[R; C]; N] {
    let mut copy = [[sums[0][0]; C]; N];
    for n in 0..N {
        for c in 0..C {
            copy[n][c] = sums[n][c];
        }
    }
    copy
}

/// A register of any processor, as an array that the compiler keeps in one.
#[derive(Clone, Copy)]
pub(crate) struct Plain<T, const N: usize>([T; N]);

impl<T: Element, const N: usize> Register for Plain<T, N> {
    type Element = T;
    const LANES: usize = N;
    const COUNT: usize = if cfg!(target_arch = "aarch64") {
        32
    } else {
        16
    };

    #[cfg_attr(optimized, inline(always))]
    unsafe fn zeros() -> Self {
        Self([T::zero(); N])
    }

    #[cfg_attr(optimized, inline(always))]
    unsafe fn all(element: T) -> Self {
        Self([element; N])
    }

    #[cfg_attr(optimized, inline(always))]
    unsafe fn load(start: *const T) -> Self {
        // SAFETY: as the trait requires, here and below.
        Self(unsafe { start.cast::<[T; N]>().read_unaligned() })
    }

    #[cfg_attr(optimized, inline(always))]
    unsafe fn load_lanes(start: *const T, lanes: Range<usize>) -> Self {
        let mut elements = [T::zero(); N];
        for lane in lanes {
            elements[lane] = unsafe { *start.wrapping_add(lane) };
        }
        Self(elements)
    }

    #[cfg_attr(optimized, inline(always))]
    unsafe fn store(self, start: *mut T) {
        unsafe { start.cast::<[T; N]>().write_unaligned(self.0) }
    }

    #[cfg_attr(optimized, inline(always))]
    unsafe fn store_lanes(self, start: *mut T, lanes: Range<usize>) {
        for lane in lanes {
            unsafe { start.wrapping_add(lane).write(self.0[lane]) }
        }
    }

    #[cfg_attr(optimized, inline(always))]
    unsafe fn times(mut self, other: Self) -> Self {
        for lane in 0..N {
            self.0[lane] *= other.0[lane];
        }
        self
    }

    #[cfg_attr(optimized, inline(always))]
    unsafe fn add(mut self, other: Self) -> Self {
        for lane in 0..N {
            self.0[lane] += other.0[lane];
        }
        self
    }

    #[cfg_attr(optimized, inline(always))]
    unsafe fn plus(mut self, x: Self, y: Self) -> Self {
        for lane in 0..N {
            self.0[lane] = x.0[lane].mul_add(y.0[lane], self.0[lane]);
        }
        self
    }

    #[cfg_attr(optimized, inline(always))]
    unsafe fn larger(mut self, other: Self) -> Self {
        for lane in 0..N {
            let (x, y) = (self.0[lane], other.0[lane]);
            self.0[lane] = if y > x { y } else { x };
        }
        self
    }

    #[cfg_attr(optimized, inline(always))]
    unsafe fn smaller(mut self, other: Self) -> Self {
        for lane in 0..N {
            let (x, y) = (self.0[lane], other.0[lane]);
            self.0[lane] = if y < x { y } else { x };
        }
        self
    }

    #[cfg_attr(optimized, inline(always))]
    unsafe fn has_nan(self, other: Self) -> bool {
        let mut found = false;
        for lane in 0..N {
            found |= self.0[lane].is_nan() | other.0[lane].is_nan();
        }
        found
    }

    #[cfg_attr(optimized, inline(always))]
    unsafe fn evens(self, other: Self) -> Self {
        let mut evens = self;
        for lane in 0..N {
            let from = if lane < N / 2 { self } else { other };
            evens.0[lane] = from.0[2 * lane % N];
        }
        evens
    }
}

#[cfg(target_arch = "x86_64")]
macro_rules! register {
    (
        $Register:ty, $T:ty, $count:literal,
        $zeros:ident $all:ident $load:ident $store:ident $times:ident $add:ident $plus:ident $max:ident $min:ident,
        |$lanes:ident| $mask:expr,
        |$from:ident, $of:ident| $load_lanes:expr,
        |$to:ident, $by:ident, $value:ident| $store_lanes:expr,
        |$x:ident, $y:ident| $has_nan:expr,
        |$first:ident, $second:ident| $evens:expr $(,)?
    ) => {
        impl Register for $Register {
            type Element = $T;
            const LANES: usize = size_of::<Self>() / size_of::<$T>();
            const COUNT: usize = $count;

            #[cfg_attr(optimized, inline(always))]
            unsafe fn zeros() -> Self {
                // SAFETY: the processor has the instructions, here and below.
                unsafe { $zeros() }
            }

            #[cfg_attr(optimized, inline(always))]
            unsafe fn all(element: $T) -> Self {
                unsafe { $all(element) }
            }

            #[cfg_attr(optimized, inline(always))]
            unsafe fn load(start: *const $T) -> Self {
                unsafe { $load(start) }
            }

            #[cfg_attr(optimized, inline(always))]
            unsafe fn load_lanes($from: *const $T, $lanes: Range<usize>) -> Self {
                // SAFETY: lanes that are masked are not touched, here and in `store_lanes`.
                unsafe {
                    let $of = $mask;
                    $load_lanes
                }
            }

            #[cfg_attr(optimized, inline(always))]
            unsafe fn store(self, start: *mut $T) {
                unsafe { $store(start, self) }
            }

            #[cfg_attr(optimized, inline(always))]
            unsafe fn store_lanes(self, $to: *mut $T, $lanes: Range<usize>) {
                unsafe {
                    let ($by, $value) = ($mask, self);
                    $store_lanes
                }
            }

            #[cfg_attr(optimized, inline(always))]
            unsafe fn times(self, other: Self) -> Self {
                unsafe { $times(self, other) }
            }

            #[cfg_attr(optimized, inline(always))]
            unsafe fn add(self, other: Self) -> Self {
                unsafe { $add(self, other) }
            }

            #[cfg_attr(optimized, inline(always))]
            unsafe fn plus(self, x: Self, y: Self) -> Self {
                unsafe { $plus(x, y, self) }
            }

            // The instructions return the second argument where they do not return the first.
            #[cfg_attr(optimized, inline(always))]
            unsafe fn larger(self, other: Self) -> Self {
                unsafe { $max(other, self) }
            }

            #[cfg_attr(optimized, inline(always))]
            unsafe fn smaller(self, other: Self) -> Self {
                unsafe { $min(other, self) }
            }

            #[cfg_attr(optimized, inline(always))]
            unsafe fn has_nan(self, other: Self) -> bool {
                let ($x, $y) = (self, other);
                unsafe { $has_nan }
            }

            #[cfg_attr(optimized, inline(always))]
            unsafe fn evens(self, other: Self) -> Self {
                let ($first, $second) = (self, other);
                unsafe { $evens }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
register!(
    __m512, f32, 32,
    _mm512_setzero_ps _mm512_set1_ps _mm512_loadu_ps _mm512_storeu_ps _mm512_mul_ps _mm512_add_ps _mm512_fmadd_ps
    _mm512_max_ps _mm512_min_ps,
    |lanes| mask_of_16(lanes),
    |from, mask| _mm512_maskz_loadu_ps(mask, from),
    |to, mask, value| _mm512_mask_storeu_ps(to, mask, value),
    |x, y| _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, y) != 0,
    |a, b| {
        let evens = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        _mm512_permutex2var_ps(a, evens, b)
    },
);

#[cfg(target_arch = "x86_64")]
register!(
    __m512d, f64, 32,
    _mm512_setzero_pd _mm512_set1_pd _mm512_loadu_pd _mm512_storeu_pd _mm512_mul_pd _mm512_add_pd _mm512_fmadd_pd
    _mm512_max_pd _mm512_min_pd,
    |lanes| mask_of_16(lanes).to_le_bytes()[0],
    |from, mask| _mm512_maskz_loadu_pd(mask, from),
    |to, mask, value| _mm512_mask_storeu_pd(to, mask, value),
    |x, y| _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(x, y) != 0,
    |a, b| _mm512_permutex2var_pd(a, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), b),
);

#[cfg(target_arch = "x86_64")]
register!(
    __m256, f32, 16,
    _mm256_setzero_ps _mm256_set1_ps _mm256_loadu_ps _mm256_storeu_ps _mm256_mul_ps _mm256_add_ps _mm256_fmadd_ps
    _mm256_max_ps _mm256_min_ps,
    |lanes| mask_of_8(lanes),
    |from, mask| _mm256_maskload_ps(from, mask),
    |to, mask, value| _mm256_maskstore_ps(to, mask, value),
    |x, y| _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_UNORD_Q>(x, y)) != 0,
    |a, b| {
        // Of each half of both; the halves are then put in order.
        let halves = _mm256_castps_pd(_mm256_shuffle_ps::<0b10_00_10_00>(a, b));
        _mm256_castpd_ps(_mm256_permute4x64_pd::<0b11_01_10_00>(halves))
    },
);

#[cfg(target_arch = "x86_64")]
register!(
    __m256d, f64, 16,
    _mm256_setzero_pd _mm256_set1_pd _mm256_loadu_pd _mm256_storeu_pd _mm256_mul_pd _mm256_add_pd _mm256_fmadd_pd
    _mm256_max_pd _mm256_min_pd,
    |lanes| mask_of_4(lanes),
    |from, mask| _mm256_maskload_pd(from, mask),
    |to, mask, value| _mm256_maskstore_pd(to, mask, value),
    |x, y| _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_UNORD_Q>(x, y)) != 0,
    |a, b| _mm256_permute4x64_pd::<0b11_01_10_00>(_mm256_unpacklo_pd(a, b)),
);

/// Returns a mask of some of 16 lanes.
#[cfg(target_arch = "x86_64")]
#[cfg_attr(optimized, inline(always))]
fn mask_of_16(lanes: Range<usize>) -> u16 {
    let [low, high, ..] = ((1_u32 << lanes.end) - (1_u32 << lanes.start)).to_le_bytes();
    u16::from_le_bytes([low, high])
}

/// Returns a mask of some of 8 lanes.
#[cfg(target_arch = "x86_64")]
#[cfg_attr(optimized, inline(always))]
unsafe fn mask_of_8(lanes: Range<usize>) -> __m256i {
    let mask: [i32; 8] = std::array::from_fn(|lane| -i32::from(lanes.contains(&lane)));
    // SAFETY: as many bytes, of which each is valid.
    unsafe { std::mem::transmute(mask) }
}

/// Returns a mask of some of 4 lanes.
#[cfg(target_arch = "x86_64")]
#[cfg_attr(optimized, inline(always))]
unsafe fn mask_of_4(lanes: Range<usize>) -> __m256i {
    let mask: [i64; 4] = std::array::from_fn(|lane| -i64::from(lanes.contains(&lane)));
    // SAFETY: as many bytes, of which each is valid.
    unsafe { std::mem::transmute(mask) }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        pub(super) static MOST: Cell<usize> = const { Cell::new(64) };
    }

    /// Returns what `run` returns with registers of each size that the processor has, on this thread.
    pub(crate) fn with_each_size<T>(run: impl Fn() -> T) -> [T; 3] {
        [16, 32, 64].map(|size| {
            MOST.set(size);
            run()
        })
    }

    /// Writes to `out` what the functions of a register return.
    struct All<'a, T>(&'a mut Vec<Vec<T>>);

    impl<T: Lanes> Kernel<T> for All<'_, T> {
        unsafe fn run<R: Register<Element = T>>(self) {
            let x: Vec<T> = (1..=32).map(|x| T::from_f64(f64::from(x))).collect();
            let mut elements = |register: R| {
                let mut elements = vec![T::zero(); R::LANES];
                // SAFETY: as many elements as lanes, here and below.
                unsafe { register.store(elements.as_mut_ptr()) };
                self.0.push(elements);
            };
            unsafe {
                let [first, second] = [0, R::LANES].map(|at| R::load(x[at..].as_ptr()));
                elements(first);
                elements(first.add(second));
                elements(first.times(second));
                elements(first.plus(second, second));
                elements(first.evens(second));
                elements(first.larger(R::all(x[2])));
                elements(first.smaller(R::all(x[2])));
                let nan = R::all(T::nan());
                elements(first.larger(nan));
                elements(first.smaller(nan));
                let has_nan = [
                    first.has_nan(second),
                    nan.has_nan(first),
                    first.has_nan(nan),
                ];
                assert_eq!(has_nan, [false, true, true]);
                elements(R::all(x[2]));
                elements(R::load_lanes(x.as_ptr(), 1..R::LANES - 1));
                let mut some = R::LANES;
                while some > 0 {
                    let mut elements = vec![T::zero(); R::LANES];
                    first.store_lanes(elements.as_mut_ptr(), some / 2..some);
                    self.0.push(elements);
                    some -= 1;
                }
            }
        }
    }

    fn registers_compute_what_they_say<T: Lanes>() {
        with_each_size(|| {
            let mut found = Vec::new();
            // SAFETY: it has no conditions.
            unsafe { widest::<T>(All(&mut found)) };
            let lanes = found[0].len();
            let row = |f: &dyn Fn(f64) -> f64| -> Vec<T> {
                (1..=lanes).map(|x| T::from_f64(f(x as f64))).collect()
            };
            let next = |x: f64| x + lanes as f64;
            let is_in =
                |x: f64, range: Range<usize>| (range.start as f64) < x && x <= range.end as f64;
            let mut expected = vec![
                row(&|x| x),
                row(&|x| x + next(x)),
                row(&|x| x * next(x)),
                row(&|x| x + next(x) * next(x)),
                row(&|x| 2.0 * x - 1.0),
                row(&|x| x.max(3.0)),
                row(&|x| x.min(3.0)),
                row(&|x| x),
                row(&|x| x),
                row(&|_| 3.0),
                row(&|x| if is_in(x, 1..lanes - 1) { x } else { 0.0 }),
            ];
            for some in (1..=lanes).rev() {
                expected.push(row(&|x| if is_in(x, some / 2..some) { x } else { 0.0 }));
            }
            assert_eq!(found, expected);
        });
    }

    #[test]
    fn registers_of_f32_and_f64_compute_what_they_say() {
        registers_compute_what_they_say::<f32>();
        registers_compute_what_they_say::<f64>();
    }
}
