//! Learning rates as functions of the step.
//!
//! A schedule has no state: [`rate`](Schedule::rate) is a function of the number of the step, or of the epoch, from
//! 0. To resume, save that number.
//!
//! ```
//! use pullback::optim::schedule::{Cosine, LinearWarmUp, Schedule};
//! use pullback::optim::{Adam, Optimizer};
//!
//! let schedule = LinearWarmUp::new(0.01, 5).then(5, Cosine::new(0.01, 95));
//! let mut optimizer = Adam::new(0.01);
//! for step in 0..100 {
//!     optimizer.set_learning_rate(schedule.rate(step));
//!     // Forward, backward, `optimizer.step(&mut model)`.
//! }
//! assert!(optimizer.learning_rate() < 1e-5);
//! ```
//!
//! Read first [`Schedule`], the trait, and [`Cosine`], which suits most models.
//!
//! - [`Step`], [`MultiStep`], [`Exponential`]: decay by a factor.
//! - [`Cosine`], [`CosineRestarts`]: decay along half a cosine.
//! - [`LinearWarmUp`], [`OneCycle`]: warm-up.
//! - [`Schedule::then`]: one schedule after another. Any `Fn(u64) -> f64` is a schedule too.

mod cosine;
mod decay;
mod one_cycle;
mod warm_up;

pub use cosine::{Cosine, CosineRestarts};
pub use decay::{Exponential, MultiStep, Step};
pub use one_cycle::OneCycle;
pub use warm_up::LinearWarmUp;

/// A learning rate for each step.
///
/// ```
/// use pullback::optim::schedule::Schedule;
///
/// let inverse_root = |step: u64| 0.1 / ((step + 1) as f64).sqrt();
/// assert_eq!(inverse_root.rate(3), 0.05);
/// ```
pub trait Schedule {
    /// Returns the learning rate of the step with this number, from 0.
    fn rate(&self, step: u64) -> f64;

    /// Returns this schedule for the first `steps` steps, followed by `next`, which counts its steps from 0.
    ///
    /// ```
    /// use pullback::optim::schedule::{Exponential, LinearWarmUp, Schedule};
    ///
    /// let schedule = LinearWarmUp::new(1.0, 4).start_factor(0.5).then(4, Exponential::new(1.0, 0.5));
    /// let rates: Vec<f64> = (0..7).map(|step| schedule.rate(step)).collect();
    /// assert_eq!(rates, [0.5, 0.625, 0.75, 0.875, 1.0, 0.5, 0.25]);
    /// ```
    fn then<S: Schedule>(self, steps: u64, next: S) -> Then<Self, S>
    where
        Self: Sized,
    {
        Then {
            first: self,
            steps,
            next,
        }
    }
}

impl<F: Fn(u64) -> f64> Schedule for F {
    fn rate(&self, step: u64) -> f64 {
        self(step)
    }
}

/// Two schedules, one after the other, from [`Schedule::then`].
#[derive(Clone, Copy, Debug)]
pub struct Then<A, B> {
    first: A,
    steps: u64,
    next: B,
}

impl<A: Schedule, B: Schedule> Schedule for Then<A, B> {
    fn rate(&self, step: u64) -> f64 {
        match step.checked_sub(self.steps) {
            None => self.first.rate(step),
            Some(step) => self.next.rate(step),
        }
    }
}
