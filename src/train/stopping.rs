//! When to stop.

/// Whether a metric should fall, as a loss, or rise, as an accuracy.
///
/// ```
/// use pullback::train::{History, Mode};
///
/// let mut history = History::new();
/// history.push(1, [("loss", 0.9), ("accuracy", 0.5)]);
/// history.push(2, [("loss", 0.4), ("accuracy", 0.8)]);
/// let best = |metric, mode| history.best(metric, mode).map(|best| best.epoch);
/// assert_eq!((best("loss", Mode::Min), best("accuracy", Mode::Max)), (Some(2), Some(2)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// The smaller the better.
    Min,
    /// The larger the better.
    Max,
}

impl Mode {
    /// Whether `value` is better than `other`. What is not a number is worse than every number, and never
    /// better than anything.
    ///
    /// ```
    /// use pullback::train::Mode;
    ///
    /// assert!(Mode::Min.is_better(1.0, 2.0));
    /// assert!(Mode::Max.is_better(-7.0, f64::NAN));
    /// assert!(!Mode::Max.is_better(f64::NAN, f64::NAN));
    /// ```
    pub fn is_better(self, value: f64, other: f64) -> bool {
        let better = match self {
            Self::Min => value < other,
            Self::Max => value > other,
        };
        better || (other.is_nan() && !value.is_nan())
    }
}

/// The best value of a metric, and the epoch that had it.
///
/// ```
/// use pullback::train::{Best, History, Mode};
///
/// let mut history = History::new();
/// (1..).zip([0.9, 0.4, 0.4]).for_each(|(epoch, loss)| history.push(epoch, [("loss", loss)]));
/// let Some(Best { epoch, value }) = history.best("loss", Mode::Min) else { panic!("no epoch") };
/// assert_eq!((epoch, value), (2, 0.4));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// The epoch, of several with that value the first.
    pub epoch: usize,
    /// The value.
    pub value: f64,
}

/// What [`EarlyStopping::update`] thinks of an epoch.
///
/// ```
/// use pullback::train::{EarlyStopping, Mode, Verdict};
///
/// let mut stopping = EarlyStopping::new(Mode::Min, 2);
/// let losses = [0.9, 0.5, 0.6, 0.7];
/// let verdicts: Vec<Verdict> = (1..).zip(losses).map(|(epoch, loss)| stopping.update(epoch, loss)).collect();
/// assert_eq!(verdicts, [Verdict::Improved, Verdict::Improved, Verdict::Waiting, Verdict::Stop]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was better, by more than `min_delta`.
    Improved,
    /// It was not, and patience lasts.
    Waiting,
    /// It was not, and patience is at its end.
    Stop,
}

/// Says when a metric has stopped to get better.
///
/// ```
/// use pullback::train::{EarlyStopping, Mode, Verdict};
///
/// let mut stopping = EarlyStopping::new(Mode::Min, 2).min_delta(0.01);
/// let losses = [0.9, 0.5, 0.6, 0.495, 0.4];
/// let verdicts: Vec<Verdict> = (1..).zip(losses).map(|(epoch, loss)| stopping.update(epoch, loss)).collect();
/// assert_eq!(verdicts[..3], [Verdict::Improved, Verdict::Improved, Verdict::Waiting]);
/// assert_eq!(verdicts[3], Verdict::Stop); // better, but not by 0.01
/// ```
///
/// It has no state but what it was given: a run that is resumed gives it the earlier values again.
#[derive(Clone, Debug, PartialEq)]
pub struct EarlyStopping {
    mode: Mode,
    patience: usize,
    min_delta: f64,
    best: Option<Best>,
    /// What must be improved on: the last value that was an improvement.
    reference: f64,
    waited: usize,
}

impl EarlyStopping {
    /// Stops after `patience` epochs in a row that bring no improvement.
    ///
    /// # Panics
    /// If `patience` is 0.
    ///
    /// ```
    /// use pullback::train::{EarlyStopping, Mode};
    ///
    /// let mut stopping = EarlyStopping::new(Mode::Max, 2);
    /// (1..=3).for_each(|epoch| {
    ///     stopping.update(epoch, 0.8);
    /// });
    /// assert!(stopping.should_stop()); // two in a row were no better than the first
    /// ```
    #[track_caller]
    pub fn new(mode: Mode, patience: usize) -> Self {
        assert!(
            patience > 0,
            "EarlyStopping with the patience 0 would stop before the first epoch: it must be at least 1"
        );
        Self {
            mode,
            patience,
            min_delta: 0.0,
            best: None,
            reference: f64::NAN,
            waited: 0,
        }
    }

    /// An improvement is one by more than `min_delta`, in the metric's unit; 0 by default. It is measured
    /// from the last improvement, so that many small steps count together.
    ///
    /// ```
    /// use pullback::train::{EarlyStopping, Mode, Verdict};
    ///
    /// let mut stopping = EarlyStopping::new(Mode::Max, 3).min_delta(0.1);
    /// assert_eq!(stopping.update(1, 0.50), Verdict::Improved);
    /// assert_eq!(stopping.update(2, 0.58), Verdict::Waiting);
    /// assert_eq!(stopping.update(3, 0.65), Verdict::Improved);
    /// ```
    ///
    /// # Panics
    /// If it is negative or not a number.
    #[track_caller]
    #[must_use]
    pub fn min_delta(mut self, min_delta: f64) -> Self {
        assert!(
            min_delta >= 0.0,
            "EarlyStopping with the min_delta {min_delta}: it must be at least 0"
        );
        self.min_delta = min_delta;
        self
    }

    /// Takes an epoch's value. What is not a number is no improvement.
    ///
    /// ```
    /// use pullback::train::{EarlyStopping, Mode, Verdict};
    ///
    /// let mut stopping = EarlyStopping::new(Mode::Min, 3);
    /// assert_eq!(stopping.update(1, 0.5), Verdict::Improved);
    /// assert_eq!(stopping.update(2, f64::NAN), Verdict::Waiting);
    /// ```
    pub fn update(&mut self, epoch: usize, value: f64) -> Verdict {
        let best = self.best.map_or(f64::NAN, |best| best.value);
        if self.mode.is_better(value, best) {
            self.best = Some(Best { epoch, value });
        }
        let needed = match self.mode {
            Mode::Min => self.reference - self.min_delta,
            Mode::Max => self.reference + self.min_delta,
        };
        if self.mode.is_better(value, needed) {
            self.reference = value;
            self.waited = 0;
            return Verdict::Improved;
        }
        self.waited += 1;
        if self.should_stop() {
            Verdict::Stop
        } else {
            Verdict::Waiting
        }
    }

    /// Whether patience is at its end.
    ///
    /// ```
    /// use pullback::train::{EarlyStopping, Mode};
    ///
    /// let mut stopping = EarlyStopping::new(Mode::Min, 1);
    /// for (epoch, loss) in [(1, 0.5), (2, 0.6)] {
    ///     assert!(!stopping.should_stop());
    ///     stopping.update(epoch, loss);
    /// }
    /// assert!(stopping.should_stop());
    /// ```
    pub fn should_stop(&self) -> bool {
        self.waited >= self.patience
    }

    /// The best value so far, however small the improvement, if there was any number.
    ///
    /// ```
    /// use pullback::train::{Best, EarlyStopping, Mode};
    ///
    /// let mut stopping = EarlyStopping::new(Mode::Min, 3).min_delta(0.1);
    /// for (epoch, loss) in [(1, 0.5), (2, 0.45), (3, 0.48)] {
    ///     stopping.update(epoch, loss);
    /// }
    /// assert_eq!(stopping.best(), Some(Best { epoch: 2, value: 0.45 }));
    /// ```
    pub fn best(&self) -> Option<Best> {
        self.best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(mut stopping: EarlyStopping, values: &[f64]) -> (String, Option<Best>) {
        let letter = |(epoch, &value)| match stopping.update(epoch, value) {
            Verdict::Improved => 'i',
            Verdict::Waiting => 'w',
            Verdict::Stop => 's',
        };
        let letters = (1..).zip(values).map(letter).collect();
        (letters, stopping.best())
    }

    #[test]
    fn patience_starts_anew_with_each_improvement() {
        let stopping = EarlyStopping::new(Mode::Min, 2);
        let (letters, best) = verdicts(stopping, &[3.0, 3.0, 2.0, 2.5, 2.0, 1.0]);
        assert_eq!(letters, "iwiwsi");
        assert_eq!(
            best,
            Some(Best {
                epoch: 6,
                value: 1.0
            })
        );
        let (letters, best) = verdicts(EarlyStopping::new(Mode::Max, 1), &[1.0, 2.0, 2.0]);
        assert_eq!(letters, "iis");
        assert_eq!(
            best,
            Some(Best {
                epoch: 2,
                value: 2.0
            })
        );
    }

    #[test]
    fn what_is_no_number_never_improves_and_infinity_is_a_number() {
        let nan = f64::NAN;
        let stopping = EarlyStopping::new(Mode::Min, 2);
        assert_eq!(verdicts(stopping.clone(), &[nan, nan]), ("ws".into(), None));
        let (letters, best) = verdicts(stopping, &[nan, f64::INFINITY, 5.0, nan]);
        assert_eq!(letters, "wiiw");
        assert_eq!(
            best,
            Some(Best {
                epoch: 3,
                value: 5.0
            })
        );
    }

    #[test]
    #[should_panic(expected = "EarlyStopping with the patience 0")]
    fn patience_is_not_0() {
        EarlyStopping::new(Mode::Min, 0);
    }

    #[test]
    #[should_panic(expected = "EarlyStopping with the min_delta NaN")]
    fn min_delta_is_a_number() {
        let _ = EarlyStopping::new(Mode::Min, 1).min_delta(f64::NAN);
    }
}
