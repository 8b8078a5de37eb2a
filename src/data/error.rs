//! What can go wrong while batches are made.

use std::any::Any;
use std::error::Error;
use std::fmt;

/// An error of the user's: `?` makes one of any error, and `"text".into()` of a text.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Why there is no batch.
///
/// ```
/// use pullback::data::{DataError, DataLoader, from_fn};
///
/// let files = from_fn(3, |index| match index {
///     1 => Err("the file is damaged".into()),
///     _ => Ok(index),
/// });
/// let batches: Vec<_> = DataLoader::new(files).epoch(0).collect();
/// assert!(matches!(batches[1], Err(DataError::Item { index: 1, .. })));
/// assert_eq!(
///     batches[1].as_ref().unwrap_err().to_string(),
///     "item 1 of the data set: the file is damaged"
/// );
/// assert_eq!(batches[2].as_ref().unwrap(), &[2]);
/// ```
///
/// `Debug` writes the message too: it is what `?` in `main`, `unwrap` and `expect` show.
#[non_exhaustive]
pub enum DataError {
    /// The data set gave an error for an item, or panicked.
    Item {
        /// The item's index in the data set.
        index: usize,
        /// What the data set said; [`Panicked`] if it panicked.
        source: BoxError,
    },
    /// A sampler asked for an item that the data set does not have.
    OutOfBounds {
        /// The index that was asked for.
        index: usize,
        /// The length of the data set.
        len: usize,
    },
    /// The items could not be put together, or the function that does it panicked.
    Collate {
        /// The items' indices in the data set.
        indices: Vec<usize>,
        /// What the function said; [`Panicked`] if it panicked.
        source: BoxError,
    },
}

impl fmt::Debug for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Item { index, source } => write!(f, "item {index} of the data set: {source}"),
            Self::OutOfBounds { index, len } => write!(
                f,
                "the sampler asked for item {index} of a data set of length {len}"
            ),
            Self::Collate { indices, source } => {
                write!(f, "a batch of the items {indices:?}: {source}")
            }
        }
    }
}

impl Error for DataError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Item { source, .. } | Self::Collate { source, .. } => Some(&**source),
            Self::OutOfBounds { .. } => None,
        }
    }
}

/// A panic of a data set or of a function that collates, as an error: its message.
///
/// ```
/// use pullback::data::{DataError, DataLoader, Panicked, from_fn};
///
/// let broken = from_fn(1, |_| -> Result<usize, _> { panic!("no such file") });
/// let error = DataLoader::new(broken).epoch(0).next().unwrap().unwrap_err();
/// let DataError::Item { index: 0, source } = error else { panic!() };
/// assert_eq!(source.downcast_ref::<Panicked>().unwrap().message(), "no such file");
/// ```
///
/// `Debug` writes the message too: it is what `?` in `main`, `unwrap` and `expect` show.
#[derive(Clone, PartialEq, Eq)]
pub struct Panicked {
    message: String,
}

impl Panicked {
    pub(super) fn new(payload: &(dyn Any + Send)) -> Self {
        let text = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned());
        let message = text.or_else(|| payload.downcast_ref::<String>().cloned());
        Self {
            message: message.unwrap_or_else(|| "(not a text)".to_owned()),
        }
    }

    /// What it panicked with.
    ///
    /// ```
    /// use pullback::data::{DataError, DataLoader, Panicked, from_fn};
    ///
    /// let broken = from_fn(1, |index| Ok([1, 2, 3][index + 3]));
    /// let Some(Err(DataError::Item { source, .. })) = DataLoader::new(broken).epoch(0).next() else { panic!() };
    /// let panicked = source.downcast_ref::<Panicked>().unwrap();
    /// assert!(panicked.message().contains("index out of bounds"));
    /// ```
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Debug for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the code that makes it panicked: {}", self.message)
    }
}

impl Error for Panicked {}
