//! The loop over epochs and batches.

use std::fmt;
use std::path::{Path, PathBuf};

use super::checkpoints::Checkpoints;
use super::epoch::{Batch, Epoch};
use super::history::History;
use super::progress::Output;
use super::stopping::EarlyStopping;
use crate::data::BoxError;

mod fit;
mod outcome;

pub use outcome::{Ended, TrainError};

/// Runs epochs: batches through a step of the user's, then metrics, history, checkpoints, early stopping.
///
/// `S` is what is trained, model and optimiser and whatever else changes, as one value: the step and all
/// callbacks get it as `&mut S`. Epochs are counted from 1. After each, in this order: the callbacks, in which
/// further metrics are recorded; the history and early stopping; the history's file; checkpoints.
///
/// ```
/// use pullback::data::{DataLoader, from_fn};
/// use pullback::train::{EarlyStopping, Ended, Mode, Output, Trainer};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Learns the mean of 0 to 9, without a tensor.
/// let loader = DataLoader::new(from_fn(10, |index| Ok(index as f64))).batch_size(4).shuffle(1);
/// let mut model = 0.0;
/// let mut trainer = Trainer::new(100)
///     .output(Output::silent())
///     .after_epoch(|model: &mut f64, epoch| {
///         epoch.record("error", (*model - 4.5).abs());
///         Ok(())
///     })
///     .stop_early("error", EarlyStopping::new(Mode::Min, 10).min_delta(0.05));
/// let ended = trainer.fit(
///     &mut model,
///     |epoch| loader.epoch(epoch),
///     |model, batch| {
///         let errors = batch - *model;
///         *model += 0.05 * errors.mean().ok_or("an empty batch")?;
///         Ok(((&errors * &errors).sum() / errors.len() as f64, errors.len()))
///     },
/// )?;
/// assert!(matches!(ended, Ended::Early { .. }));
/// assert!(trainer.history().best("error", Mode::Min).unwrap().value < 0.5);
/// # Ok(())
/// # }
/// ```
pub struct Trainer<'a, S> {
    epochs: usize,
    output: Output,
    history: History,
    /// The last epoch that the policies know.
    seen: Option<usize>,
    csv: Option<PathBuf>,
    after_batch: Vec<AfterBatch<'a, S>>,
    after_epoch: Vec<AfterEpoch<'a, S>>,
    stopping: Vec<(String, EarlyStopping)>,
    checkpoints: Vec<Saving<'a, S>>,
}

type AfterBatch<'a, S> = Box<dyn FnMut(&mut S, &Batch) -> Result<(), BoxError> + 'a>;
type AfterEpoch<'a, S> = Box<dyn FnMut(&mut S, &mut Epoch) -> Result<(), BoxError> + 'a>;
type Write<'a, S> = Box<dyn FnMut(&mut S, &Path) -> Result<(), BoxError> + 'a>;

struct Saving<'a, S> {
    metric: String,
    checkpoints: Checkpoints,
    write: Write<'a, S>,
}

impl<'a, S> Trainer<'a, S> {
    /// So many epochs, shown on the [standard error](Output::stderr).
    ///
    /// ```
    /// use pullback::train::{Ended, Output, Trainer};
    ///
    /// let mut epochs = 0;
    /// let mut trainer = Trainer::new(5).output(Output::silent());
    /// let ended = trainer.fit(&mut epochs, |_| [Ok::<_, std::io::Error>(0.5)], |epochs, loss| {
    ///     *epochs += 1;
    ///     Ok(loss)
    /// });
    /// assert_eq!((ended.unwrap(), epochs), (Ended::AllEpochs, 5));
    /// ```
    pub fn new(epochs: usize) -> Self {
        Self {
            epochs,
            output: Output::stderr(),
            history: History::new(),
            seen: None,
            csv: None,
            after_batch: Vec::new(),
            after_epoch: Vec::new(),
            stopping: Vec::new(),
            checkpoints: Vec::new(),
        }
    }

    /// Shows its progress elsewhere, or nowhere.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use pullback::train::{Output, Trainer};
    ///
    /// // In a file, a line a minute.
    /// let output = Output::lines(std::io::stdout(), Duration::from_secs(60));
    /// let mut trainer = Trainer::new(1).output(output);
    /// trainer.fit(&mut (), |_| [Ok::<_, std::io::Error>(0.5)], |(), loss| Ok(loss)).unwrap();
    /// assert_eq!(trainer.history().len(), 1);
    /// ```
    #[must_use]
    pub fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    /// Goes on after the last epoch of `history`, as if it had run these itself: patience and the best
    /// values are those of then. Model and optimiser are the caller's to restore.
    ///
    /// ```
    /// use pullback::train::{History, Output, Trainer};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut history = History::new();
    /// history.push(1, [("loss", 0.9)]);
    /// history.push(2, [("loss", 0.8)]);
    /// let mut epochs = Vec::new();
    /// let mut trainer = Trainer::new(4).output(Output::silent()).resume(history);
    /// trainer.fit(&mut epochs, |epoch| [Ok::<_, std::io::Error>(epoch)], |epochs, epoch| {
    ///     epochs.push(epoch);
    ///     Ok(0.5)
    /// })?;
    /// assert_eq!(epochs, [3, 4]);
    /// assert_eq!(trainer.history().len(), 4);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn resume(mut self, history: History) -> Self {
        self.history = history;
        self
    }

    /// Writes the history to a file after each epoch.
    ///
    /// ```
    /// use pullback::train::{History, Output, Trainer};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = std::env::temp_dir().join(format!("pullback-csv-doc-{}", std::process::id()));
    /// let path = folder.join("history.csv");
    /// let mut trainer = Trainer::new(3).output(Output::silent()).history_csv(&path);
    /// trainer.fit(&mut (), |_| [Ok::<_, std::io::Error>(0.5)], |(), loss| Ok(loss))?;
    /// assert_eq!(&History::read_csv(&path)?, trainer.history());
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn history_csv(mut self, path: impl Into<PathBuf>) -> Self {
        self.csv = Some(path.into());
        self
    }

    /// Calls `f` after each batch: to change the learning rate, to count steps.
    ///
    /// ```
    /// use pullback::train::{Output, Trainer};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// struct State {
    ///     rate: f64,
    /// }
    ///
    /// let mut state = State { rate: 0.1 };
    /// let mut trainer = Trainer::new(3).output(Output::silent()).after_batch(|state: &mut State, _| {
    ///     state.rate *= 0.5;
    ///     Ok(())
    /// });
    /// trainer.fit(&mut state, |_| [Ok::<_, std::io::Error>(0.5)], |_, loss| Ok(loss))?;
    /// assert_eq!(state.rate, 0.0125);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn after_batch(
        mut self,
        f: impl FnMut(&mut S, &Batch) -> Result<(), BoxError> + 'a,
    ) -> Self {
        self.after_batch.push(Box::new(f));
        self
    }

    /// Calls `f` after each epoch: to evaluate on other data and [record](Epoch::record) what comes of it,
    /// or to [stop](Epoch::stop).
    ///
    /// ```
    /// use pullback::train::{Output, Trainer};
    ///
    /// let mut model = 8.0;
    /// let mut trainer = Trainer::new(3).output(Output::silent()).after_epoch(|model: &mut f64, epoch| {
    ///     epoch.record("size", model.abs()); // on data of its own, usually
    ///     Ok(())
    /// });
    /// trainer.fit(&mut model, |_| [Ok::<_, std::io::Error>(0.5)], |model, factor| {
    ///     *model *= factor;
    ///     Ok(*model)
    /// }).unwrap();
    /// let sizes: Vec<(usize, f64)> = trainer.history().values("size").collect();
    /// assert_eq!(sizes, [(1, 4.0), (2, 2.0), (3, 1.0)]);
    /// ```
    #[must_use]
    pub fn after_epoch(
        mut self,
        f: impl FnMut(&mut S, &mut Epoch) -> Result<(), BoxError> + 'a,
    ) -> Self {
        self.after_epoch.push(Box::new(f));
        self
    }

    /// Stops when `metric`, `"loss"` or one that a callback records in each epoch, does not improve any
    /// more. Of several, the first to lose patience counts.
    ///
    /// ```
    /// use pullback::train::{EarlyStopping, Ended, Mode, Output, Trainer};
    ///
    /// let losses = [0.9, 0.5, 0.6, 0.7, 0.1];
    /// let mut trainer =
    ///     Trainer::new(5).output(Output::silent()).stop_early("loss", EarlyStopping::new(Mode::Min, 2));
    /// let batches = |epoch| [Ok::<_, std::io::Error>(losses[usize::try_from(epoch).unwrap() - 1])];
    /// assert_eq!(trainer.fit(&mut (), batches, |(), loss| Ok(loss)).unwrap(), Ended::Early { epoch: 4 });
    /// ```
    #[must_use]
    pub fn stop_early(mut self, metric: &str, stopping: EarlyStopping) -> Self {
        self.stopping.push((metric.to_owned(), stopping));
        self
    }

    /// Saves checkpoints, of which those of the best epochs are judged by `metric`. There may be several
    /// policies: the last three epochs, and the best.
    ///
    /// ```
    /// use std::fs;
    ///
    /// use pullback::train::{Checkpoints, Mode, Output, Trainer};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = std::env::temp_dir().join(format!("pullback-trainer-doc-{}", std::process::id()));
    /// let best = Checkpoints::new(folder.join("best.txt")).best(Mode::Min).keep(1);
    /// let mut trainer = Trainer::new(5)
    ///     .output(Output::silent())
    ///     .checkpoints("loss", best, |model: &mut i32, path| Ok(fs::write(path, model.to_string())?));
    /// trainer.fit(&mut 0, |_| [Ok::<_, std::io::Error>(())], |model, ()| {
    ///     *model += 1;
    ///     Ok(f64::from((*model - 3).pow(2)))
    /// })?;
    /// let kept: Vec<_> = trainer.kept().collect();
    /// assert_eq!(kept, [folder.join("best-0003.txt")]);
    /// assert_eq!(fs::read_to_string(kept[0])?, "3");
    /// # fs::remove_dir_all(folder)?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn checkpoints(
        mut self,
        metric: &str,
        checkpoints: Checkpoints,
        write: impl FnMut(&mut S, &Path) -> Result<(), BoxError> + 'a,
    ) -> Self {
        self.checkpoints.push(Saving {
            metric: metric.to_owned(),
            checkpoints,
            write: Box::new(write),
        });
        self
    }

    /// The metrics of all epochs that are complete.
    ///
    /// ```
    /// use pullback::train::{Output, Trainer};
    ///
    /// let mut trainer = Trainer::new(2).output(Output::silent());
    /// let batches = |_| [1.0, 2.0].map(Ok::<_, std::io::Error>);
    /// trainer.fit(&mut (), batches, |(), loss| Ok(loss)).unwrap();
    /// assert_eq!(trainer.history().to_csv(), "epoch,loss\n1,1.5\n2,1.5\n");
    /// ```
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The checkpoints that are kept, policy by policy, the oldest first.
    ///
    /// ```
    /// use pullback::train::{Checkpoints, Output, Trainer};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = std::env::temp_dir().join(format!("pullback-trainer-kept-doc-{}", std::process::id()));
    /// let last = Checkpoints::new(folder.join("last.txt")).keep(1);
    /// let mut trainer = Trainer::new(3).output(Output::silent()).checkpoints("loss", last, |_, path| {
    ///     Ok(std::fs::write(path, "weights")?)
    /// });
    /// trainer.fit(&mut (), |_| [Ok::<_, std::io::Error>(0.5)], |(), loss| Ok(loss))?;
    /// assert_eq!(trainer.kept().collect::<Vec<_>>(), [folder.join("last-0003.txt")]);
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn kept(&self) -> impl Iterator<Item = &Path> {
        self.checkpoints
            .iter()
            .flat_map(|saving| saving.checkpoints.kept())
    }
}

impl<S> fmt::Debug for Trainer<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trainer")
            .field("epochs", &self.epochs)
            .field("history", &self.history)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
