//! The tolerances of a comparison.

/// The step of differences, and the tolerances of derivatives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tolerances {
    pub(super) eps: f64,
    pub(super) atol: f64,
    pub(super) rtol: f64,
}

impl Tolerances {
    /// Returns the largest allowed difference of an analytical derivative from this numerical one.
    #[inline]
    pub(super) fn of(self, numerical: f64) -> f64 {
        self.atol + self.rtol * numerical.abs()
    }

    /// Returns whether the two derivatives disagree; NaN agrees with no number.
    #[inline]
    pub(super) fn exceeded(self, analytical: f64, numerical: f64) -> bool {
        let difference = (analytical - numerical).abs();
        difference.is_nan() || difference > self.of(numerical)
    }
}
