//! The maximum and the minimum; both are NaN if an element is NaN.

#![allow(
    clippy::inline_always,
    clippy::needless_range_loop,
    reason = "a loop is vector code only if all of its body is in it"
)]

use super::along::{COLUMNS, LANES, Row, WIDTH, in_halves, update};
use super::wide::{Loop, widest};
use crate::element::Element;

/// Returns the maximum: NaN if an element is NaN, −∞ if there are no elements.
pub(super) fn max<T: Element>(x: &[T]) -> T {
    let mut largest = T::neg_infinity();
    widest(OfLane(x, &mut largest));
    largest
}

struct OfLane<'a, T>(&'a [T], &'a mut T);

impl<T: Element> Loop for OfLane<'_, T> {
    #[inline(always)]
    fn run(self) {
        *self.1 = lane_extreme(Largest, self.0);
    }
}

/// The maximum or the minimum.
pub(super) trait Extreme: Copy {
    /// Returns the extreme of no elements.
    fn of_none<T: Element>() -> T;

    /// Returns whether an element replaces the best so far.
    fn is_better<T: Element>(x: T, best: T) -> bool;
}

#[derive(Clone, Copy)]
pub(super) struct Largest;

impl Extreme for Largest {
    #[inline(always)]
    fn of_none<T: Element>() -> T {
        T::neg_infinity()
    }

    #[inline(always)]
    fn is_better<T: Element>(x: T, best: T) -> bool {
        x > best
    }
}

#[derive(Clone, Copy)]
pub(super) struct Smallest;

impl Extreme for Smallest {
    #[inline(always)]
    fn of_none<T: Element>() -> T {
        T::infinity()
    }

    #[inline(always)]
    fn is_better<T: Element>(x: T, best: T) -> bool {
        x < best
    }
}

/// Returns the better of two elements, the best so far if the other is NaN.
#[inline(always)]
fn better<T: Element, E: Extreme>(best: T, x: T) -> T {
    if E::is_better(x, best) { x } else { best }
}

/// Returns the better of two elements. No comparison with NaN is true, so NaN stays once it is found.
#[inline(always)]
fn choose<T: Element, E: Extreme>(best: T, x: T) -> T {
    let better = better::<T, E>(best, x);
    if x.is_nan() { x } else { better }
}

/// Returns the extreme of the elements of a lane.
#[inline(always)]
pub(super) fn lane_extreme<T: Element, E: Extreme>(_: E, x: &[T]) -> T {
    // Four arrays: the compiler keeps one of all in memory.
    let [mut a, mut b, mut c, mut d] = [[E::of_none::<T>(); WIDTH]; 4];
    let (chunks, rest) = x.as_chunks::<{ 4 * WIDTH }>();
    let mut has_nan = false;
    for chunk in chunks {
        for lane in 0..WIDTH {
            a[lane] = better::<T, E>(a[lane], chunk[lane]);
        }
        for lane in 0..WIDTH {
            b[lane] = better::<T, E>(b[lane], chunk[WIDTH + lane]);
        }
        for lane in 0..WIDTH {
            c[lane] = better::<T, E>(c[lane], chunk[2 * WIDTH + lane]);
        }
        for lane in 0..WIDTH {
            d[lane] = better::<T, E>(d[lane], chunk[3 * WIDTH + lane]);
        }
        // One comparison tests two elements.
        for lane in 0..2 * WIDTH {
            has_nan |= chunk[lane].is_nan() | chunk[2 * WIDTH + lane].is_nan();
        }
    }
    for x in rest {
        has_nan |= x.is_nan();
    }
    if has_nan {
        return T::nan();
    }
    let mut lanes = [a, b, c, d];
    let lanes = lanes.as_flattened_mut();
    update(lanes, rest, better::<T, E>);
    in_halves(lanes, better::<T, E>)
}

/// Returns the extreme of each column, of rows of this width.
#[inline(always)]
pub(super) fn column_extreme<T: Element, E: Extreme>(_: E, x: &[T], width: usize) -> Row<T> {
    let mut best = [E::of_none::<T>(); COLUMNS];
    for x in x.chunks_exact(width) {
        update(&mut best[..width], x, choose::<T, E>);
    }
    best
}

/// Returns the index of the first element that is the extreme: equal to it, or NaN.
#[inline(always)]
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
#[inline(always)]
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

    #[test]
    fn the_first_of_equals_and_of_nans() {
        for length in [1, 2, 15, 16, 17, 40, 64, 65, 200] {
            for best in 0..length {
                let mut x: Vec<f64> = vec![0.0; length];
                x[best] = 1.0;
                *x.last_mut().unwrap() = 1.0;
                let largest = lane_extreme(Largest, &x);
                assert_eq!((largest, first(&x, largest)), (1.0, Some(best)));
                let negative: Vec<f64> = x.iter().map(|x| -x).collect();
                let smallest = lane_extreme(Smallest, &negative);
                assert_eq!((smallest, first(&negative, smallest)), (-1.0, Some(best)));
                x[best] = f64::NAN;
                let [largest, smallest] = [max(&x), lane_extreme(Smallest, &x)];
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
