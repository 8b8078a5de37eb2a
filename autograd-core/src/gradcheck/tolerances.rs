//! How far a derivative may be from what it is compared with.

/// How closely derivatives are compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tolerances {
    pub(super) eps: f64,
    pub(super) atol: f64,
    pub(super) rtol: f64,
}

impl Tolerances {
    /// By how much the analytical derivative may differ from this numerical one.
    pub(super) fn of(self, numerical: f64) -> f64 {
        self.atol + self.rtol * numerical.abs()
    }

    /// Whether the two disagree. What is not a number agrees with nothing.
    pub(super) fn exceeded(self, analytical: f64, numerical: f64) -> bool {
        let difference = (analytical - numerical).abs();
        difference.is_nan() || difference > self.of(numerical)
    }
}
