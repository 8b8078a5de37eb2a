//! Decay along half a cosine, once or repeatedly.

use std::f64::consts::PI;

use crate::optim::schedule::Schedule;
use crate::optim::settings::{at_least_one, not_negative};

/// Decays from `rate` to `min` along half a cosine: `min + (rate − min) (1 + cos(π step / steps)) / 2`, and stays at
/// `min`. PyTorch's `CosineAnnealingLR` has the same formula, but rises again after its end. Loshchilov and Hutter,
/// *SGDR: Stochastic Gradient Descent with Warm Restarts* (2017), without restarts.
#[doc = autograd_core::math!(r"\text{min} + \frac{\text{rate} - \text{min}}{2} \left(1 + \cos\left(\pi \, \frac{\text{step}}{\text{steps}}\right)\right)")]
/// ```
/// use pullback::optim::schedule::{Cosine, Schedule};
///
/// let schedule = Cosine::new(1.0, 60).min(0.2);
/// let rates = [0, 20, 30, 60, 1000].map(|step| schedule.rate(step));
/// for (rate, wanted) in rates.iter().zip([1.0, 0.8, 0.6, 0.2, 0.2]) {
///     assert!((rate - wanted).abs() < 1e-15);
/// }
/// ```
#[doc(alias = "CosineAnnealingLR")]
#[derive(Clone, Copy, Debug)]
pub struct Cosine {
    rate: f64,
    steps: u64,
    min: f64,
}

impl Cosine {
    /// Creates a decay from this rate to 0 within `steps` steps.
    ///
    /// # Panics
    /// If `steps` is 0, or the rate is negative or not finite.
    #[must_use]
    #[track_caller]
    pub fn new(rate: f64, steps: u64) -> Self {
        Self {
            rate: not_negative("learning rate", rate),
            steps: at_least_one("number of steps", steps),
            min: 0.0,
        }
    }

    /// Sets the rate at the end; 0 by default.
    ///
    /// # Panics
    /// If the rate is negative or not finite.
    #[must_use]
    #[track_caller]
    pub fn min(mut self, min: f64) -> Self {
        self.min = not_negative("smallest learning rate", min);
        self
    }
}

impl Schedule for Cosine {
    fn rate(&self, step: u64) -> f64 {
        half_cosine(
            self.rate,
            self.min,
            step.min(self.steps) as f64 / self.steps as f64,
        )
    }
}

/// Repeats a [`Cosine`], each round as long as the one before, or longer by an integer factor. PyTorch's
/// `CosineAnnealingWarmRestarts`. Loshchilov and Hutter, *SGDR: Stochastic Gradient Descent with Warm Restarts*
/// (2017).
///
/// ```
/// use pullback::optim::schedule::{CosineRestarts, Schedule};
///
/// // Restarts at 10, 30 and 70.
/// let schedule = CosineRestarts::new(1.0, 10).lengthen(2);
/// let rates = [0, 5, 10, 20, 30, 50, 70].map(|step| schedule.rate(step));
/// for (rate, wanted) in rates.iter().zip([1.0, 0.5, 1.0, 0.5, 1.0, 0.5, 1.0]) {
///     assert!((rate - wanted).abs() < 1e-15);
/// }
/// ```
#[doc(alias = "CosineAnnealingWarmRestarts")]
#[derive(Clone, Copy, Debug)]
pub struct CosineRestarts {
    once: Cosine,
    factor: u64,
}

impl CosineRestarts {
    /// Creates rounds that start at this rate and decay toward 0; the first has `steps` steps.
    ///
    /// # Panics
    /// If `steps` is 0, or the rate is negative or not finite.
    #[must_use]
    #[track_caller]
    pub fn new(rate: f64, steps: u64) -> Self {
        Self {
            once: Cosine::new(rate, steps),
            factor: 1,
        }
    }

    /// Sets the ratio of the length of a round to that of the round before; 1 by default.
    ///
    /// # Panics
    /// If the factor is 0.
    #[must_use]
    #[track_caller]
    pub fn lengthen(mut self, factor: u64) -> Self {
        self.factor = at_least_one("factor of the rounds' lengths", factor);
        self
    }

    /// Sets the rate that each round decays toward; 0 by default.
    ///
    /// # Panics
    /// If the rate is negative or not finite.
    #[must_use]
    #[track_caller]
    pub fn min(mut self, min: f64) -> Self {
        self.once = self.once.min(min);
        self
    }
}

impl Schedule for CosineRestarts {
    fn rate(&self, step: u64) -> f64 {
        let (mut step, mut length) = (step, self.once.steps);
        if self.factor == 1 {
            step %= length;
        }
        while step >= length {
            step -= length;
            length = length.saturating_mul(self.factor);
        }
        half_cosine(self.once.rate, self.once.min, step as f64 / length as f64)
    }
}

/// Returns the rate at the share `part` of the way from one rate to another.
pub(super) fn half_cosine(from: f64, to: f64, part: f64) -> f64 {
    to + (from - to) * (1.0 + (PI * part).cos()) / 2.0
}
