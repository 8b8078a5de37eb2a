//! Loops on slices, each compiled for several instruction sets; the best that the processor supports is chosen at
//! run time. Large loops run on several threads.

#![allow(
    clippy::inline_always,
    clippy::redundant_closure,
    reason = "a loop is compiled for an instruction set if it is inlined into a function that is; a closure under an \
              attribute is, and a reference to a function may not be"
)]

use std::mem::MaybeUninit;

use super::prefetch::{by_pages, prefetch_page};
use crate::element::Element;
use crate::parallel::{split_mut, worth};
#[cfg(all(target_arch = "x86_64", optimized))]
use crate::registers::has_avx512;

/// The length from which on it pays to choose a loop for the processor; one that is shorter is part of its caller, if this
/// crate is optimized.
pub(crate) const SHORT: usize = 32;

/// A loop that is inlined into its caller, and so compiled for the caller's instruction set.
///
/// The slices are arguments of a separate function, `each`: only there can the compiler assume that writing to one
/// does not change the others. A loop owns `f`, so that the compiler knows that nothing changes what `f` has captured,
/// and computes what depends on that alone before the loop: a number in double precision, converted to single in a
/// loop over single precision, would make it half as wide. A function that cannot be copied is borrowed by a
/// closure under `#[inline(always)]`; a call of `&f` is a function of the standard library, which may not be inlined.
pub(crate) trait Loop {
    fn run(self);
}

/// A loop that writes to a slice, which is an argument of the function that the loop becomes a part of. Nothing else that
/// the loop reads changes then, as the compiler knows: neither inputs nor tables of constants.
pub(crate) trait LoopInto<U> {
    fn run_into(self, out: &mut [U]);
}

impl<L: Loop> LoopInto<()> for L {
    #[cfg_attr(optimized, inline(always))]
    fn run_into(self, _out: &mut [()]) {
        self.run();
    }
}

/// `out[i] = f(x[i])`
struct Map<'a, T, U, F>(&'a [T], &'a mut [MaybeUninit<U>], F);

impl<T: Copy, U, F: Fn(T) -> U> Loop for Map<'_, T, U, F> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        #[cfg_attr(optimized, inline(always))]
        fn each<T: Copy, U>(x: &[T], out: &mut [MaybeUninit<U>], f: &impl Fn(T) -> U) {
            for (out, &x) in out.iter_mut().zip(x) {
                *out = MaybeUninit::new(f(x));
            }
        }
        each(self.0, self.1, &self.2);
    }
}

/// `out[i] = f(x[i], y[i])`
struct Zip<'a, T, U, V, F>(&'a [T], &'a [U], &'a mut [MaybeUninit<V>], F);

impl<T: Copy, U: Copy, V, F: Fn(T, U) -> V> Loop for Zip<'_, T, U, V, F> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        #[cfg_attr(optimized, inline(always))]
        fn each<T: Copy, U: Copy, V>(
            x: &[T],
            y: &[U],
            out: &mut [MaybeUninit<V>],
            f: &impl Fn(T, U) -> V,
        ) {
            for ((out, &x), &y) in out.iter_mut().zip(x).zip(y) {
                *out = MaybeUninit::new(f(x, y));
            }
        }
        each(self.0, self.1, self.2, &self.3);
    }
}

/// `x[i] = f(x[i])`
struct MapInPlace<'a, T, F>(&'a mut [T], F);

impl<T: Copy, F: Fn(T) -> T> Loop for MapInPlace<'_, T, F> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        #[cfg_attr(optimized, inline(always))]
        fn each<T: Copy>(x: &mut [T], f: &impl Fn(T) -> T) {
            for x in x {
                *x = f(*x);
            }
        }
        each(self.0, &self.1);
    }
}

/// `x[i] = f(x[i], y[i])`
struct ZipInPlace<'a, T, U, F>(&'a mut [T], &'a [U], F);

impl<T: Copy, U: Copy, F: Fn(T, U) -> T> Loop for ZipInPlace<'_, T, U, F> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        #[cfg_attr(optimized, inline(always))]
        fn each<T: Copy, U: Copy>(x: &mut [T], y: &[U], f: &impl Fn(T, U) -> T) {
            for (x, &y) in x.iter_mut().zip(y) {
                *x = f(*x, y);
            }
        }
        each(self.0, self.1, &self.2);
    }
}

/// Writes `f` of each element to `out`.
#[inline]
pub(crate) fn map_into<T: Copy + Sync, U: Send>(
    x: &[T],
    out: &mut [MaybeUninit<U>],
    f: impl Fn(T) -> U + Copy + Sync,
) {
    assert_eq!(x.len(), out.len(), "one element for each");
    #[cfg(optimized)]
    if x.len() < SHORT {
        return Map(x, out, f).run();
    }
    split_mut(out, 1, worth::LOOP, |first, out| {
        by_pages(first, out, |range, out| {
            prefetch_page(&x[range.end..]);
            compiled(Map(&x[range], out, f));
        });
    });
}

/// [`map_into`] on this thread.
#[inline]
pub(crate) fn map_here<T: Copy, U>(x: &[T], out: &mut [MaybeUninit<U>], f: impl Fn(T) -> U + Copy) {
    assert_eq!(x.len(), out.len(), "one element for each");
    #[cfg(optimized)]
    if x.len() < SHORT {
        return Map(x, out, f).run();
    }
    compiled(Map(x, out, f));
}

/// Writes `f` of the elements of both to `out`.
#[inline]
pub(crate) fn zip_into<T: Copy + Sync, U: Copy + Sync, V: Send>(
    x: &[T],
    y: &[U],
    out: &mut [MaybeUninit<V>],
    f: impl Fn(T, U) -> V + Copy + Sync,
) {
    assert!(
        x.len() == out.len() && y.len() == out.len(),
        "one element for each"
    );
    #[cfg(optimized)]
    if x.len() < SHORT {
        return Zip(x, y, out, f).run();
    }
    split_mut(out, 1, worth::LOOP, |first, out| {
        by_pages(first, out, |range, out| {
            prefetch_page(&x[range.end..]);
            prefetch_page(&y[range.end..]);
            compiled(Zip(&x[range.clone()], &y[range], out, f));
        });
    });
}

/// [`zip_into`] on this thread.
#[inline]
pub(crate) fn zip_here<T: Copy, U: Copy, V>(
    x: &[T],
    y: &[U],
    out: &mut [MaybeUninit<V>],
    f: impl Fn(T, U) -> V + Copy,
) {
    assert!(
        x.len() == out.len() && y.len() == out.len(),
        "one element for each"
    );
    #[cfg(optimized)]
    if x.len() < SHORT {
        return Zip(x, y, out, f).run();
    }
    compiled(Zip(x, y, out, f));
}

/// Replaces each element by `f` of it.
#[inline]
pub fn map_in_place<T: Copy + Send + Sync>(x: &mut [T], f: impl Fn(T) -> T + Sync) {
    #[cfg(optimized)]
    if x.len() < SHORT {
        return MapInPlace(x, &f).run();
    }
    split_mut(x, 1, worth::LOOP, |first, x| {
        by_pages(first, x, |_, x| compiled(MapInPlace(x, &f)));
    });
}

/// Replaces each element by `f` of it and the element of `y` at its index.
///
/// # Panics
/// If the lengths differ.
///
/// ```
/// use pullback::kernels::zip_in_place;
///
/// let mut x = [1.0, 2.0];
/// zip_in_place(&mut x, &[10.0, 20.0], |x, y| x + y);
/// assert_eq!(x, [11.0, 22.0]);
/// ```
#[inline]
#[track_caller]
pub fn zip_in_place<T: Copy + Send, U: Copy + Sync>(
    x: &mut [T],
    y: &[U],
    f: impl Fn(T, U) -> T + Sync,
) {
    zip_in_place_by(
        x,
        y,
        #[cfg_attr(optimized, inline(always))]
        |x, y| f(x, y),
    );
}

/// [`zip_in_place`] with a function that the loop can own.
#[inline]
#[track_caller]
fn zip_in_place_by<T: Copy + Send, U: Copy + Sync>(
    x: &mut [T],
    y: &[U],
    f: impl Fn(T, U) -> T + Copy + Sync,
) {
    assert!(
        x.len() == y.len(),
        "slices of one length are needed, found {} and {}",
        x.len(),
        y.len()
    );
    #[cfg(optimized)]
    if x.len() < SHORT {
        return ZipInPlace(x, y, f).run();
    }
    split_mut(x, 1, worth::LOOP, |first, x| {
        by_pages(first, x, |range, x| {
            prefetch_page(&y[range.end..]);
            compiled(ZipInPlace(x, &y[range], f));
        });
    });
}

/// [`zip_in_place`] on this thread, with a function that the loop can own.
#[inline]
pub(crate) fn zip_in_place_here<T: Copy, U: Copy>(
    x: &mut [T],
    y: &[U],
    f: impl Fn(T, U) -> T + Copy,
) {
    assert_eq!(x.len(), y.len(), "one element for each");
    #[cfg(optimized)]
    if x.len() < SHORT {
        return ZipInPlace(x, y, f).run();
    }
    compiled(ZipInPlace(x, y, f));
}

/// Runs a loop with the widest registers that the processor has, in a function of its own.
#[cfg_attr(optimized, inline(always))]
pub(crate) fn compiled(work: impl Loop) {
    compiled_beside::<(), _>(work, &mut []);
}

/// [`compiled`], as code of the module of `F`, a formula.
#[cfg_attr(optimized, inline(always))]
pub(crate) fn compiled_beside<F, U>(work: impl LoopInto<U>, out: &mut [U]) {
    <[F; 0]>::compiled(work, out);
}

/// Runs a loop with the registers that every processor has, in a function of its own, as code of the module of `F`.
#[cfg_attr(optimized, inline(always))]
pub(crate) fn baseline_beside<F, U>(work: impl LoopInto<U>, out: &mut [U]) {
    <[F; 0]>::baseline(work, out);
}

/// Runs a loop with the widest registers that the processor has.
#[cfg_attr(optimized, inline(always))]
pub(crate) fn widest(work: impl Loop) {
    widest_beside::<(), _>(work, &mut []);
}

/// [`widest`], as code of the module of `F`, if this crate is compiled for speed: without optimization that would only be
/// three copies of slow code.
#[cfg_attr(optimized, inline(always))]
fn widest_beside<F, U>(work: impl LoopInto<U>, out: &mut [U]) {
    #[cfg(all(target_arch = "x86_64", optimized))]
    {
        if has_avx512() {
            // SAFETY: the processor has what the function is compiled for, as was just checked.
            #[expect(unsafe_code, reason = "see above")]
            return unsafe { <[F; 0]>::avx512(work, out) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            #[expect(unsafe_code, reason = "see above")]
            return unsafe { <[F; 0]>::avx2(work, out) };
        }
        <[F; 0]>::baseline(work, out);
    }
    #[cfg(not(all(target_arch = "x86_64", optimized)))]
    work.run_into(out);
}

/// Functions that a loop is inlined into. Not inlined themselves: without optimization, the stack of a function has room
/// for all that is inlined into it.
///
/// For arrays of `F`, as rustc puts methods in the module of the type that an array is of, and generic functions in the
/// module that defines them. Modules are what it compiles at the same time, and the loops of all formulas of a program
/// are most of its code: in this module they are one part of it, which takes as long as on one processor.
trait Placed {
    fn compiled<U>(work: impl LoopInto<U>, out: &mut [U]);
    fn baseline<U>(work: impl LoopInto<U>, out: &mut [U]);
    /// # Safety
    /// The processor has AVX2.
    #[cfg(all(target_arch = "x86_64", optimized))]
    #[expect(
        unsafe_code,
        reason = "methods of traits cannot be safe for an instruction set"
    )]
    unsafe fn avx2<U>(work: impl LoopInto<U>, out: &mut [U]);
    /// # Safety
    /// The processor has AVX-512.
    #[cfg(all(target_arch = "x86_64", optimized))]
    #[expect(unsafe_code, reason = "as above")]
    unsafe fn avx512<U>(work: impl LoopInto<U>, out: &mut [U]);
}

impl<F> Placed for [F; 0] {
    #[inline(never)]
    fn compiled<U>(work: impl LoopInto<U>, out: &mut [U]) {
        widest_beside::<F, _>(work, out);
    }

    #[inline(never)]
    fn baseline<U>(work: impl LoopInto<U>, out: &mut [U]) {
        work.run_into(out);
    }

    #[cfg(all(target_arch = "x86_64", optimized))]
    #[target_feature(enable = "avx2")]
    #[expect(
        unsafe_code,
        reason = "methods of traits cannot be safe for an instruction set"
    )]
    unsafe fn avx2<U>(work: impl LoopInto<U>, out: &mut [U]) {
        work.run_into(out);
    }

    #[cfg(all(target_arch = "x86_64", optimized))]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    #[expect(unsafe_code, reason = "as above")]
    unsafe fn avx512<U>(work: impl LoopInto<U>, out: &mut [U]) {
        work.run_into(out);
    }
}

/// Returns elements that were written.
///
/// # Safety
/// All of them were.
#[expect(unsafe_code, reason = "the block has its argument")]
#[cfg_attr(optimized, inline(always))]
pub(super) unsafe fn written<T>(out: &mut [MaybeUninit<T>]) -> &mut [T] {
    // SAFETY: as the caller promises; an element has the layout of its `MaybeUninit`.
    unsafe { &mut *(std::ptr::from_mut(out) as *mut [T]) }
}

/// Copies elements, and returns the copies.
///
/// # Panics
/// If the lengths differ.
#[inline]
pub(crate) fn copied<'a, T: Copy>(x: &[T], out: &'a mut [MaybeUninit<T>]) -> &'a mut [T] {
    assert_eq!(x.len(), out.len(), "one element for each");
    // SAFETY: both have as many elements, what is written to is borrowed alone, and all of it is written.
    #[expect(unsafe_code, reason = "see above")]
    unsafe {
        std::ptr::copy_nonoverlapping(x.as_ptr(), out.as_mut_ptr().cast(), x.len());
        written(out)
    }
}

/// Writes one value to all elements, and returns them.
#[inline]
pub(crate) fn set<T: Copy>(value: T, out: &mut [MaybeUninit<T>]) -> &mut [T] {
    out.fill(MaybeUninit::new(value));
    // SAFETY: all of it is written.
    #[expect(unsafe_code, reason = "see above")]
    unsafe {
        written(out)
    }
}

/// Returns the sum of the lanes of a vector register, by halves.
#[cfg_attr(optimized, inline(always))]
pub(crate) fn sum_of_lanes<T: Element, const LANES: usize>(mut lanes: [T; LANES]) -> T {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
        width /= 2;
    }
    lanes[0]
}
