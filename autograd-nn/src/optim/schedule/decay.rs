//! Decay by a factor.

use crate::optim::schedule::Schedule;
use crate::optim::settings::{at_least_one, not_negative};

/// Multiplies the rate by a factor after every `every` steps: `rate · factor^⌊step / every⌋`. PyTorch's `StepLR`.
#[doc = autograd_core::math!(r"\text{rate} \cdot \text{factor}^{\left\lfloor \text{step} / \text{every} \right\rfloor}")]
/// ```
/// use pullback::optim::schedule::{Schedule, Step};
///
/// let schedule = Step::new(0.1, 30, 0.5);
/// assert_eq!([0, 29, 30, 60].map(|step| schedule.rate(step)), [0.1, 0.1, 0.05, 0.025]);
/// ```
#[doc(alias = "StepLR")]
#[derive(Clone, Copy, Debug)]
pub struct Step {
    rate: f64,
    every: u64,
    factor: f64,
}

impl Step {
    /// Creates a schedule that starts at this rate and multiplies it by `factor` after every `every` steps.
    ///
    /// # Panics
    /// If `every` is 0, or the rate or the factor is negative or not finite.
    #[must_use]
    #[track_caller]
    pub fn new(rate: f64, every: u64, factor: f64) -> Self {
        Self {
            rate: not_negative("learning rate", rate),
            every: at_least_one("number of steps between decays", every),
            factor: not_negative("factor", factor),
        }
    }
}

impl Schedule for Step {
    fn rate(&self, step: u64) -> f64 {
        self.rate * self.factor.powf((step / self.every) as f64)
    }
}

/// Multiplies the rate by a factor at each milestone. PyTorch's `MultiStepLR`.
///
/// ```
/// use pullback::optim::schedule::{MultiStep, Schedule};
///
/// let schedule = MultiStep::new(1.0, [3, 5], 0.5);
/// assert_eq!([2, 3, 4, 5].map(|step| schedule.rate(step)), [1.0, 0.5, 0.5, 0.25]);
/// ```
#[doc(alias = "MultiStepLR")]
#[derive(Clone, Debug)]
pub struct MultiStep {
    rate: f64,
    milestones: Vec<u64>,
    factor: f64,
}

impl MultiStep {
    /// Creates a schedule that starts at this rate and multiplies it by `factor` at each milestone. A milestone that
    /// is listed twice counts twice.
    ///
    /// # Panics
    /// If the rate or the factor is negative or not finite.
    #[must_use]
    #[track_caller]
    pub fn new(rate: f64, milestones: impl IntoIterator<Item = u64>, factor: f64) -> Self {
        Self {
            rate: not_negative("learning rate", rate),
            milestones: milestones.into_iter().collect(),
            factor: not_negative("factor", factor),
        }
    }
}

impl Schedule for MultiStep {
    fn rate(&self, step: u64) -> f64 {
        let passed = self.milestones.iter().filter(|&&at| at <= step);
        self.rate * self.factor.powf(passed.count() as f64)
    }
}

/// Multiplies the rate by a factor after every step: `rate · factor^step`. PyTorch's `ExponentialLR`.
///
/// ```
/// use pullback::optim::schedule::{Exponential, Schedule};
///
/// let schedule = Exponential::new(1.0, 0.5);
/// assert_eq!([0, 1, 3].map(|step| schedule.rate(step)), [1.0, 0.5, 0.125]);
/// ```
#[doc(alias = "ExponentialLR")]
#[derive(Clone, Copy, Debug)]
pub struct Exponential {
    rate: f64,
    factor: f64,
}

impl Exponential {
    /// Creates a schedule that starts at this rate and multiplies it by `factor` after every step.
    ///
    /// # Panics
    /// If the rate or the factor is negative or not finite.
    #[must_use]
    #[track_caller]
    pub fn new(rate: f64, factor: f64) -> Self {
        Self {
            rate: not_negative("learning rate", rate),
            factor: not_negative("factor", factor),
        }
    }
}

impl Schedule for Exponential {
    fn rate(&self, step: u64) -> f64 {
        self.rate * self.factor.powf(step as f64)
    }
}
