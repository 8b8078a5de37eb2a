//! Dropout: elements set to 0 at random.

#![allow(
    clippy::inline_always,
    reason = "a loop is vector code only if all of its body is in it"
)]

use std::mem::MaybeUninit;

use ndarray::{Array, ArrayView, Dimension};

use crate::element::Element;
use crate::loops::map::filled;
use crate::loops::row_major::in_row_major;
use crate::loops::wide::{Loop, widest};
use crate::parallel::{split_mut, worth};

/// Multiplies each element, independently, by 0 with probability `p` and by 1 / (1 − p) otherwise: infinity times 0
/// is NaN. The factor depends only on `seed` and on the element's index in row-major order.
///
/// # Panics
/// If `p` is not between 0 and 1.
#[track_caller]
pub fn dropout<T: Element, D: Dimension>(
    x: &ArrayView<'_, T, D>,
    p: f64,
    seed: u64,
) -> Array<T, D> {
    assert!(
        (0.0..=1.0).contains(&p),
        "dropout with the probability {p}: it must be between 0 and 1"
    );
    let scale = T::from_f64(if p < 1.0 { 1.0 / (1.0 - p) } else { 0.0 });
    // The upper 53 bits of a random number are compared with p times 2⁵³: a comparison of numbers in [0, 1) with p.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number from 0 to 2⁵³"
    )]
    let least = (p * (1_u64 << 53) as f64).ceil() as u64;
    let start = splitmix64(seed);
    let x = in_row_major(x);
    // INVARIANT: it is in row-major order.
    let elements = x.as_slice().expect("row-major");
    filled(&x.view(), |out| {
        split_mut(out, 1, worth::LOOP, |first, out| {
            let x = &elements[first..first + out.len()];
            widest(Choice {
                x,
                out,
                first,
                start,
                least,
                scale,
            });
        });
    })
}

/// Multiplies elements, from the number `first` on, by 0 or by the scale.
struct Choice<'a, T> {
    x: &'a [T],
    out: &'a mut [MaybeUninit<T>],
    first: usize,
    start: u64,
    least: u64,
    scale: T,
}

impl<T: Element> Loop for Choice<'_, T> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        #[cfg_attr(optimized, inline(always))]
        fn each<T: Element>(
            x: &[T],
            out: &mut [MaybeUninit<T>],
            mut state: u64,
            least: u64,
            scale: T,
        ) {
            for (&x, out) in x.iter().zip(out) {
                state = state.wrapping_add(GOLDEN);
                let is_kept = splitmix64(state) >> 11 >= least;
                // No branch on random numbers: a processor could not predict it.
                *out = MaybeUninit::new(x * if is_kept { scale } else { T::zero() });
            }
        }
        let state = self
            .start
            .wrapping_add((self.first as u64).wrapping_mul(GOLDEN));
        each(self.x, self.out, state, self.least, self.scale);
    }
}

/// 2⁶⁴ over the golden ratio: the step of `SplitMix64` (Steele, Lea and Flood, 2014).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the random number that `SplitMix64` makes of its state.
#[cfg_attr(optimized, inline(always))]
fn splitmix64(state: u64) -> u64 {
    let state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, s};

    #[test]
    fn the_share_of_zeros_is_p_for_every_seed() {
        let x = Array2::<f64>::ones((100, 1000));
        for p in [0.0, 0.1, 0.5, 0.9, 1.0] {
            for seed in [0, 1, 2, u64::MAX] {
                let y = dropout(&x.view(), p, seed);
                let share = y.iter().filter(|&&y| y == 0.0).count() as f64 / 1e5;
                assert!((share - p).abs() < 0.006, "{p} {seed}: {share}");
                // Neighbors, along both axes, are independent.
                let both = |a: usize, b: usize| {
                    let (first, second) =
                        (y.slice(s![..100 - a, ..1000 - b]), y.slice(s![a.., b..]));
                    let both_zero = |(x, y): &(&f64, &f64)| **x + **y == 0.0;
                    let zeros = first.iter().zip(&second).filter(both_zero).count();
                    zeros as f64 / first.len() as f64
                };
                assert!((both(0, 1) - p * p).abs() < 0.01, "{p} {seed}");
                assert!((both(1, 0) - p * p).abs() < 0.01, "{p} {seed}");
            }
        }
    }

    #[test]
    fn seeds_differ_and_layouts_do_not() {
        let x = Array2::<f32>::ones((10, 30));
        let y = dropout(&x.view(), 0.5, 3);
        assert_ne!(y, dropout(&x.view(), 0.5, 4));
        let transposed = Array2::<f32>::ones((30, 10));
        assert_eq!(dropout(&transposed.t(), 0.5, 3), y);
    }

    #[test]
    #[should_panic(expected = "dropout with the probability 1.5")]
    fn a_probability_is_between_0_and_1() {
        let _ = dropout(&Array2::<f32>::ones((1, 1)).view(), 1.5, 0);
    }
}
