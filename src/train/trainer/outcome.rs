//! How a training ended.

use std::error::Error;
use std::fmt;

use crate::data::BoxError;

/// How a training ended.
///
/// ```
/// use pullback::train::{Ended, Output, Trainer};
///
/// let mut trainer = Trainer::new(3).output(Output::silent());
/// let ended = trainer.fit(&mut (), |_| [Ok::<_, std::io::Error>(0.5)], |(), loss| Ok(loss));
/// match ended.unwrap() {
///     Ended::AllEpochs => assert_eq!(trainer.history().last_epoch(), Some(3)),
///     Ended::Early { epoch } | Ended::Asked { epoch } => panic!("it ended after epoch {epoch}"),
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All epochs are done.
    AllEpochs,
    /// A metric did not improve any more, after this epoch.
    Early {
        /// The last epoch.
        epoch: usize,
    },
    /// A callback [asked for it](crate::train::Epoch::stop), after this epoch.
    Asked {
        /// The last epoch.
        epoch: usize,
    },
}

/// What went wrong in a training, and where.
///
/// ```
/// use pullback::train::{Output, Trainer};
///
/// let mut trainer = Trainer::new(2).output(Output::silent());
/// let batches = |_| [Ok(1.0), Ok(f64::NAN), Err("damaged")];
/// let error = trainer.fit(&mut (), batches, |(), loss| Ok(loss)).unwrap_err();
/// assert_eq!((error.epoch(), error.batch()), (1, Some(1)));
/// assert_eq!(error.to_string(), "epoch 1, batch 1: the loss is NaN");
/// ```
///
/// `Debug` writes the message too: it is what `?` in `main`, `unwrap` and `expect` show.
pub struct TrainError {
    epoch: usize,
    batch: Option<usize>,
    source: BoxError,
}

impl TrainError {
    pub(super) fn new(epoch: usize, batch: Option<usize>, source: BoxError) -> Self {
        Self {
            epoch,
            batch,
            source,
        }
    }

    /// The epoch, from 1.
    ///
    /// ```
    /// use pullback::train::{Output, Trainer};
    ///
    /// let mut trainer = Trainer::new(5).output(Output::silent());
    /// let batches = |epoch| [if epoch < 3 { Ok(0.5) } else { Err("damaged") }];
    /// let error = trainer.fit(&mut (), batches, |(), loss| Ok(loss)).unwrap_err();
    /// assert_eq!(error.epoch(), 3);
    /// ```
    pub fn epoch(&self) -> usize {
        self.epoch
    }

    /// The batch, from 0, if it was one.
    ///
    /// ```
    /// use pullback::train::{Output, Trainer};
    ///
    /// let mut trainer = Trainer::new(5).output(Output::silent());
    /// let batches = |_| [Ok(0.5), Err("damaged")];
    /// let error = trainer.fit(&mut (), batches, |(), loss| Ok(loss)).unwrap_err();
    /// assert_eq!(error.batch(), Some(1));
    /// ```
    pub fn batch(&self) -> Option<usize> {
        self.batch
    }
}

impl fmt::Debug for TrainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for TrainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.batch {
            Some(batch) => write!(f, "epoch {}, batch {batch}: {}", self.epoch, self.source),
            None => write!(f, "epoch {}: {}", self.epoch, self.source),
        }
    }
}

impl Error for TrainError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}
