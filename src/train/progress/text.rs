//! Progress in words.

use std::time::Duration;

const LONGEST_BAR: usize = 30;
/// A shorter one shows nothing.
const SHORTEST_BAR: usize = 6;

/// All that is shown of a loop.
pub(super) struct Shown<'a> {
    pub(super) label: &'a str,
    pub(super) done: usize,
    pub(super) total: Option<usize>,
    pub(super) seconds: f64,
    pub(super) metrics: &'a [(String, f64)],
}

impl Shown<'_> {
    /// At most `width` − 1 characters: a terminal goes to the next line when the last column is written.
    pub(super) fn bar(&self, width: usize) -> String {
        let columns = width.saturating_sub(1);
        let rest = self.rest();
        let length = |text: &str| text.chars().count();
        // Brackets and a space on either side.
        let room = columns.saturating_sub(length(self.label) + length(&rest) + 4);
        let bar = match self.total {
            Some(total) if room >= SHORTEST_BAR => {
                let length = room.min(LONGEST_BAR);
                let full = length * self.done.min(total) / total.max(1);
                let head = if full < length { ">" } else { "" };
                format!("[{:<length$}] ", format!("{}{head}", "=".repeat(full)))
            }
            _ => String::new(),
        };
        let space = if self.label.is_empty() { "" } else { " " };
        let text = format!("{}{space}{bar}{rest}", self.label);
        text.chars().take(columns).collect()
    }

    pub(super) fn line(&self) -> String {
        format!("{}{}", self.prefix(), self.rest())
    }

    pub(super) fn finished(&self) -> String {
        let done = format!("{} in {}", self.done, time(self.seconds));
        let parts = [done].into_iter().chain(self.rate()).chain(self.metrics());
        format!("{}{}", self.prefix(), joined(parts))
    }

    fn prefix(&self) -> String {
        if self.label.is_empty() {
            String::new()
        } else {
            format!("{}: ", self.label)
        }
    }

    fn rest(&self) -> String {
        let done = match self.total {
            Some(total) => format!("{}/{total}", self.done),
            None => self.done.to_string(),
        };
        let parts = [done].into_iter().chain(self.rate()).chain(self.left());
        joined(parts.chain(self.metrics()))
    }

    fn rate(&self) -> Option<String> {
        if self.done == 0 || self.seconds <= 0.0 {
            return None;
        }
        let rate = self.done as f64 / self.seconds;
        Some(match rate {
            100.0.. => format!("{rate:.0}/s"),
            1.0.. => format!("{rate:.1}/s"),
            _ => format!("{} each", time(1.0 / rate)),
        })
    }

    fn left(&self) -> Option<String> {
        let total = self.total.filter(|_| self.done > 0)?;
        let steps = total.saturating_sub(self.done) as f64;
        let seconds = steps * self.seconds / self.done as f64;
        Some(format!("{} left", time(seconds)))
    }

    fn metrics(&self) -> impl Iterator<Item = String> {
        let metrics = self.metrics.iter();
        metrics.map(|(name, value)| format!("{name} {}", number(*value)))
    }
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

/// Four digits after the point, or in the mantissa where these would say little.
fn number(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || !size.is_finite() || (1e-3..1e5).contains(&size) {
        format!("{value:.4}")
    } else {
        format!("{value:.3e}")
    }
}

fn time(seconds: f64) -> String {
    if seconds < 9.95 {
        return format!("{seconds:.1} s");
    }
    let Ok(time) = Duration::try_from_secs_f64(seconds.round()) else {
        return "forever".to_owned();
    };
    let seconds = time.as_secs();
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest} s"),
        (0, _) => format!("{minutes}:{rest:02}"),
        _ => format!("{hours}:{minutes:02}:{rest:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(done: usize, total: Option<usize>, seconds: f64) -> Shown<'static> {
        Shown {
            label: "epoch 3/60",
            done,
            total,
            seconds,
            metrics: &[],
        }
    }

    #[test]
    fn a_bar_fits_into_its_line() {
        let metrics = [("loss".to_owned(), 0.281_54), ("größe".to_owned(), 3e7)];
        for total in [None, Some(0), Some(7), Some(45)] {
            for done in [0, 1, 7, 45, 1000] {
                let shown = Shown {
                    metrics: &metrics,
                    ..shown(done, total, 0.4)
                };
                for width in [0, 1, 10, 40, 79, 80, 81, 120, 500] {
                    assert!(shown.bar(width).chars().count() < width.max(1), "{width}");
                }
            }
        }
    }

    #[test]
    fn a_bar_is_as_full_as_the_work_is_done() {
        let bar = |done, seconds| shown(done, Some(40), seconds).bar(80);
        let empty = " ".repeat(29);
        assert_eq!(bar(0, 1.0), format!("epoch 3/60 [>{empty}] 0/40"));
        let (full, empty) = ("=".repeat(15), " ".repeat(14));
        assert_eq!(
            bar(20, 4.0),
            format!("epoch 3/60 [{full}>{empty}] 20/40, 5.0/s, 4.0 s left")
        );
        assert!(bar(40, 4.0).contains(&format!("[{}] 40/40", "=".repeat(30))));
        assert!(bar(80, 4.0).contains(&format!("[{}] 80/40", "=".repeat(30))));
        assert_eq!(
            shown(20, Some(40), 4.0).bar(42),
            "epoch 3/60 20/40, 5.0/s, 4.0 s left"
        );
        assert_eq!(shown(20, None, 4.0).bar(80), "epoch 3/60 20, 5.0/s");
    }

    #[test]
    fn lines_say_the_same() {
        let metrics = [("loss".to_owned(), 0.281_54), ("rate".to_owned(), 2e-5)];
        let shown = Shown {
            metrics: &metrics,
            ..shown(20, Some(45), 100.0)
        };
        assert_eq!(
            shown.line(),
            "epoch 3/60: 20/45, 5.0 s each, 2:05 left, loss 0.2815, rate 2.000e-5"
        );
        assert_eq!(
            shown.finished(),
            "epoch 3/60: 20 in 1:40, 5.0 s each, loss 0.2815, rate 2.000e-5"
        );
        let plain = Shown { label: "", ..shown };
        assert!(plain.line().starts_with("20/45, ") && plain.bar(90).starts_with("[==="));
    }

    #[test]
    fn times_and_numbers_are_short() {
        let times = [
            0.0,
            9.94,
            9.96,
            59.6,
            60.0,
            3599.4,
            3600.0,
            90_061.0,
            f64::INFINITY,
        ];
        let expected = [
            "0.0 s", "9.9 s", "10 s", "1:00", "1:00", "59:59", "1:00:00", "25:01:01", "forever",
        ];
        assert_eq!(times.map(time), expected);
        let numbers = [
            0.0,
            -0.5,
            1e-3,
            9.9e-4,
            99_999.0,
            1e5,
            f64::NAN,
            f64::INFINITY,
        ];
        let expected = [
            "0.0000",
            "-0.5000",
            "0.0010",
            "9.900e-4",
            "99999.0000",
            "1.000e5",
            "NaN",
            "inf",
        ];
        assert_eq!(numbers.map(number), expected);
    }
}
