//! The maximum and the minimum; both are NaN if an element is NaN.
//!
//! The best elements of a lane so far are in registers by construction: the compiler makes vector code of a loop that
//! chooses elements under some profiles alone. The registers are chosen once for all lanes.

#![allow(unsafe_code, reason = "each block has its argument")]
#![allow(
    clippy::inline_always,
    clippy::needless_range_loop,
    reason = "a loop is vector code only if all of its body is in it"
)]

use std::marker::PhantomData;

use super::along::{COLUMNS, LANES, Row, WIDTH, in_halves, update};
use crate::element::{Any, Element, Family};
use crate::registers::{Kernel, Lanes, Register, widest};

/// Returns the maximum: NaN if an element is NaN, −∞ if there are no elements.
pub(super) fn max<T: Element>(x: &[T]) -> T {
    let mut largest = T::neg_infinity();
    match T::into_any::<Lane<'_>>((x, &mut largest)) {
        // SAFETY: it has no conditions, here and below.
        Any::F32((x, largest)) => unsafe { widest(OfLane(x, largest)) },
        Any::F64((x, largest)) => unsafe { widest(OfLane(x, largest)) },
    }
    largest
}

/// A lane, and room for its maximum.
struct Lane<'a>(PhantomData<&'a ()>);

impl<'a> Family for Lane<'a> {
    type Of<T: Element> = (&'a [T], &'a mut T);
}

struct OfLane<'a, T>(&'a [T], &'a mut T);

impl<T: Lanes> Kernel<T> for OfLane<'_, T> {
    #[cfg_attr(optimized, inline(always))]
    unsafe fn run<R: Register<Element = T>>(self) {
        // SAFETY: the processor has the registers.
        *self.1 = unsafe { lane_extreme::<T, R, _>(Largest, self.0) };
    }
}

/// The maximum or the minimum.
pub(super) trait Extreme: Copy + Sync {
    /// Returns the extreme of no elements.
    fn of_none<T: Element>() -> T;

    /// Returns whether an element replaces the best so far.
    fn is_better<T: Element>(x: T, best: T) -> bool;

    /// Returns the better elements of both registers, the best so far where the others are equal or NaN.
    ///
    /// # Safety
    /// The processor has the registers.
    unsafe fn better_lanes<R: Register>(best: R, x: R) -> R;
}

#[derive(Clone, Copy)]
pub(super) struct Largest;

impl Extreme for Largest {
    #[cfg_attr(optimized, inline(always))]
    fn of_none<T: Element>() -> T {
        T::neg_infinity()
    }

    #[cfg_attr(optimized, inline(always))]
    fn is_better<T: Element>(x: T, best: T) -> bool {
        x > best
    }

    #[cfg_attr(optimized, inline(always))]
    unsafe fn better_lanes<R: Register>(best: R, x: R) -> R {
        // SAFETY: as the trait requires.
        unsafe { best.larger(x) }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Smallest;

impl Extreme for Smallest {
    #[cfg_attr(optimized, inline(always))]
    fn of_none<T: Element>() -> T {
        T::infinity()
    }

    #[cfg_attr(optimized, inline(always))]
    fn is_better<T: Element>(x: T, best: T) -> bool {
        x < best
    }

    #[cfg_attr(optimized, inline(always))]
    unsafe fn better_lanes<R: Register>(best: R, x: R) -> R {
        // SAFETY: as the trait requires.
        unsafe { best.smaller(x) }
    }
}

/// Returns the better of two elements, the best so far if the other is NaN.
#[cfg_attr(optimized, inline(always))]
fn better<T: Element, E: Extreme>(best: T, x: T) -> T {
    if E::is_better(x, best) { x } else { best }
}

/// Returns the better of two elements. No comparison with NaN is true, so NaN stays once it is found.
#[cfg_attr(optimized, inline(always))]
fn choose<T: Element, E: Extreme>(best: T, x: T) -> T {
    let better = better::<T, E>(best, x);
    if x.is_nan() { x } else { better }
}

/// Returns the extreme of the elements of a lane.
///
/// # Safety
/// The processor has the registers.
#[cfg_attr(optimized, inline(always))]
pub(super) unsafe fn lane_extreme<T: Element, R: Register<Element = T>, E: Extreme>(
    _: E,
    x: &[T],
) -> T {
    // SAFETY: as this function requires.
    unsafe { best_of::<T, R, E, true>(x) }
}

/// Returns the largest of the elements that are not NaN; −∞ if there are none.
///
/// # Safety
/// The processor has the registers.
#[cfg_attr(optimized, inline(always))]
pub(super) unsafe fn largest_number<T: Element, R: Register<Element = T>>(x: &[T]) -> T {
    // SAFETY: as this function requires.
    unsafe { best_of::<T, R, Largest, false>(x) }
}

/// Returns the best element of a lane, which is NaN if one is, if that matters. As many elements are compared side by
/// side in small registers as in large ones: of zeros of both signs, the result is the same.
#[cfg_attr(optimized, inline(always))]
unsafe fn best_of<T: Element, R: Register<Element = T>, E: Extreme, const NAN: bool>(x: &[T]) -> T {
    if x.len() < WIDTH {
        let best = x.iter().copied().fold(E::of_none(), better::<T, E>);
        let has_nan = NAN && x.iter().any(|x| x.is_nan());
        return if has_nan { T::nan() } else { best };
    }
    // SAFETY: the lane has the elements of the registers: `WIDTH`, or `LANES`.
    unsafe {
        if x.len() >= LANES {
            // Constants, so that no code is made for numbers of registers that these registers never need.
            if const { R::LANES == 16 } {
                side_by_side::<T, R, E, NAN, { LANES / 16 }>(x)
            } else if const { R::LANES == 8 } {
                side_by_side::<T, R, E, NAN, { LANES / 8 }>(x)
            } else if const { R::LANES == 4 } {
                side_by_side::<T, R, E, NAN, { LANES / 4 }>(x)
            } else {
                side_by_side::<T, R, E, NAN, { LANES / 2 }>(x)
            }
        } else if const { R::LANES == 16 } {
            side_by_side::<T, R, E, NAN, { WIDTH / 16 }>(x)
        } else if const { R::LANES == 8 } {
            side_by_side::<T, R, E, NAN, { WIDTH / 8 }>(x)
        } else if const { R::LANES == 4 } {
            side_by_side::<T, R, E, NAN, { WIDTH / 4 }>(x)
        } else {
            side_by_side::<T, R, E, NAN, { WIDTH / 2 }>(x)
        }
    }
}

/// Returns the best element, of a lane of which `C` registers are compared at a time. The last ones end where the lane
/// ends, whether or not some of their elements were compared before.
///
/// # Safety
/// The processor has the registers, and the lane as many elements as `C` of them.
#[cfg_attr(optimized, inline(always))]
unsafe fn side_by_side<
    T: Element,
    R: Register<Element = T>,
    E: Extreme,
    const NAN: bool,
    const C: usize,
>(
    x: &[T],
) -> T {
    let step = C * R::LANES;
    let last = x.len() - step;
    let mut best = [unsafe { R::all(E::of_none()) }; C];
    let mut has_nan = false;
    let mut start = 0;
    loop {
        let mut lanes = best;
        for c in 0..C {
            // SAFETY: `start` is at least a step before the end of the lane; the processor has the registers, here and
            // below.
            lanes[c] = unsafe { R::load(x.as_ptr().add(start + c * R::LANES)) };
            best[c] = unsafe { E::better_lanes(best[c], lanes[c]) };
        }
        if NAN {
            // One comparison tests two registers.
            for c in 0..C.div_ceil(2) {
                has_nan |= unsafe { lanes[c].has_nan(lanes[C / 2 + c]) };
            }
        }
        if start == last {
            break;
        }
        start = (start + step).min(last);
    }
    if has_nan {
        return T::nan();
    }
    // A copy: registers whose index is not a constant are in memory.
    let mut halves = best;
    let mut count = C;
    while count > 1 {
        count /= 2;
        for c in 0..count {
            halves[c] = unsafe { E::better_lanes(halves[c], halves[count + c]) };
        }
    }
    let mut lanes = [E::of_none(); WIDTH];
    // SAFETY: a register has at most `WIDTH` elements.
    unsafe { halves[0].store(lanes.as_mut_ptr()) };
    in_halves(&mut lanes[..R::LANES], better::<T, E>)
}

/// Returns the extreme of each column, of rows of this width.
#[cfg_attr(optimized, inline(always))]
pub(super) fn column_extreme<T: Element, E: Extreme>(_: E, x: &[T], width: usize) -> Row<T> {
    let mut best = [E::of_none::<T>(); COLUMNS];
    for x in x.chunks_exact(width) {
        update(&mut best[..width], x, choose::<T, E>);
    }
    best
}

/// Returns the index of the first element that is the extreme: equal to it, or NaN.
#[cfg_attr(optimized, inline(always))]
pub(super) fn first<T: Element>(x: &[T], extreme: T) -> Option<usize> {
    if extreme.is_nan() {
        return x.iter().position(|x| x.is_nan());
    }
    let (chunks, _) = x.as_chunks::<LANES>();
    // No branch within a chunk.
    let has_it = |chunk: &[T; LANES]| {
        let mut has_it = false;
        for lane in 0..LANES {
            has_it |= chunk[lane] == extreme;
        }
        has_it
    };
    let before = LANES * chunks.iter().take_while(|chunk| !has_it(chunk)).count();
    let here = x[before..].iter().position(|&x| x == extreme)?;
    Some(before + here)
}

/// Returns the index of the first element of each column that is the extreme: equal to it, or NaN.
#[cfg_attr(optimized, inline(always))]
pub(super) fn first_of_columns<T: Element>(
    x: &[T],
    extremes: &Row<T>,
    width: usize,
) -> [usize; COLUMNS] {
    let mut indices = [0; COLUMNS];
    for (row, x) in x.chunks_exact(width).enumerate().rev() {
        let columns = indices[..width].iter_mut().zip(x).zip(extremes);
        for ((index, &x), &extreme) in columns {
            *index = if x == extreme || x.is_nan() {
                row
            } else {
                *index
            };
        }
    }
    indices
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::tests::with_each_size;

    struct OfSmallest<'a, T>(&'a [T], &'a mut T);

    impl<T: Lanes> Kernel<T> for OfSmallest<'_, T> {
        unsafe fn run<R: Register<Element = T>>(self) {
            // SAFETY: the processor has the registers.
            *self.1 = unsafe { lane_extreme::<T, R, _>(Smallest, self.0) };
        }
    }

    fn min(x: &[f64]) -> f64 {
        let mut smallest = 0.0;
        // SAFETY: it has no conditions.
        unsafe { widest(OfSmallest(x, &mut smallest)) };
        smallest
    }

    #[test]
    fn the_first_of_equals_and_of_nans() {
        with_each_size(first_of_equals_and_of_nans);
    }

    fn first_of_equals_and_of_nans() {
        for length in [1, 2, 15, 16, 17, 40, 64, 65, 200] {
            for best in 0..length {
                let mut x: Vec<f64> = vec![0.0; length];
                x[best] = 1.0;
                *x.last_mut().unwrap() = 1.0;
                let largest = max(&x);
                assert_eq!((largest, first(&x, largest)), (1.0, Some(best)));
                let negative: Vec<f64> = x.iter().map(|x| -x).collect();
                let smallest = min(&negative);
                assert_eq!((smallest, first(&negative, smallest)), (-1.0, Some(best)));
                x[best] = f64::NAN;
                let [largest, smallest] = [max(&x), min(&x)];
                assert!(largest.is_nan() && smallest.is_nan());
                assert_eq!(first(&x, largest), Some(best));
            }
        }
        assert_eq!(first(&[f32::NEG_INFINITY; 3], f32::NEG_INFINITY), Some(0));
        assert_eq!(
            (max::<f32>(&[]), first::<f32>(&[], 0.0)),
            (f32::NEG_INFINITY, None)
        );
    }
}
