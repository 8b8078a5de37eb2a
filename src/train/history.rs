//! The metrics of all epochs.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use super::stopping::{Best, Mode};
use crate::atomic;

mod csv;

pub use csv::CsvError;

/// The metrics of each epoch, by name: to draw, to save as CSV, to go on from.
///
/// ```
/// use pullback::train::{Best, History, Mode};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut history = History::new();
/// history.push(1, [("loss", 0.9), ("accuracy", 0.5)]);
/// history.push(2, [("loss", 0.4), ("accuracy", 0.8)]);
/// history.push(3, [("loss", 0.5)]);
///
/// let curve: Vec<(usize, f64)> = history.values("accuracy").collect();
/// assert_eq!(curve, [(1, 0.5), (2, 0.8)]);
/// assert_eq!(history.best("loss", Mode::Min), Some(Best { epoch: 2, value: 0.4 }));
/// assert_eq!(history.to_csv(), "epoch,loss,accuracy\n1,0.9,0.5\n2,0.4,0.8\n3,0.5,\n");
/// assert_eq!(History::from_csv(&history.to_csv())?, history);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    names: Vec<String>,
    epochs: Vec<Row>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Row {
    epoch: usize,
    /// In the order of the names; those at the end may be missing.
    values: Vec<Option<f64>>,
}

impl History {
    /// Of no epoch yet.
    ///
    /// ```
    /// use pullback::train::History;
    ///
    /// assert_eq!(History::new().to_csv(), "epoch\n");
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an epoch. Names may be new, and not all need a value. Of several values of one name the last
    /// counts.
    ///
    /// # Panics
    /// If the epoch is not after the last one.
    ///
    /// ```
    /// use pullback::train::History;
    ///
    /// let mut history = History::new();
    /// history.push(1, [("loss", 0.9)]);
    /// history.push(3, [("loss", 0.4), ("accuracy", 0.8)]);
    /// assert_eq!((history.get(1, "accuracy"), history.get(3, "accuracy")), (None, Some(0.8)));
    /// ```
    #[track_caller]
    pub fn push<N: AsRef<str>>(
        &mut self,
        epoch: usize,
        metrics: impl IntoIterator<Item = (N, f64)>,
    ) {
        if let Some(last) = self.last_epoch() {
            assert!(
                epoch > last,
                "History with epoch {epoch} after epoch {last}: epochs rise"
            );
        }
        let mut values = Vec::new();
        for (name, value) in metrics {
            let column = self.column_or_new(name.as_ref());
            values.resize(values.len().max(column + 1), None);
            values[column] = Some(value);
        }
        self.epochs.push(Row { epoch, values });
    }

    /// The names of all metrics, in the order in which they came.
    ///
    /// ```
    /// use pullback::train::History;
    ///
    /// let mut history = History::new();
    /// history.push(1, [("loss", 0.9)]);
    /// history.push(2, [("accuracy", 0.8), ("loss", 0.4)]);
    /// assert_eq!(history.names(), ["loss", "accuracy"]);
    /// ```
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of epochs.
    ///
    /// ```
    /// use pullback::train::History;
    ///
    /// let mut history = History::new();
    /// history.push(10, [("loss", 0.9)]);
    /// assert_eq!(history.len(), 1);
    /// ```
    pub fn len(&self) -> usize {
        self.epochs.len()
    }

    /// Whether there is no epoch.
    ///
    /// ```
    /// use pullback::train::History;
    ///
    /// let mut history = History::new();
    /// assert!(history.is_empty());
    /// history.push(1, [("loss", 0.9)]);
    /// assert!(!history.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.epochs.is_empty()
    }

    /// The last epoch, after which a run goes on.
    ///
    /// ```
    /// use pullback::train::History;
    ///
    /// let mut history = History::new();
    /// assert_eq!(history.last_epoch(), None);
    /// history.push(7, [("loss", 0.9)]);
    /// assert_eq!(history.last_epoch(), Some(7));
    /// ```
    pub fn last_epoch(&self) -> Option<usize> {
        self.epochs.last().map(|row| row.epoch)
    }

    /// The values of a metric with their epochs; nothing for epochs without, or a name that never came.
    ///
    /// ```
    /// use pullback::train::History;
    ///
    /// let mut history = History::new();
    /// history.push(1, [("loss", 0.9)]);
    /// history.push(2, [("loss", 0.6), ("accuracy", 0.8)]);
    /// assert_eq!(history.values("loss").collect::<Vec<_>>(), [(1, 0.9), (2, 0.6)]);
    /// assert_eq!(history.values("accuracy").collect::<Vec<_>>(), [(2, 0.8)]);
    /// ```
    pub fn values(&self, name: &str) -> impl DoubleEndedIterator<Item = (usize, f64)> + '_ {
        let column = self.column(name);
        let value = move |row: &Row| *row.values.get(column?)?;
        let values = self.epochs.iter();
        values.filter_map(move |row| Some((row.epoch, value(row)?)))
    }

    /// The value of a metric in an epoch.
    ///
    /// ```
    /// use pullback::train::History;
    ///
    /// let mut history = History::new();
    /// history.push(7, [("loss", 0.9)]);
    /// assert_eq!(history.get(7, "loss"), Some(0.9));
    /// assert_eq!(history.get(7, "accuracy"), None);
    /// ```
    pub fn get(&self, epoch: usize, name: &str) -> Option<f64> {
        let column = self.column(name)?;
        let row = self.epochs.binary_search_by_key(&epoch, |row| row.epoch);
        *self.epochs[row.ok()?].values.get(column)?
    }

    /// The newest value of a metric.
    ///
    /// ```
    /// use pullback::train::History;
    ///
    /// let mut history = History::new();
    /// history.push(1, [("loss", 0.9), ("accuracy", 0.5)]);
    /// history.push(2, [("loss", 0.4)]);
    /// assert_eq!(history.last("loss"), Some(0.4));
    /// assert_eq!(history.last("accuracy"), Some(0.5));
    /// ```
    pub fn last(&self, name: &str) -> Option<f64> {
        self.values(name).next_back().map(|(_, value)| value)
    }

    /// The best value of a metric, if there is a number among them.
    ///
    /// ```
    /// use pullback::train::{Best, History, Mode};
    ///
    /// let mut history = History::new();
    /// (1..).zip([0.9, f64::NAN, 0.4, 0.5]).for_each(|(epoch, loss)| history.push(epoch, [("loss", loss)]));
    /// assert_eq!(history.best("loss", Mode::Min), Some(Best { epoch: 3, value: 0.4 }));
    /// assert_eq!(history.best("accuracy", Mode::Max), None);
    /// ```
    pub fn best(&self, name: &str, mode: Mode) -> Option<Best> {
        let numbers = self.values(name).filter(|(_, value)| !value.is_nan());
        let all = numbers.map(|(epoch, value)| Best { epoch, value });
        all.reduce(|best, other| {
            if mode.is_better(other.value, best.value) {
                other
            } else {
                best
            }
        })
    }

    /// Removes all epochs after `epoch`: for a run that goes on from an earlier checkpoint.
    ///
    /// ```
    /// use pullback::train::History;
    ///
    /// let mut history = History::new();
    /// (1..=5).for_each(|epoch| history.push(epoch, [("loss", 1.0)]));
    /// history.truncate(3);
    /// assert_eq!(history.last_epoch(), Some(3));
    /// ```
    pub fn truncate(&mut self, epoch: usize) {
        self.epochs.retain(|row| row.epoch <= epoch);
    }

    /// A table with a line for each epoch: `epoch,loss,…`. Numbers have as many digits as it takes to read
    /// the same ones again; a value that is missing is an empty field. Names with a comma or a quote are
    /// quoted (RFC 4180).
    ///
    /// ```
    /// use pullback::train::History;
    ///
    /// let mut history = History::new();
    /// history.push(1, [("loss", 0.9)]);
    /// history.push(2, [("loss", 0.4), ("accuracy", 0.8)]);
    /// assert_eq!(history.to_csv(), "epoch,loss,accuracy\n1,0.9,\n2,0.4,0.8\n");
    /// ```
    pub fn to_csv(&self) -> String {
        csv::write(self)
    }

    /// Reads what [`to_csv`](Self::to_csv) wrote.
    ///
    /// ```
    /// use pullback::train::History;
    ///
    /// let error = History::from_csv("epoch,loss\n1,0.5\n2,much\n").unwrap_err();
    /// assert_eq!(error.to_string(), "line 3: `much` is not a number");
    /// ```
    ///
    /// # Errors
    /// Text that is no such table, with the line.
    pub fn from_csv(text: &str) -> Result<Self, CsvError> {
        csv::read(text)
    }

    /// Writes [`to_csv`](Self::to_csv) to a file, which is there whole or not at all. Folders are made
    /// when they are needed.
    ///
    /// ```
    /// use pullback::train::History;
    ///
    /// let folder = std::env::temp_dir().join(format!("pullback-write-doc-{}", std::process::id()));
    /// let mut history = History::new();
    /// history.push(1, [("loss", 0.5)]);
    /// history.write_csv(folder.join("first/history.csv"))?;
    /// assert_eq!(std::fs::read_to_string(folder.join("first/history.csv"))?, "epoch,loss\n1,0.5\n");
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write_csv(&self, path: impl AsRef<Path>) -> io::Result<()> {
        atomic::replace_by(path.as_ref(), |beside| fs::write(beside, self.to_csv()))
    }

    /// Reads a file that [`write_csv`](Self::write_csv) wrote.
    ///
    /// ```
    /// use pullback::train::History;
    ///
    /// let path = std::env::temp_dir().join(format!("pullback-read-doc-{}.csv", std::process::id()));
    /// std::fs::write(&path, "epoch,loss\n1,0.5\n")?;
    /// assert_eq!(History::read_csv(&path)?.last("loss"), Some(0.5));
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of the file system; [`io::ErrorKind::InvalidData`] with a [`CsvError`] for a file that is
    /// something else.
    pub fn read_csv(path: impl AsRef<Path>) -> io::Result<Self> {
        let text = fs::read_to_string(path)?;
        Self::from_csv(&text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    fn column_or_new(&mut self, name: &str) -> usize {
        self.column(name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }
}

impl fmt::Display for History {
    /// The CSV.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_csv())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_missing() {
        let mut history = History::new();
        assert!(history.is_empty());
        history.push(1, [("a", 1.0)]);
        history.push(3, [] as [(&str, f64); 0]);
        history.push(4, [("b", 2.0), ("b", 3.0), ("a", f64::NAN)]);
        assert_eq!((history.get(1, "b"), history.get(2, "a")), (None, None));
        assert_eq!((history.get(4, "b"), history.last("c")), (Some(3.0), None));
        assert_eq!(history.values("a").count(), 2);
        assert_eq!(history.best("a", Mode::Max).unwrap().epoch, 1);
        assert_eq!(history.best("c", Mode::Max), None);
        assert_eq!(history.to_csv(), "epoch,a,b\n1,1.0,\n3,,\n4,NaN,3.0\n");
    }

    #[test]
    fn of_equal_values_the_first_is_the_best() {
        let mut history = History::new();
        (1..4).for_each(|epoch| history.push(epoch, [("a", 2.0)]));
        assert_eq!(history.best("a", Mode::Min).unwrap().epoch, 1);
    }

    #[test]
    #[should_panic(expected = "History with epoch 2 after epoch 2: epochs rise")]
    fn an_epoch_comes_once() {
        let mut history = History::new();
        history.push(2, [("a", 1.0)]);
        history.push(2, [("a", 1.0)]);
    }
}
