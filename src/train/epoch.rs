//! What a [`Trainer`](super::Trainer) and the code that it calls tell each other.

use std::time::Duration;

/// The loss of a batch, as a step of training gives it: a number alone, or the mean loss of so many samples,
/// `(loss, count)`, which then weighs as much in the epoch's mean.
///
/// ```
/// use pullback::train::Loss;
///
/// assert_eq!(Loss::from(0.5_f32), Loss { mean: 0.5, count: 1 });
/// assert_eq!(Loss::from((0.5_f64, 32)), Loss { mean: 0.5, count: 32 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// The mean over the samples.
    pub mean: f64,
    /// How many samples there are.
    pub count: usize,
}

impl<T: Into<f64>> From<(T, usize)> for Loss {
    fn from((mean, count): (T, usize)) -> Self {
        let mean = mean.into();
        Self { mean, count }
    }
}

impl From<f32> for Loss {
    fn from(mean: f32) -> Self {
        (mean, 1).into()
    }
}

impl From<f64> for Loss {
    fn from(mean: f64) -> Self {
        (mean, 1).into()
    }
}

/// A batch that was trained on: see [`Trainer::after_batch`](super::Trainer::after_batch).
///
/// ```
/// use pullback::train::{Loss, Output, Trainer};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut last = None;
/// let mut trainer = Trainer::new(2).output(Output::silent()).after_batch(|_, batch| {
///     last = Some(*batch);
///     Ok(())
/// });
/// trainer.fit(&mut (), |_| [Ok::<_, std::io::Error>(0.5), Ok(0.25)], |(), loss| Ok((loss, 8)))?;
/// drop(trainer);
/// let last = last.unwrap();
/// assert_eq!((last.epoch, last.index), (2, 1));
/// assert_eq!(last.loss, Loss { mean: 0.25, count: 8 });
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Batch {
    /// The epoch, from 1.
    pub epoch: usize,
    /// The batch's place in it, from 0.
    pub index: usize,
    /// Its loss.
    pub loss: Loss,
}

/// An epoch that is over, and its metrics: see [`Trainer::after_epoch`](super::Trainer::after_epoch).
///
/// ```
/// use pullback::train::{Ended, Output, Trainer};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut trainer = Trainer::new(50).output(Output::silent()).after_epoch(|_, epoch| {
///     assert_eq!(epoch.batches(), 3);
///     let loss = epoch.get("loss").ok_or("there is always a loss")?;
///     epoch.record("perplexity", loss.exp());
///     assert_eq!(epoch.metrics().len(), 2);
///     if epoch.number() == 4 || epoch.elapsed().as_secs() > 3600 {
///         epoch.stop();
///     }
///     Ok(())
/// });
/// let ended = trainer.fit(&mut (), |_| [1.0; 3].map(Ok::<_, std::io::Error>), |(), loss| Ok(loss))?;
/// assert_eq!(ended, Ended::Asked { epoch: 4 });
/// assert_eq!(trainer.history().last("perplexity"), Some(std::f64::consts::E));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Epoch {
    pub(super) number: usize,
    pub(super) batches: usize,
    pub(super) elapsed: Duration,
    pub(super) metrics: Vec<(String, f64)>,
    pub(super) stop: bool,
}

impl Epoch {
    /// Its number, from 1.
    ///
    /// ```
    /// use pullback::train::{Output, Trainer};
    ///
    /// let mut numbers = Vec::new();
    /// let mut trainer = Trainer::new(3).output(Output::silent()).after_epoch(|_, epoch| {
    ///     numbers.push(epoch.number());
    ///     Ok(())
    /// });
    /// trainer.fit(&mut (), |_| [Ok::<_, std::io::Error>(1.0)], |(), loss| Ok(loss)).unwrap();
    /// drop(trainer);
    /// assert_eq!(numbers, [1, 2, 3]);
    /// ```
    pub fn number(&self) -> usize {
        self.number
    }

    /// How many batches there were.
    ///
    /// ```
    /// use pullback::train::{Output, Trainer};
    ///
    /// let mut trainer = Trainer::new(1).output(Output::silent()).after_epoch(|_, epoch| {
    ///     assert_eq!(epoch.batches(), 5);
    ///     Ok(())
    /// });
    /// trainer.fit(&mut (), |_| [1.0; 5].map(Ok::<_, std::io::Error>), |(), loss| Ok(loss)).unwrap();
    /// ```
    pub fn batches(&self) -> usize {
        self.batches
    }

    /// How long it took, without what is done after it.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use pullback::train::{Output, Trainer};
    ///
    /// let mut trainer = Trainer::new(1).output(Output::silent()).after_epoch(|_, epoch| {
    ///     assert!(epoch.elapsed() >= Duration::from_millis(2));
    ///     Ok(())
    /// });
    /// let step = |_: &mut (), loss| {
    ///     std::thread::sleep(Duration::from_millis(2));
    ///     Ok(loss)
    /// };
    /// trainer.fit(&mut (), |_| [Ok::<_, std::io::Error>(1.0)], step).unwrap();
    /// ```
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// The metrics recorded so far, `loss` first.
    ///
    /// ```
    /// use pullback::train::{Output, Trainer};
    ///
    /// let mut trainer = Trainer::new(1).output(Output::silent()).after_epoch(|_, epoch| {
    ///     epoch.record("accuracy", 0.9);
    ///     assert_eq!(epoch.metrics(), [("loss".to_owned(), 0.5), ("accuracy".to_owned(), 0.9)]);
    ///     Ok(())
    /// });
    /// trainer.fit(&mut (), |_| [Ok::<_, std::io::Error>(0.5)], |(), loss| Ok(loss)).unwrap();
    /// ```
    pub fn metrics(&self) -> &[(String, f64)] {
        &self.metrics
    }

    /// The value of a metric.
    ///
    /// ```
    /// use pullback::train::{Output, Trainer};
    ///
    /// let mut trainer = Trainer::new(1).output(Output::silent()).after_epoch(|_, epoch| {
    ///     assert_eq!((epoch.get("loss"), epoch.get("accuracy")), (Some(0.75), None));
    ///     Ok(())
    /// });
    /// trainer.fit(&mut (), |_| [0.5, 1.0].map(Ok::<_, std::io::Error>), |(), loss| Ok(loss)).unwrap();
    /// ```
    pub fn get(&self, name: &str) -> Option<f64> {
        let metric = self.metrics.iter().find(|(known, _)| known == name);
        metric.map(|(_, value)| *value)
    }

    /// Adds a metric to the epoch's line of the history, or replaces its value.
    ///
    /// ```
    /// use pullback::train::{Output, Trainer};
    ///
    /// let mut trainer = Trainer::new(2).output(Output::silent()).after_epoch(|_, epoch| {
    ///     epoch.record("accuracy", 0.5 + 0.1 * epoch.number() as f64);
    ///     Ok(())
    /// });
    /// trainer.fit(&mut (), |_| [Ok::<_, std::io::Error>(0.5)], |(), loss| Ok(loss)).unwrap();
    /// assert_eq!(trainer.history().last("accuracy"), Some(0.7));
    /// ```
    pub fn record(&mut self, name: &str, value: f64) {
        match self.metrics.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.metrics.push((name.to_owned(), value)),
        }
    }

    /// Ends the training after this epoch.
    ///
    /// ```
    /// use pullback::train::{Ended, Output, Trainer};
    ///
    /// let mut trainer = Trainer::new(50).output(Output::silent()).after_epoch(|_, epoch| {
    ///     epoch.stop();
    ///     Ok(())
    /// });
    /// let ended = trainer.fit(&mut (), |_| [Ok::<_, std::io::Error>(0.5)], |(), loss| Ok(loss)).unwrap();
    /// assert_eq!(ended, Ended::Asked { epoch: 1 });
    /// ```
    pub fn stop(&mut self) {
        self.stop = true;
    }
}
