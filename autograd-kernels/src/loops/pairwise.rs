//! Sums whose error grows with the logarithm of the number of elements, not with the number.

#![allow(
    clippy::inline_always,
    reason = "a loop is vector code only if all of its body is in it"
)]

use super::along::sum;
#[cfg(optimized)]
use super::along::{WIDTH, block_sum};
#[cfg(optimized)]
use super::wide::SHORT;
use super::wide::{Loop, compiled};
use crate::element::Element;
use crate::parallel::{split_mut, worth};

/// The number of elements of a long slice that are added apart, on any thread.
const PART: usize = 1 << 16;

/// Returns Σ f(x, y) of two slices of one length, added pairwise.
pub(crate) fn pairwise<T: Element>(x: &[T], y: &[T], f: impl Fn(T, T) -> T + Copy + Sync) -> T {
    #[cfg(optimized)]
    if x.len() < SHORT {
        return block_sum::<T, WIDTH>(x, y, &f);
    }
    if x.len() < 2 * PART {
        return of_part(x, y, f);
    }
    let mut sums = vec![T::zero(); x.len().div_ceil(PART)];
    split_mut(&mut sums, 1, worth::LOOP / PART, |first, sums| {
        let parts = x[first * PART..]
            .chunks(PART)
            .zip(y[first * PART..].chunks(PART));
        for (sum, (x, y)) in sums.iter_mut().zip(parts) {
            *sum = of_part(x, y, f);
        }
    });
    total(&sums)
}

/// Not generic over the function that was summed, so that there is one for each element type.
fn total<T: Element>(sums: &[T]) -> T {
    of_part(sums, sums, |sum, _| sum)
}

fn of_part<T: Element>(x: &[T], y: &[T], f: impl Fn(T, T) -> T + Copy) -> T {
    let mut sum = T::zero();
    compiled(Part {
        x,
        y,
        f,
        sum: &mut sum,
    });
    sum
}

struct Part<'a, T, F> {
    x: &'a [T],
    y: &'a [T],
    f: F,
    sum: &'a mut T,
}

impl<T: Element, F: Fn(T, T) -> T> Loop for Part<'_, T, F> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        *self.sum = sum(self.x, self.y, self.f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_every_length_are_exact() {
        let whole: Vec<f64> = (0_u32..20_000).map(f64::from).collect();
        let short = 0..=300;
        let long = [2047, 2048, 2049, 4096, 12_288, 12_353, 20_000];
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
        for length in [1_000, 2048, 100_000, 3_000_000] {
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
