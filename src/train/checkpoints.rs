//! Which epochs to save, and which files to keep.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::stopping::{Best, Mode};
use crate::atomic;
use crate::data::BoxError;

/// Saves a model after some epochs: after each, after every `n`th, after those that are the best so far.
///
/// How a model is written is the caller's affair: a closure gets a path. The path is a temporary one beside
/// the target, which takes its name when it is complete and on the disk. Who finds a checkpoint, finds a whole
/// one, whatever happened while it was written.
///
/// ```
/// use std::fs;
///
/// use pullback::train::{Checkpoints, Mode};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = std::env::temp_dir().join(format!("pullback-doc-{}", std::process::id()));
/// let mut checkpoints = Checkpoints::new(folder.join("model.txt")).best(Mode::Min).keep(2);
/// for (epoch, loss) in [(1, 0.9), (2, 0.5), (3, 0.7), (4, 0.4)] {
///     checkpoints.save(epoch, loss, |path| fs::write(path, format!("trained for {epoch} epochs")))?;
/// }
/// // The third was not better; the first was removed for the fourth.
/// let names: Vec<_> = checkpoints.kept().map(|path| path.file_name().unwrap()).collect();
/// assert_eq!(names, ["model-0002.txt", "model-0004.txt"]);
///
/// let (epoch, path) = checkpoints.latest()?.unwrap();
/// assert_eq!((epoch, fs::read_to_string(path)?), (4, "trained for 4 epochs".to_owned()));
/// # fs::remove_dir_all(folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Checkpoints {
    path: PathBuf,
    every: usize,
    mode: Option<Mode>,
    keep: Option<usize>,
    best: Option<Best>,
    /// What it has written and not removed, the oldest first.
    kept: VecDeque<PathBuf>,
}

/// Why there is no checkpoint, or one too many.
///
/// ```
/// use pullback::train::{CheckpointError, Checkpoints};
///
/// let mut checkpoints = Checkpoints::new(std::env::temp_dir().join("model.bin"));
/// let error = checkpoints.save(1, 0.5, |_| Err("the model cannot be written")).unwrap_err();
/// assert!(matches!(error, CheckpointError::Write { .. }));
/// assert!(error.to_string().ends_with("model-0001.bin: the model cannot be written"));
/// ```
///
/// `Debug` writes the message too: it is what `?` in `main`, `unwrap` and `expect` show.
#[non_exhaustive]
pub enum CheckpointError {
    /// The checkpoint was not written. A file that had its name is as it was.
    Write {
        /// The checkpoint's path.
        path: PathBuf,
        /// What went wrong.
        source: BoxError,
    },
    /// The new checkpoint was written, an old one could not be removed.
    Remove {
        /// The old checkpoint's path.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
}

impl Checkpoints {
    /// Checkpoints beside `path`, with the epoch in the name: `runs/model.bin` gives `runs/model-0012.bin`.
    /// Folders are made when they are needed. After each epoch, and all are kept.
    ///
    /// # Panics
    /// If `path` has no file name.
    ///
    /// ```
    /// use pullback::train::Checkpoints;
    ///
    /// let checkpoints = Checkpoints::new("runs/model.bin");
    /// assert!(checkpoints.is_due(1, 0.9) && checkpoints.is_due(2, 5.0)); // each epoch
    /// ```
    #[track_caller]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        assert!(
            path.file_name().is_some(),
            "Checkpoints at `{}`: the path has no file name",
            path.display()
        );
        Self {
            path,
            every: 1,
            mode: None,
            keep: None,
            best: None,
            kept: VecDeque::new(),
        }
    }

    /// Only epochs whose number `epochs` divides.
    ///
    /// ```
    /// use pullback::train::Checkpoints;
    ///
    /// let checkpoints = Checkpoints::new("model.bin").every(5);
    /// let due: Vec<usize> = (1..=12).filter(|&epoch| checkpoints.is_due(epoch, 0.0)).collect();
    /// assert_eq!(due, [5, 10]);
    /// ```
    ///
    /// # Panics
    /// If it is 0.
    #[track_caller]
    #[must_use]
    pub fn every(mut self, epochs: usize) -> Self {
        assert!(
            epochs > 0,
            "Checkpoints every 0 epochs: it must be at least 1"
        );
        self.every = epochs;
        self
    }

    /// Only epochs whose value is better than those of all that were saved before.
    ///
    /// ```
    /// use pullback::train::{Checkpoints, Mode};
    ///
    /// let mut checkpoints = Checkpoints::new("model.bin").best(Mode::Max);
    /// checkpoints.replay(1, 0.8);
    /// assert!(checkpoints.is_due(2, 0.9));
    /// assert!(!checkpoints.is_due(2, 0.8));
    /// ```
    #[must_use]
    pub fn best(mut self, mode: Mode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// Keeps the last `count` and removes those before them, but only what it has written itself.
    ///
    /// ```
    /// use pullback::train::Checkpoints;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = std::env::temp_dir().join(format!("pullback-keep-doc-{}", std::process::id()));
    /// let mut checkpoints = Checkpoints::new(folder.join("model.bin")).keep(3);
    /// for epoch in 1..=10 {
    ///     checkpoints.save(epoch, 0.0, |path| std::fs::write(path, [0; 8]))?;
    /// }
    /// let first = checkpoints.kept().next().unwrap();
    /// assert!(first.ends_with("model-0008.bin"));
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    /// If it is 0.
    #[track_caller]
    #[must_use]
    pub fn keep(mut self, count: usize) -> Self {
        assert!(
            count > 0,
            "Checkpoints of which 0 are kept: it must be at least 1"
        );
        self.keep = Some(count);
        self
    }

    /// Whether an epoch with this value would be saved. What is not a number is never the best.
    ///
    /// ```
    /// use pullback::train::{Checkpoints, Mode};
    ///
    /// let mut checkpoints = Checkpoints::new("model.bin").every(2).best(Mode::Min);
    /// checkpoints.replay(2, 0.5);
    /// assert!(checkpoints.is_due(4, 0.4));
    /// assert!(!checkpoints.is_due(4, 0.6) && !checkpoints.is_due(5, 0.4));
    /// ```
    pub fn is_due(&self, epoch: usize, value: f64) -> bool {
        let best = self.best.map_or(f64::NAN, |best| best.value);
        let is_better = self.mode.is_none_or(|mode| mode.is_better(value, best));
        epoch.is_multiple_of(self.every) && is_better
    }

    /// Saves an epoch if it is due: `write` gets the path to write to, and must write a file there. Gives
    /// the checkpoint's path. One of the same epoch that was there, from an earlier run, is replaced.
    ///
    /// # Errors
    /// That of `write` or of the file system.
    ///
    /// ```
    /// use pullback::train::{Checkpoints, Mode};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = std::env::temp_dir().join(format!("pullback-save-doc-{}", std::process::id()));
    /// let mut checkpoints = Checkpoints::new(folder.join("model.txt")).best(Mode::Min);
    /// let first = checkpoints.save(1, 0.5, |path| std::fs::write(path, "weights"))?;
    /// let second = checkpoints.save(2, 0.6, |path| std::fs::write(path, "weights"))?;
    /// assert_eq!((first, second), (Some(folder.join("model-0001.txt")), None));
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn save<E: Into<BoxError>>(
        &mut self,
        epoch: usize,
        value: f64,
        write: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<Option<PathBuf>, CheckpointError> {
        if !self.is_due(epoch, value) {
            return Ok(None);
        }
        let path = self.path_of(epoch);
        let written = atomic::replace_by(&path, |beside| write(beside).map_err(Into::into));
        written.map_err(|source| CheckpointError::Write {
            path: path.clone(),
            source,
        })?;
        self.best = Some(Best { epoch, value });
        self.kept.retain(|kept| *kept != path);
        self.kept.push_back(path.clone());
        self.remove_old()?;
        Ok(Some(path))
    }

    /// Takes note of an epoch of an earlier run without saving it, so that [`best`](Self::best) goes on from
    /// there.
    ///
    /// ```
    /// use pullback::train::{Checkpoints, Mode};
    ///
    /// // What an earlier run wrote down of its epochs.
    /// let mut checkpoints = Checkpoints::new("model.bin").best(Mode::Min);
    /// for (epoch, loss) in [(1, 0.9), (2, 0.5)] {
    ///     checkpoints.replay(epoch, loss);
    /// }
    /// assert!(!checkpoints.is_due(3, 0.6));
    /// ```
    pub fn replay(&mut self, epoch: usize, value: f64) {
        if self.is_due(epoch, value) {
            self.best = Some(Best { epoch, value });
        }
    }

    /// What it has written and not removed, the oldest first.
    ///
    /// ```
    /// use pullback::train::Checkpoints;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = std::env::temp_dir().join(format!("pullback-kept-doc-{}", std::process::id()));
    /// let mut checkpoints = Checkpoints::new(folder.join("model.txt")).keep(2);
    /// for epoch in 1..=3 {
    ///     checkpoints.save(epoch, 0.0, |path| std::fs::write(path, "weights"))?;
    /// }
    /// let kept: Vec<_> = checkpoints.kept().collect();
    /// assert_eq!(kept, [folder.join("model-0002.txt"), folder.join("model-0003.txt")]);
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn kept(&self) -> impl Iterator<Item = &Path> {
        self.kept.iter().map(PathBuf::as_path)
    }

    /// The epoch that was saved last, and its value.
    ///
    /// ```
    /// use pullback::train::Checkpoints;
    ///
    /// assert_eq!(Checkpoints::new("model.bin").last_saved(), None);
    /// ```
    pub fn last_saved(&self) -> Option<Best> {
        self.best
    }

    /// The checkpoint of the highest epoch in the folder, whoever wrote it: where to go on.
    ///
    /// # Errors
    /// The folder exists and cannot be read.
    ///
    /// ```
    /// use pullback::train::Checkpoints;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = std::env::temp_dir().join(format!("pullback-latest-doc-{}", std::process::id()));
    /// let mut earlier = Checkpoints::new(folder.join("model.txt"));
    /// assert_eq!(earlier.latest()?, None);
    /// earlier.save(7, 0.5, |path| std::fs::write(path, "weights"))?;
    /// // A program that goes on asks the folder.
    /// let now = Checkpoints::new(folder.join("model.txt"));
    /// assert_eq!(now.latest()?, Some((7, folder.join("model-0007.txt"))));
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn latest(&self) -> io::Result<Option<(usize, PathBuf)>> {
        let entries = match fs::read_dir(atomic::folder_of(&self.path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            entries => entries?,
        };
        let mut latest = None;
        for entry in entries {
            let path = entry?.path();
            if let Some(epoch) = self.epoch_of(&path) {
                latest = latest.max(Some((epoch, path)));
            }
        }
        Ok(latest)
    }

    fn path_of(&self, epoch: usize) -> PathBuf {
        let mut name = OsString::from(self.path.file_stem().unwrap_or_default());
        name.push(format!("-{epoch:04}"));
        if let Some(extension) = self.path.extension() {
            name.push(".");
            name.push(extension);
        }
        self.path.with_file_name(name)
    }

    /// The epoch in the name of one of its files.
    fn epoch_of(&self, path: &Path) -> Option<usize> {
        let (_, number) = path.file_stem()?.to_str()?.rsplit_once('-')?;
        let epoch = number.parse().ok()?;
        (self.path_of(epoch).file_name() == path.file_name()).then_some(epoch)
    }

    fn remove_old(&mut self) -> Result<(), CheckpointError> {
        while self.keep.is_some_and(|keep| self.kept.len() > keep) {
            let Some(path) = self.kept.front() else { break };
            match fs::remove_file(path) {
                // Somebody else has removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => {
                    let path = path.clone();
                    return Err(CheckpointError::Remove { path, source });
                }
                Ok(()) => {}
            }
            self.kept.pop_front();
        }
        Ok(())
    }
}

impl fmt::Debug for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write { path, source } => {
                write!(
                    f,
                    "cannot write the checkpoint {}: {source}",
                    path.display()
                )
            }
            Self::Remove { path, source } => {
                write!(
                    f,
                    "cannot remove the old checkpoint {}: {source}",
                    path.display()
                )
            }
        }
    }
}

impl std::error::Error for CheckpointError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Write { source, .. } => Some(&**source),
            Self::Remove { source, .. } => Some(source),
        }
    }
}

#[cfg(test)]
mod tests;
