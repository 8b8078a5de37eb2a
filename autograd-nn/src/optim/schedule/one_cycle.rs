//! A warm-up, followed by annealing to a rate far below the first.

use crate::optim::schedule::Schedule;
use crate::optim::schedule::cosine::half_cosine;
use crate::optim::settings::{not_negative, positive};

/// Warms up to the largest rate and anneals to a very small one, along half cosines: PyTorch's `OneCycleLR`, for the
/// learning rate alone. With `steps` steps in all, the rate is largest at the step `share · steps − 1`, and smallest
/// at the last, `steps − 1`. Smith and Topin, *Super-Convergence: Very Fast Training of Neural Networks Using Large
/// Learning Rates* (2018).
///
/// ```
/// use pullback::optim::schedule::{OneCycle, Schedule};
///
/// let schedule = OneCycle::new(1.0, 101).share(6.0 / 101.0).divide_by(2.0, 50.0);
/// let rates = [0, 5, 100, 200].map(|step| schedule.rate(step));
/// for (rate, wanted) in rates.iter().zip([0.5, 1.0, 0.01, 0.01]) {
///     assert!((rate - wanted).abs() < 1e-12);
/// }
/// ```
#[doc(alias = "OneCycleLR")]
#[derive(Clone, Copy, Debug)]
pub struct OneCycle {
    rate: f64,
    steps: u64,
    share: f64,
    first: f64,
    last: f64,
    linear: bool,
    three_phases: bool,
}

impl OneCycle {
    /// Creates a schedule that warms up from `rate` / 25 to `rate` over 30 % of the steps, then anneals to `rate` /
    /// 250,000.
    ///
    /// # Panics
    /// If `steps` is below 2, or the rate is negative or not finite.
    #[must_use]
    #[track_caller]
    pub fn new(rate: f64, steps: u64) -> Self {
        assert!(
            steps >= 2,
            "the number of steps is {steps}: at least 2 are needed"
        );
        Self {
            rate: not_negative("largest learning rate", rate),
            steps,
            share: 0.3,
            first: 25.0,
            last: 1e4,
            linear: false,
            three_phases: false,
        }
    }

    /// Sets the share of the steps that warm up; 0.3 by default.
    ///
    /// # Panics
    /// If the share is not between 0 and 1.
    #[must_use]
    #[track_caller]
    pub fn share(mut self, share: f64) -> Self {
        assert!(
            (0.0..=1.0).contains(&share),
            "the share of the way up is {share}: a number from 0 to 1 is needed"
        );
        self.share = share;
        self
    }

    /// Sets the ratio of the largest rate to the first, 25 by default, and of the first to the last, 10,000 by
    /// default.
    ///
    /// # Panics
    /// If a ratio is not a finite number above 0.
    #[must_use]
    #[track_caller]
    pub fn divide_by(mut self, first: f64, last: f64) -> Self {
        self.first = positive("divisor of the first rate", first);
        self.last = positive("divisor of the last rate", last);
        self
    }

    /// Sets whether to use straight lines instead of half cosines.
    #[must_use]
    pub fn linear(mut self, linear: bool) -> Self {
        self.linear = linear;
        self
    }

    /// Sets whether to anneal to the first rate in as many steps as the warm-up has, and then to the last.
    #[must_use]
    pub fn three_phases(mut self, three_phases: bool) -> Self {
        self.three_phases = three_phases;
        self
    }
}

impl Schedule for OneCycle {
    fn rate(&self, step: u64) -> f64 {
        let steps = self.steps as f64;
        let step = (step as f64).min(steps - 1.0);
        let first = self.rate / self.first;
        let last = first / self.last;
        // The end of each phase, and its first and last rate, as in PyTorch.
        let up = self.share * steps - 1.0;
        let down = (2.0 * up, self.rate, first);
        let middle = if self.three_phases { Some(down) } else { None };
        let rest = (
            steps - 1.0,
            if self.three_phases { first } else { self.rate },
            last,
        );
        let mut start = 0.0;
        for (end, from, to) in [Some((up, first, self.rate)), middle].into_iter().flatten() {
            if step <= end {
                return self.between(from, to, start, end, step);
            }
            start = end;
        }
        let (end, from, to) = rest;
        self.between(from, to, start, end, step)
    }
}

impl OneCycle {
    fn between(&self, from: f64, to: f64, start: f64, end: f64, step: f64) -> f64 {
        if end <= start {
            return to;
        }
        let part = (step - start) / (end - start);
        if self.linear {
            return from + (to - from) * part;
        }
        half_cosine(from, to, part)
    }
}
