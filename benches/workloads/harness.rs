//! Measuring two things in turns.

use std::time::{Duration, Instant};

use pullback::kernels::set_threads;

/// The options of the command line: workloads whose name begins with one of the words, or all; `--threads N`.
pub struct Filter {
    names: Vec<String>,
    threads: usize,
}

impl Filter {
    /// Reads the command line, to which `cargo bench` adds its own options.
    pub fn new(arguments: Vec<String>) -> Self {
        let mut names = Vec::new();
        let mut threads = 1;
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            if argument == "--threads" {
                let count = arguments.next().and_then(|count| count.parse().ok());
                threads = count
                    .filter(|count| *count > 0)
                    .expect("--threads takes a number, 1 or more");
            } else if !argument.starts_with('-') {
                names.push(argument);
            }
        }
        Self { names, threads }
    }

    pub fn wants(&self, name: &str) -> bool {
        let named = |wanted: &String| name.starts_with(wanted) || wanted.starts_with(name);
        self.names.is_empty() || self.names.iter().any(named)
    }

    /// Sets the number of threads; a single one is pinned.
    pub fn set_threads(&self) {
        set_threads(self.threads);
        if self.threads == 1 {
            pin();
        }
    }
}

/// Keeps this thread on one processor, the last: interrupts are served by the first.
pub fn pin() {
    let pinned = core_affinity::get_core_ids()
        .and_then(|processors| processors.last().copied())
        .is_some_and(core_affinity::set_for_current);
    if !pinned {
        eprintln!("this thread could not be pinned to a processor: figures will vary more");
    }
}

/// Returns the medians of `rounds` runs of `ours` and `limit`, in turns, after one of each to warm up.
pub fn medians<const N: usize>(
    rounds: usize,
    mut ours: impl FnMut() -> [Duration; N],
    mut limit: impl FnMut() -> [Duration; N],
) -> ([f64; N], [f64; N]) {
    ours();
    limit();
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        times.0.push(ours());
        times.1.push(limit());
    }
    (median(&times.0), median(&times.1))
}

/// Returns the median of each column, in nanoseconds.
fn median<const N: usize>(rounds: &[[Duration; N]]) -> [f64; N] {
    std::array::from_fn(|column| {
        let mut times: Vec<Duration> = rounds.iter().map(|round| round[column]).collect();
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e9
    })
}

/// Returns the time of `work`, and its result.
pub fn timed<R>(work: impl FnOnce() -> R) -> (Duration, R) {
    let start = Instant::now();
    let result = std::hint::black_box(work());
    (start.elapsed(), result)
}

/// Prints one figure.
pub fn report(name: &str, ours: f64, limit: f64, unit: &str) {
    let digits = if ours < 10.0 { 2 } else { 0 };
    println!(
        "{name} ours {ours:.digits$} {unit} limit {limit:.digits$} {unit} ratio {:.2}",
        ours / limit
    );
}

/// Prints one figure of forward and backward together, and each of them to standard error. The times are in
/// nanoseconds, `per` of which are a `unit`.
pub fn report_both(name: &str, ours: [f64; 2], limit: [f64; 2], (unit, per): (&str, f64)) {
    let (ours, limit) = (ours.map(|time| time / per), limit.map(|time| time / per));
    report(name, ours.iter().sum(), limit.iter().sum(), unit);
    eprintln!(
        "  forward {:.1} {unit}, limit {:.1}; backward {:.1} {unit}, limit {:.1}",
        ours[0], limit[0], ours[1], limit[1]
    );
}
