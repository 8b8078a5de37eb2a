//! How far a loop is.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

mod output;
mod text;

pub use output::Output;

use output::Style;
use text::Shown;

/// How often a bar is drawn at most.
const BAR_INTERVAL: Duration = Duration::from_millis(100);

/// Shows how far a loop is: how many steps of how many, at what rate, the time left, and metrics.
///
/// In a terminal it is a bar; elsewhere plain lines, one every ten seconds and one in the end:
///
/// ```text
/// epoch 3/60 [==========>              ] 20/45, 131/s, 0.2 s left, loss 0.2815
/// epoch 3/60: 45 in 0.3 s, 131/s, loss 0.2734
/// ```
///
/// ```
/// use pullback::train::{Mean, Metric, Output, Progress};
///
/// let progress = Progress::on(&Output::silent(), "epoch 1/1", None);
/// let mut loss = Mean::new();
/// for batch in progress.over([0.3, 0.1]) {
///     loss.add(batch);
///     progress.set("loss", loss.value());
/// }
/// progress.finish();
/// assert_eq!(progress.done(), 2);
/// ```
#[derive(Debug)]
pub struct Progress {
    output: Output,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    label: String,
    total: Option<usize>,
    done: usize,
    metrics: Vec<(String, f64)>,
    start: Instant,
    /// When it was drawn last.
    drawn: Instant,
    /// Whether a bar stands in the line.
    is_open: bool,
    is_finished: bool,
}

impl Progress {
    /// On the [standard error](Output::stderr), of so many steps if that is known.
    ///
    /// ```
    /// use pullback::train::Progress;
    ///
    /// let progress = Progress::new("files", Some(3));
    /// progress.inc(3);
    /// progress.finish(); // on the standard error
    /// assert_eq!(progress.done(), 3);
    /// ```
    pub fn new(label: impl Into<String>, total: Option<usize>) -> Self {
        Self::on(&Output::stderr(), label, total)
    }

    /// As [`new`](Self::new), shown elsewhere.
    ///
    /// ```
    /// use std::io;
    /// use std::time::Duration;
    ///
    /// use pullback::train::{Output, Progress};
    ///
    /// let output = Output::lines(io::stdout(), Duration::from_secs(60));
    /// let progress = Progress::on(&output, "files", Some(3));
    /// progress.inc(3);
    /// progress.finish(); // files: 3 in 0.0 s, …
    /// ```
    pub fn on(output: &Output, label: impl Into<String>, total: Option<usize>) -> Self {
        let now = Instant::now();
        let state = State {
            label: label.into(),
            total,
            done: 0,
            metrics: Vec::new(),
            start: now,
            drawn: now,
            is_open: false,
            is_finished: false,
        };
        Self {
            output: output.clone(),
            state: Mutex::new(state),
        }
    }

    /// The same items, counted as the loop is done with them. Their number becomes the total, if they know
    /// it and none was given.
    ///
    /// ```
    /// use pullback::train::{Output, Progress};
    ///
    /// let progress = Progress::on(&Output::silent(), "numbers", None);
    /// for number in progress.over([0, 1, 2]) {
    ///     assert_eq!(progress.done(), number); // without the one at hand
    /// }
    /// assert_eq!(progress.done(), 3);
    /// ```
    pub fn over<I: IntoIterator>(&self, items: I) -> Over<'_, I::IntoIter> {
        let items = items.into_iter();
        let (least, most) = items.size_hint();
        let mut state = self.state();
        let known = most
            .filter(|most| *most == least)
            .map(|more| state.done + more);
        state.total = state.total.or(known);
        Over {
            progress: self,
            items,
            is_in_work: false,
        }
    }

    /// So many steps more are done.
    ///
    /// ```
    /// use pullback::train::{Output, Progress};
    ///
    /// let progress = Progress::on(&Output::silent(), "lines", Some(100));
    /// progress.inc(40);
    /// progress.inc(2);
    /// assert_eq!(progress.done(), 42);
    /// ```
    pub fn inc(&self, steps: usize) {
        self.inc_at(steps, Instant::now());
    }

    /// Shows a metric, beside those set before.
    ///
    /// ```
    /// use pullback::train::{Output, Progress};
    ///
    /// let progress = Progress::on(&Output::lines(std::io::stdout(), std::time::Duration::ZERO), "steps", None);
    /// for (step, loss) in progress.over([0.9, 0.5, 0.4]).enumerate() {
    ///     progress.set("loss", loss);
    ///     assert_eq!(progress.done(), step);
    /// }
    /// progress.finish(); // …, loss 0.4
    /// ```
    pub fn set(&self, name: &str, value: f64) {
        let metrics = &mut self.state().metrics;
        match metrics.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => metrics.push((name.to_owned(), value)),
        }
    }

    /// How many steps are done.
    ///
    /// ```
    /// use pullback::train::{Output, Progress};
    ///
    /// let progress = Progress::on(&Output::silent(), "lines", None);
    /// progress.inc(40);
    /// assert_eq!(progress.done(), 40);
    /// ```
    pub fn done(&self) -> usize {
        self.state().done
    }

    /// Prints a line of its own above the bar.
    ///
    /// ```
    /// use pullback::train::{Output, Progress};
    ///
    /// let progress = Progress::on(&Output::silent(), "files", Some(2));
    /// progress.println("the first is damaged");
    /// ```
    pub fn println(&self, line: &str) {
        let mut state = self.state();
        let clear = if state.is_open { CLEAR } else { "" };
        self.output.write(&format!("{clear}{line}\n"));
        if state.is_open {
            self.draw(&mut state, Instant::now());
        }
    }

    /// Prints what was done in how long, and no more after that.
    ///
    /// ```
    /// use pullback::train::{Output, Progress};
    ///
    /// let progress = Progress::on(&Output::stderr(), "files", Some(2));
    /// progress.inc(1);
    /// progress.finish(); // 1 in …
    /// progress.finish(); // nothing
    /// assert_eq!(progress.done(), 1);
    /// ```
    pub fn finish(&self) {
        self.finish_at(Instant::now());
    }

    fn inc_at(&self, steps: usize, now: Instant) {
        let mut state = self.state();
        state.done += steps;
        let interval = match self.output.style {
            // The first is drawn at once.
            Style::Bar { .. } if !state.is_open => Duration::ZERO,
            Style::Bar { .. } => BAR_INTERVAL,
            Style::Lines { interval } => interval,
        };
        if !state.is_finished && now.duration_since(state.drawn) >= interval {
            self.draw(&mut state, now);
        }
    }

    fn finish_at(&self, now: Instant) {
        let mut state = self.state();
        if state.is_finished {
            return;
        }
        let clear = if state.is_open { CLEAR } else { "" };
        let line = state.shown(now).finished();
        state.is_finished = true;
        state.is_open = false;
        self.output.write(&format!("{clear}{line}\n"));
    }

    fn draw(&self, state: &mut State, now: Instant) {
        state.drawn = now;
        let shown = state.shown(now);
        match self.output.style {
            Style::Bar { width } => {
                let bar = shown.bar(width);
                self.output.write(&format!("{CLEAR}{bar}"));
                state.is_open = true;
            }
            Style::Lines { .. } => self.output.write(&format!("{}\n", shown.line())),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Back to the start of the line, and nothing after it.
const CLEAR: &str = "\r\x1b[K";

impl Drop for Progress {
    /// What is printed next, an error perhaps, begins in a line of its own.
    fn drop(&mut self) {
        if self.state().is_open {
            self.output.write("\n");
        }
    }
}

impl State {
    fn shown(&self, now: Instant) -> Shown<'_> {
        Shown {
            label: &self.label,
            done: self.done,
            total: self.total,
            seconds: now.duration_since(self.start).as_secs_f64(),
            metrics: &self.metrics,
        }
    }
}

/// What [`Progress::over`] makes.
///
/// ```
/// use pullback::train::{Output, Over, Progress};
///
/// let progress = Progress::on(&Output::silent(), "items", None);
/// let mut items: Over<'_, _> = progress.over(vec!['a', 'b']);
/// assert_eq!((items.next(), progress.done()), (Some('a'), 0));
/// assert_eq!((items.next(), progress.done()), (Some('b'), 1));
/// ```
#[derive(Debug)]
pub struct Over<'a, I> {
    progress: &'a Progress,
    items: I,
    is_in_work: bool,
}

impl<I: Iterator> Iterator for Over<'_, I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        // Who asks for the next is done with the last.
        if self.is_in_work {
            self.progress.inc(1);
        }
        let item = self.items.next();
        self.is_in_work = item.is_some();
        item
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl<I: ExactSizeIterator> ExactSizeIterator for Over<'_, I> {}

#[cfg(test)]
mod tests;
