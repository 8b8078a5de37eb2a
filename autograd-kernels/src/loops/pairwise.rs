//! Sums whose error grows with the logarithm of the number of elements, not with the number.

#![allow(
    clippy::inline_always,
    clippy::needless_range_loop,
    reason = "a loop is vector code only if all of its body is in it"
)]

use crate::element::Element;
use crate::loops::wide::{Loop, compiled};

/// The number of elements that are added one after the other, in each of some lanes, before pairs of sums are added.
pub(crate) const BLOCK: usize = 128;

/// Independent partial sums, which the processor adds side by side.
const LANES: usize = 16;

/// The number of elements from which on it pays to choose a wider loop for the processor.
const LONG: usize = 2048;

/// Independent partial sums of [`LONG`] slices: enough for the widest registers to add without pauses.
const WIDE_LANES: usize = 64;

/// The [`BLOCK`] of long slices.
const WIDE_BLOCK: usize = 16 * WIDE_LANES;

/// Returns Σ f(x, y) of two slices of one length, added pairwise.
pub(crate) fn pairwise<T: Element>(x: &[T], y: &[T], f: impl Fn(T, T) -> T + Copy) -> T {
    if x.len() >= LONG {
        let (mut sum, f) = (T::zero(), &f);
        compiled(Long {
            x,
            y,
            f,
            sum: &mut sum,
        });
        return sum;
    }
    if x.len() > BLOCK {
        let middle = (x.len() / 2).next_multiple_of(LANES);
        let (left, right) = (
            pairwise(&x[..middle], &y[..middle], f),
            pairwise(&x[middle..], &y[middle..], f),
        );
        return left + right;
    }
    let mut lanes = [T::zero(); LANES];
    let ((chunks_x, rest_x), (chunks_y, rest_y)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    for (x, y) in chunks_x.iter().zip(chunks_y) {
        for (lane, (&x, &y)) in lanes.iter_mut().zip(x.iter().zip(y)) {
            *lane += f(x, y);
        }
    }
    let rest = rest_x
        .iter()
        .zip(rest_y)
        .fold(T::zero(), |sum, (&x, &y)| sum + f(x, y));
    lanes.iter().fold(rest, |sum, &lane| sum + lane)
}

/// The sum of long slices.
struct Long<'a, T, F> {
    x: &'a [T],
    y: &'a [T],
    f: &'a F,
    sum: &'a mut T,
}

impl<T: Element, F: Fn(T, T) -> T> Loop for Long<'_, T, F> {
    #[inline(always)]
    fn run(self) {
        // Sums of 2^k blocks each: as many as the number of blocks so far has ones.
        let mut parts: Vec<[T; WIDE_LANES]> = Vec::new();
        let blocks = self.x.chunks(WIDE_BLOCK).zip(self.y.chunks(WIDE_BLOCK));
        for (count, (x, y)) in blocks.enumerate() {
            let mut lanes = of_block(x, y, self.f);
            for _ in 0..count.trailing_ones() {
                add_last(&mut lanes, &mut parts);
            }
            parts.push(lanes);
        }
        let mut lanes = [T::zero(); WIDE_LANES];
        while !parts.is_empty() {
            add_last(&mut lanes, &mut parts);
        }
        let mut count = WIDE_LANES;
        while count > 1 {
            count /= 2;
            for lane in 0..count {
                lanes[lane] += lanes[lane + count];
            }
        }
        *self.sum = lanes[0];
    }
}

#[inline(always)]
fn of_block<T: Element>(x: &[T], y: &[T], f: &impl Fn(T, T) -> T) -> [T; WIDE_LANES] {
    let mut lanes = [T::zero(); WIDE_LANES];
    let (rows_x, rest_x) = x.as_chunks::<WIDE_LANES>();
    let (rows_y, rest_y) = y.as_chunks::<WIDE_LANES>();
    for (x, y) in rows_x.iter().zip(rows_y) {
        for lane in 0..WIDE_LANES {
            lanes[lane] += f(x[lane], y[lane]);
        }
    }
    for (lane, (&x, &y)) in lanes.iter_mut().zip(rest_x.iter().zip(rest_y)) {
        *lane += f(x, y);
    }
    lanes
}

/// Adds the last of some partial sums, and removes it.
#[inline(always)]
fn add_last<T: Element>(lanes: &mut [T; WIDE_LANES], parts: &mut Vec<[T; WIDE_LANES]>) {
    if let Some(part) = parts.pop() {
        for lane in 0..WIDE_LANES {
            lanes[lane] += part[lane];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_every_length_are_exact() {
        let whole: Vec<f64> = (0_u32..20_000).map(f64::from).collect();
        let short = 0..=300;
        let long = [
            LONG - 1,
            LONG,
            LONG + 1,
            3 * WIDE_BLOCK,
            7 * WIDE_BLOCK + 65,
            20_000,
        ];
        for length in short.chain(long) {
            let x = &whole[..length];
            let expected = (length * length.saturating_sub(1) / 2) as f64;
            assert_eq!(pairwise(x, x, |x, _| x), expected, "{length}");
            let ones = vec![1.0; length];
            assert_eq!(pairwise(x, &ones, |x, y| x * y), expected, "{length}");
        }
    }

    #[test]
    fn errors_grow_slowly() {
        for length in [1_000, LONG, 100_000, 3_000_000] {
            let tenths = vec![0.1_f32; length];
            let sum = pairwise(&tenths, &tenths, |x, _| x);
            let expected = f64::from(0.1_f32) * length as f64;
            // Added one after the other, 3,000,000 are wrong by 3 %.
            assert!(
                (f64::from(sum) / expected - 1.0).abs() < 1e-6,
                "{length}: {sum}"
            );
        }
    }
}
