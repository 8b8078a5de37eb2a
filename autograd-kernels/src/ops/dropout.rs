//! Dropout: elements set to 0 at random.

use ndarray::{Array, ArrayView, Dimension};

use crate::element::Element;
use crate::loops::lanes::rows;
use crate::memory;

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
    let scale = if p < 1.0 { 1.0 / (1.0 - p) } else { 0.0 };
    // No branch on random numbers: a processor could not predict it.
    let factors = [T::zero(), T::from_f64(scale)];
    let start = splitmix64(seed);
    let mut results = memory::take(x.len());
    results.extend(rows(x).iter().zip(1_u64..).map(|(&x, index)| {
        let bits = splitmix64(start.wrapping_add(index.wrapping_mul(GOLDEN)));
        // The upper 53 bits, as a number in [0, 1).
        let uniform = (bits >> 11) as f64 * (f64::EPSILON / 2.0);
        x * factors[usize::from(uniform >= p)]
    }));
    // INVARIANT: one for each element.
    Array::from_shape_vec(x.raw_dim(), results).expect("one for each")
}

/// 2⁶⁴ over the golden ratio: the step of `SplitMix64` (Steele, Lea and Flood, 2014).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the random number that `SplitMix64` makes of its state.
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
