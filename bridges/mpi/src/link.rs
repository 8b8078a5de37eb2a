//! The time that a message takes.

use std::time::Duration;

/// An interconnect: a message of n bytes takes `latency` + n / `bandwidth`.
///
/// ```
/// use std::time::Duration;
/// use pullback_mpi::Link;
///
/// let link = Link { latency: Duration::from_micros(100), bandwidth: 1e9 };
/// assert_eq!(link.time(1_000_000), Duration::from_micros(1100));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The time that a message without content takes.
    pub latency: Duration,
    /// Bytes in a second.
    pub bandwidth: f64,
}

impl Link {
    /// Returns the time that a message of `bytes` takes.
    ///
    /// ```
    /// use std::time::Duration;
    /// use pullback_mpi::Link;
    ///
    /// let link = Link { latency: Duration::from_micros(1), bandwidth: 25e9 };
    /// assert_eq!(link.time(0), link.latency);
    /// ```
    pub fn time(&self, bytes: usize) -> Duration {
        self.latency + Duration::from_secs_f64(bytes as f64 / self.bandwidth)
    }
}
