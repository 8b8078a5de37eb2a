//! A linear warm-up.

use crate::optim::schedule::Schedule;
use crate::optim::settings::{at_least_one, not_negative};

/// Rises linearly from a share of the rate to the rate, and stays there: `rate · (start + (1 − start) step / steps)`.
/// PyTorch's `LinearLR` starts from a third by default; this schedule starts from 1 / (steps + 1).
#[doc = autograd_core::math!(r"\text{rate} \cdot \left(\text{start} + \left(1 - \text{start}\right) \frac{\min(\text{step}, \text{steps})}{\text{steps}}\right)")]
/// ```
/// use pullback::optim::schedule::{LinearWarmUp, Schedule};
///
/// let schedule = LinearWarmUp::new(1.0, 4).start_factor(0.0);
/// assert_eq!([0, 1, 2, 4, 9].map(|step| schedule.rate(step)), [0.0, 0.25, 0.5, 1.0, 1.0]);
/// ```
#[doc(alias = "LinearLR")]
#[derive(Clone, Copy, Debug)]
pub struct LinearWarmUp {
    rate: f64,
    steps: u64,
    start: f64,
}

impl LinearWarmUp {
    /// Creates a warm-up to this rate within `steps` steps, from `rate / (steps + 1)`: a first step with a rate of 0
    /// would do nothing.
    ///
    /// # Panics
    /// If `steps` is 0, or the rate is negative or not finite.
    #[must_use]
    #[track_caller]
    pub fn new(rate: f64, steps: u64) -> Self {
        let steps = at_least_one("number of steps", steps);
        Self {
            rate: not_negative("learning rate", rate),
            steps,
            start: 1.0 / (steps as f64 + 1.0),
        }
    }

    /// Sets the share of the rate at the start.
    ///
    /// # Panics
    /// If the share is negative or not finite.
    #[must_use]
    #[track_caller]
    pub fn start_factor(mut self, factor: f64) -> Self {
        self.start = not_negative("factor to start from", factor);
        self
    }
}

impl Schedule for LinearWarmUp {
    fn rate(&self, step: u64) -> f64 {
        let part = step.min(self.steps) as f64 / self.steps as f64;
        self.rate * (self.start + (1.0 - self.start) * part)
    }
}
