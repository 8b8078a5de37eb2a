//! The source of random numbers.

use std::convert::Infallible;

use rand_core::{Rng, SeedableRng, TryRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A generator of random bits, xoshiro256++ (Blackman and Vigna, 2021): fast, with the same numbers on any machine.
///
/// Functions that draw random numbers take a generator as an argument. Any `Rng` of the crate `rand` can be passed in
/// its place.
///
/// ```
/// use pullback::nn::{Generator, init};
///
/// let (mut first, mut second) = (Generator::seed(7), Generator::seed(7));
/// let drawn = init::uniform::<f32, _>((2, 3), -1.0, 1.0, &mut first);
/// assert_eq!(drawn, init::uniform((2, 3), -1.0, 1.0, &mut second));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generator(Xoshiro256PlusPlus);

impl Generator {
    /// Creates a generator from a seed. Seeds that differ in one bit give unrelated numbers.
    pub fn seed(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Creates an independent generator, such as one for the order of the data: its draws do not change the numbers
    /// of `self`.
    ///
    /// ```
    /// use pullback::nn::Generator;
    ///
    /// let mut generator = Generator::seed(7);
    /// let shuffling = generator.split();
    /// assert_ne!(shuffling, generator);
    /// ```
    #[must_use]
    pub fn split(&mut self) -> Self {
        Self::seed(self.next_u64())
    }
}

impl TryRng for Generator {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed by a translation of the published C code into Python.
    #[test]
    fn a_seed_gives_the_same_bits_for_ever() {
        let mut generator = Generator::seed(7);
        let bits = [(); 3].map(|()| generator.next_u64());
        assert_eq!(
            bits,
            [
                0x0e2c_1a00_2aae_913d,
                0x2c0f_c8dd_fa4e_9e14,
                0xb7b3_11b3_b0d4_5872
            ]
        );
    }
}
