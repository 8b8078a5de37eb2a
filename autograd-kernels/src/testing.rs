//! Numbers and lengths for tests.

use ndarray::{Array, ShapeBuilder};

/// Returns numbers between −½ and ½, which look random and depend on `seed`.
pub(crate) fn numbers<S: ShapeBuilder>(shape: S, seed: f64) -> Array<f64, S::Dim> {
    let mut position = seed;
    Array::from_shape_simple_fn(shape, || {
        position += 1.0;
        (position * 0.618_033_988_749_895).fract() - 0.5
    })
}

/// Returns random numbers between −1 and 1: rows and columns of a matrix of them are far from linear relations, which those
/// of [`numbers`] are not.
pub(crate) fn random<S: ShapeBuilder>(shape: S, seed: u64) -> Array<f64, S::Dim> {
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Array::from_shape_simple_fn(shape, || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    })
}

/// Random lengths, the same in each run.
pub(crate) struct Lengths(u64);

impl Lengths {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a length less than `end`.
    pub(crate) fn choose(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    pub(crate) fn pick(&mut self, from: &[usize]) -> usize {
        from[self.choose(from.len())]
    }
}
