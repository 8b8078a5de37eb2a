//! A rise, and a fall to far below the start.

use crate::optim::schedule::Schedule;
use crate::optim::schedule::cosine::half_cosine;
use crate::optim::settings::{not_negative, positive};

/// Rises from a part of the largest rate to it, and falls to very little, along half cosines: PyTorch's
/// `OneCycleLR`, of the learning rate alone. With `steps` steps in all the largest rate is at the step
/// `share · steps − 1`, and the smallest at the last, `steps − 1`. Smith and Topin, *Super-Convergence: Very Fast
/// Training of Neural Networks Using Large Learning Rates* (2018).
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
    /// Rises to this rate and falls again within `steps` steps: from a 25th of it, 3 of 10 steps up, down to the
    /// 10,000th part of where it started.
    ///
    /// # Panics
    /// If there are fewer than 2 steps, or the rate is negative or not finite.
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

    /// Sets the share of the steps on the way up; 0.3 by default.
    ///
    /// # Panics
    /// If it is not between 0 and 1.
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

    /// Sets what the largest rate is divided by for the first, and the first for the last; 25 and 10,000 by
    /// default.
    ///
    /// # Panics
    /// If one is not a finite number above 0.
    #[must_use]
    #[track_caller]
    pub fn divide_by(mut self, first: f64, last: f64) -> Self {
        self.first = positive("divisor of the first rate", first);
        self.last = positive("divisor of the last rate", last);
        self
    }

    /// Uses straight lines instead of half cosines.
    #[must_use]
    pub fn linear(mut self, linear: bool) -> Self {
        self.linear = linear;
        self
    }

    /// Falls to the first rate in as many steps as it rises, and from there to the last.
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
        // Where each phase ends, and from which rate to which it leads: PyTorch's.
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
