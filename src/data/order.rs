//! Random orders that follow from a seed and an epoch.
//!
//! # Note [Streams]
//!
//! A loop that shuffles with one running generator can be resumed only with that generator's state. Here
//! each epoch has a generator of its own, seeded by a random number of the seed's plus the epoch's number:
//! within a seed no two epochs have the same one, and those of neighbouring seeds have nothing in common.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The stream of splits, which no epoch comes to.
const SPLIT: u64 = u64::MAX;

/// See Note [Streams].
fn seed_of_stream(seed: u64, stream: u64) -> u64 {
    let start = Xoshiro256PlusPlus::seed_from_u64(seed).next_u64();
    start.wrapping_add(stream)
}

/// For what is done to one item in one epoch.
pub(super) fn generator_of_item(seed: u64, epoch: u64, index: usize) -> Xoshiro256PlusPlus {
    let seed = seed_of_stream(seed_of_stream(seed, epoch), index as u64);
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// The numbers below `len` in the order of epoch `stream`.
pub(super) fn shuffled(len: usize, seed: u64, stream: u64) -> Vec<usize> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed_of_stream(seed, stream));
    let mut order: Vec<usize> = (0..len).collect();
    for last in (1..len).rev() {
        order.swap(last, below(&mut random, last + 1));
    }
    order
}

/// The numbers below `len` in two parts, the first with `fraction` of them.
#[track_caller]
pub(super) fn split(len: usize, fraction: f64, seed: u64) -> (Vec<usize>, Vec<usize>) {
    assert!(
        (0.0..=1.0).contains(&fraction),
        "random split with the fraction {fraction}: it must be between 0 and 1"
    );
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the length"
    )]
    let count = (len as f64 * fraction).round() as usize;
    let mut first = shuffled(len, seed, SPLIT);
    let second = first.split_off(count.min(len));
    (first, second)
}

/// A number below `bound`, all equally likely (Lemire, 2019).
#[expect(
    clippy::cast_possible_truncation,
    reason = "the halves of a product of 64 bits each; the upper one is below `bound`"
)]
fn below(random: &mut Xoshiro256PlusPlus, bound: usize) -> usize {
    let bound = bound as u64;
    let product = |random: &mut Xoshiro256PlusPlus| {
        let product = u128::from(random.next_u64()) * u128::from(bound);
        ((product >> 64) as u64, product as u64)
    };
    let (mut number, mut rest) = product(random);
    if rest < bound {
        // 2⁶⁴ mod `bound` products too many.
        let too_many = bound.wrapping_neg() % bound;
        while rest < too_many {
            (number, rest) = product(random);
        }
    }
    number as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_the_same_on_every_machine() {
        assert_eq!(shuffled(10, 1, 0), EXPECTED);
        assert_eq!(shuffled(10, 1, 0), shuffled(10, 1, 0));
    }

    /// Recorded: runs that were begun with it must be resumed with it.
    const EXPECTED: [usize; 10] = [3, 9, 4, 8, 5, 2, 6, 7, 0, 1];

    #[test]
    fn all_orders_are_equally_likely() {
        // Over epochs of one seed, and over seeds in one epoch.
        for stream_of in [|n: u64| (5, n), |n: u64| (n, 5)] {
            let mut counts = std::collections::HashMap::new();
            for n in 0..24_000 {
                let (seed, stream) = stream_of(n);
                *counts.entry(shuffled(4, seed, stream)).or_insert(0_u32) += 1;
            }
            assert_eq!(counts.len(), 24);
            // Chi-squared with 23 degrees of freedom: above 49.7 once in a thousand.
            let deviation = |count: u32| (f64::from(count) - 1000.0).powi(2) / 1000.0;
            let chi_squared: f64 = counts.values().map(|&count| deviation(count)).sum();
            assert!(chi_squared < 49.7, "{chi_squared}");
        }
    }

    #[test]
    fn a_split_is_not_the_order_of_the_first_epoch() {
        let (all, none) = split(100, 1.0, 3);
        assert!(none.is_empty());
        assert_ne!(all, shuffled(100, 3, 0));
    }

    #[test]
    fn no_number_reaches_its_bound() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(0);
        for bound in [1, 2, 3, 1 << 40, usize::MAX] {
            assert!((0..1000).all(|_| below(&mut random, bound) < bound));
        }
    }
}
