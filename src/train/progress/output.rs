//! Where progress is shown.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often a line is printed where there is no terminal.
pub(super) const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Where progress is shown, and how. What cannot be written is left out: a training must not end for
/// its display.
///
/// ```
/// use std::time::Duration;
///
/// use pullback::train::{Output, Progress};
///
/// let output = match std::env::var("QUIET") {
///     Ok(_) => Output::silent(),
///     Err(_) => Output::lines(std::io::stdout(), Duration::from_secs(60)),
/// };
/// let progress = Progress::on(&output, "files", None);
/// assert_eq!(progress.over(["a.txt", "b.txt"]).count(), 2);
/// progress.finish();
/// ```
#[derive(Clone)]
pub struct Output {
    writer: Option<Arc<Mutex<dyn Write + Send>>>,
    pub(super) style: Style,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Style {
    Bar { width: usize },
    Lines { interval: Duration },
}

impl Output {
    /// The standard error: a bar if it is a terminal, and plain lines if it is a file, a pipe or a terminal
    /// that cannot move back in its line. A bar is as wide as `COLUMNS` says, or 80.
    ///
    /// ```
    /// use pullback::train::{Output, Progress};
    ///
    /// let progress = Progress::on(&Output::stderr(), "files", Some(1));
    /// progress.inc(1);
    /// progress.finish();
    /// ```
    pub fn stderr() -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if dumb || !io::stderr().is_terminal() {
            return Self::lines(io::stderr(), LINE_INTERVAL);
        }
        let columns = std::env::var("COLUMNS");
        let columns = columns.ok().and_then(|columns| columns.parse().ok());
        Self::bar(io::stderr(), columns.unwrap_or(80))
    }

    /// Nothing is shown.
    ///
    /// ```
    /// use pullback::train::{Output, Progress};
    ///
    /// let progress = Progress::on(&Output::silent(), "files", Some(3));
    /// progress.inc(3);
    /// assert_eq!(progress.done(), 3);
    /// ```
    pub fn silent() -> Self {
        Self {
            writer: None,
            style: Style::Bar { width: 0 },
        }
    }

    /// A bar, drawn again and again in one line of `width` columns.
    ///
    /// ```
    /// use pullback::train::{Output, Progress};
    ///
    /// let progress = Progress::on(&Output::bar(std::io::stdout(), 100), "files", Some(2));
    /// progress.over(["a.txt", "b.txt"]).for_each(drop);
    /// progress.finish();
    /// ```
    pub fn bar(writer: impl Write + Send + 'static, width: usize) -> Self {
        Self {
            writer: Some(Arc::new(Mutex::new(writer))),
            style: Style::Bar { width },
        }
    }

    /// A line whenever `interval` is over, and one in the end.
    ///
    /// ```
    /// use std::io::Read;
    /// use std::time::Duration;
    ///
    /// use pullback::train::{Output, Progress};
    ///
    /// let (mut reader, writer) = std::io::pipe()?;
    /// let progress = Progress::on(&Output::lines(writer, Duration::from_secs(60)), "files", Some(2));
    /// progress.over(["a.txt", "b.txt"]).for_each(drop);
    /// progress.finish();
    /// drop(progress);
    /// let mut text = String::new();
    /// reader.read_to_string(&mut text)?;
    /// assert!(text.starts_with("files: 2 in"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn lines(writer: impl Write + Send + 'static, interval: Duration) -> Self {
        Self {
            writer: Some(Arc::new(Mutex::new(writer))),
            style: Style::Lines { interval },
        }
    }

    pub(super) fn write(&self, text: &str) {
        if let Some(writer) = &self.writer {
            let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = writer
                .write_all(text.as_bytes())
                .and_then(|()| writer.flush());
        }
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Output");
        let style = self.writer.as_ref().map(|_| self.style);
        shown.field("style", &style).finish_non_exhaustive()
    }
}
