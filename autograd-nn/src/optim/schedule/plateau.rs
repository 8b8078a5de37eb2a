//! Down when nothing gets better.

use crate::nn::{StateDict, StateError};
use crate::optim::Optimizer;
use crate::optim::settings::{below_one, not_negative};
use crate::optim::state::{Reader, number};

/// Multiplies the learning rate by a factor when a loss, or whatever is watched, has stopped getting better.
/// PyTorch's `ReduceLROnPlateau`.
///
/// ```
/// use pullback::optim::schedule::Plateau;
/// use pullback::optim::{Optimizer, Sgd};
///
/// let mut optimizer = Sgd::new(1.0);
/// let mut plateau = Plateau::new().factor(0.5).patience(1);
/// let mut rates = vec![];
/// for loss in [4.0, 3.0, 3.0, 3.0, 2.0] {
///     plateau.watch(loss, &mut optimizer);
///     rates.push(optimizer.learning_rate());
/// }
/// assert_eq!(rates, [1.0, 1.0, 1.0, 0.5, 0.5]);
/// ```
#[doc(alias = "ReduceLROnPlateau")]
#[derive(Clone, Debug)]
pub struct Plateau {
    factor: f64,
    patience: u64,
    cooldown: u64,
    threshold: f64,
    absolute: bool,
    maximize: bool,
    min: f64,
    best: f64,
    /// How often in a row nothing got better.
    bad: u64,
    /// How often that does not count yet.
    resting: u64,
}

impl Default for Plateau {
    fn default() -> Self {
        Self::new()
    }
}

/// A change of the rate that is not worth making, as PyTorch has it.
const EPS: f64 = 1e-8;

impl Plateau {
    /// A tenth of the rate when a loss that should fall has not done so by the 10,000th part of the best for
    /// more than 10 times.
    ///
    /// ```
    /// use pullback::optim::schedule::Plateau;
    ///
    /// assert_eq!(Plateau::new().best(), None);
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self {
            factor: 0.1,
            patience: 10,
            cooldown: 0,
            threshold: 1e-4,
            absolute: false,
            maximize: false,
            min: 0.0,
            best: f64::INFINITY,
            bad: 0,
            resting: 0,
        }
    }

    /// By what the rate is multiplied; 0.1 unless it is set.
    ///
    /// # Panics
    /// If it is not at least 0 and below 1.
    ///
    /// ```
    /// use pullback::optim::schedule::Plateau;
    ///
    /// let plateau = Plateau::new().factor(0.5);
    /// # let _ = plateau;
    /// ```
    #[must_use]
    #[track_caller]
    pub fn factor(mut self, factor: f64) -> Self {
        self.factor = below_one("factor", factor);
        self
    }

    /// How often in a row nothing may get better before the rate is reduced; 10 unless it is set.
    ///
    /// ```
    /// use pullback::optim::schedule::Plateau;
    ///
    /// let plateau = Plateau::new().patience(3);
    /// # let _ = plateau;
    /// ```
    #[must_use]
    pub fn patience(mut self, patience: u64) -> Self {
        self.patience = patience;
        self
    }

    /// For how long after a reduction nothing is counted; 0 unless it is set.
    ///
    /// ```
    /// use pullback::optim::schedule::Plateau;
    ///
    /// let plateau = Plateau::new().cooldown(2);
    /// # let _ = plateau;
    /// ```
    #[must_use]
    pub fn cooldown(mut self, cooldown: u64) -> Self {
        self.cooldown = cooldown;
        self
    }

    /// By which part of the best something must be better to count; 10⁻⁴ unless it is set.
    ///
    /// # Panics
    /// If it is negative or no number.
    ///
    /// ```
    /// use pullback::optim::schedule::Plateau;
    ///
    /// let plateau = Plateau::new().threshold(0.01);
    /// # let _ = plateau;
    /// ```
    #[must_use]
    #[track_caller]
    pub fn threshold(mut self, threshold: f64) -> Self {
        self.threshold = not_negative("threshold", threshold);
        self.absolute = false;
        self
    }

    /// By how much something must be better to count.
    ///
    /// # Panics
    /// If it is negative or no number.
    ///
    /// ```
    /// use pullback::optim::schedule::Plateau;
    ///
    /// let plateau = Plateau::new().absolute_threshold(0.5);
    /// # let _ = plateau;
    /// ```
    #[must_use]
    #[track_caller]
    pub fn absolute_threshold(mut self, threshold: f64) -> Self {
        self.threshold = not_negative("threshold", threshold);
        self.absolute = true;
        self
    }

    /// What is watched should rise, as an accuracy does.
    ///
    /// ```
    /// use pullback::optim::schedule::Plateau;
    ///
    /// let plateau = Plateau::new().maximize(true);
    /// # let _ = plateau;
    /// ```
    #[must_use]
    pub fn maximize(mut self, maximize: bool) -> Self {
        self.maximize = maximize;
        self.best = self.worst();
        self
    }

    /// The smallest rate; 0 unless it is set.
    ///
    /// # Panics
    /// If it is negative or no number.
    ///
    /// ```
    /// use pullback::optim::schedule::Plateau;
    ///
    /// let plateau = Plateau::new().min(1e-5);
    /// # let _ = plateau;
    /// ```
    #[must_use]
    #[track_caller]
    pub fn min(mut self, min: f64) -> Self {
        self.min = not_negative("smallest learning rate", min);
        self
    }

    /// The best that was seen, if anything was.
    ///
    /// ```
    /// use pullback::optim::Sgd;
    /// use pullback::optim::schedule::Plateau;
    ///
    /// let mut plateau = Plateau::new();
    /// plateau.watch(3.0, &mut Sgd::new(0.1));
    /// assert_eq!(plateau.best(), Some(3.0));
    /// ```
    pub fn best(&self) -> Option<f64> {
        Some(self.best).filter(|best| best.is_finite())
    }

    /// Takes note of a loss and reduces the optimizer's learning rate if it is time; true if that was done.
    /// What is no number is not better.
    ///
    /// ```
    /// use pullback::optim::schedule::Plateau;
    /// use pullback::optim::{Optimizer, Sgd};
    ///
    /// let mut optimizer = Sgd::new(1.0);
    /// let mut plateau = Plateau::new().patience(0).min(0.05);
    /// assert!(!plateau.watch(1.0, &mut optimizer));
    /// assert!(plateau.watch(f64::NAN, &mut optimizer));
    /// assert_eq!(optimizer.learning_rate(), 0.1);
    /// assert!(plateau.watch(2.0, &mut optimizer));
    /// assert_eq!(optimizer.learning_rate(), 0.05);
    /// ```
    pub fn watch(&mut self, loss: f64, optimizer: &mut (impl Optimizer + ?Sized)) -> bool {
        if self.is_better(loss) {
            self.best = loss;
            self.bad = 0;
        } else {
            self.bad += 1;
        }
        if self.resting > 0 {
            self.resting -= 1;
            self.bad = 0;
        }
        if self.bad <= self.patience {
            return false;
        }
        self.bad = 0;
        self.resting = self.cooldown;
        let old = optimizer.learning_rate();
        let new = (old * self.factor).max(self.min);
        let reduced = old - new > EPS;
        if reduced {
            optimizer.set_learning_rate(new);
        }
        reduced
    }

    fn is_better(&self, loss: f64) -> bool {
        let sign = if self.maximize { 1.0 } else { -1.0 };
        let target = match self.absolute {
            // Anything is better than nothing.
            _ if self.best.is_infinite() => self.best,
            true => self.best + sign * self.threshold,
            false => self.best * (1.0 + sign * self.threshold),
        };
        if self.maximize {
            loss > target
        } else {
            loss < target
        }
    }

    /// What anything is better than.
    fn worst(&self) -> f64 {
        if self.maximize {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        }
    }

    /// A copy of what is kept, to save: `best`, `bad` and `resting`.
    ///
    /// ```
    /// use pullback::optim::schedule::Plateau;
    ///
    /// let state = Plateau::new().state_dict();
    /// assert_eq!(state.names().collect::<Vec<_>>(), ["bad", "best", "resting"]);
    /// ```
    pub fn state_dict(&self) -> StateDict {
        let state = [
            ("best", self.best),
            ("bad", self.bad as f64),
            ("resting", self.resting as f64),
        ];
        let state = state.map(|(name, value)| (name.to_owned(), number(value)));
        StateDict::from_iter(state)
    }

    /// Goes on from a state that was saved. The learning rate is the optimizer's, and in its state.
    ///
    /// # Errors
    /// [`StateError::Keys`] with everything that does not fit. Then nothing is changed.
    ///
    /// ```
    /// use pullback::optim::Sgd;
    /// use pullback::optim::schedule::Plateau;
    ///
    /// let mut plateau = Plateau::new();
    /// plateau.watch(3.0, &mut Sgd::new(0.1));
    /// let mut resumed = Plateau::new();
    /// resumed.load_state_dict(&plateau.state_dict())?;
    /// assert_eq!(resumed.best(), Some(3.0));
    /// # Ok::<(), pullback::nn::StateError>(())
    /// ```
    pub fn load_state_dict(&mut self, state: &StateDict) -> Result<(), StateError> {
        let mut reader = Reader::new(state);
        let best = reader.number("best");
        let (bad, resting) = (reader.count("bad"), reader.count("resting"));
        reader.finish()?;
        (self.best, self.bad, self.resting) = (best, bad, resting);
        Ok(())
    }
}
