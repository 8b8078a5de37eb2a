//! The totals of a trace by functions.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use crate::text::{bytes, count};
use autograd_core::inspect::TraceEvent;

/// One function in a [`TraceTable`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TraceRow {
    /// The function's name.
    pub name: &'static str,
    /// The number of nodes that ran.
    pub count: usize,
    /// The time of these nodes, without the nodes of nested passes.
    pub total: Duration,
    /// The mean time of a node.
    pub mean: Duration,
    /// The part of the time of all nodes, from 0 to 1.
    pub share: f64,
    /// The bytes of the nodes' gradients.
    pub bytes: usize,
}

/// The totals of a trace by functions, the most expensive first: see [`Trace::table`](super::Trace::table). `Display`
/// prints them in columns.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::{Tensor, graph};
///
/// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
/// let (_, trace) = graph::trace(|| x.exp().sum().backward());
/// let text = trace.table().to_string();
/// assert!(text.starts_with("function") && text.contains("Exp"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceTable {
    rows: Vec<TraceRow>,
}

impl TraceTable {
    pub(crate) fn of(events: &[TraceEvent]) -> Self {
        let mut rows: Vec<TraceRow> = Vec::new();
        let mut indices = HashMap::new();
        for event in events {
            let index = *indices.entry(event.name).or_insert_with(|| {
                rows.push(TraceRow {
                    name: event.name,
                    count: 0,
                    total: Duration::ZERO,
                    mean: Duration::ZERO,
                    share: 0.0,
                    bytes: 0,
                });
                rows.len() - 1
            });
            let row = &mut rows[index];
            row.count += 1;
            row.total += event.own;
            row.bytes += event.bytes;
        }
        let all: Duration = rows.iter().map(|row| row.total).sum();
        for row in &mut rows {
            row.mean = row.total.div_f64(row.count as f64);
            if all > Duration::ZERO {
                row.share = row.total.as_secs_f64() / all.as_secs_f64();
            }
        }
        rows.sort_by(|a, b| b.total.cmp(&a.total).then(a.name.cmp(b.name)));
        Self { rows }
    }

    /// Returns the rows.
    pub fn rows(&self) -> &[TraceRow] {
        &self.rows
    }
}

impl fmt::Display for TraceTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cells =
            vec![["function", "count", "total", "mean", "share", "bytes"].map(str::to_owned)];
        cells.extend(self.rows.iter().map(|row| {
            [
                row.name.to_owned(),
                count(row.count),
                time(row.total),
                time(row.mean),
                format!("{:.1} %", 100.0 * row.share),
                bytes(row.bytes),
            ]
        }));
        let wide = |column: usize| cells.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<usize> = (0..6).map(|column| wide(column).unwrap_or(0)).collect();
        for (number, row) in cells.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            write!(f, "{:<width$}", row[0], width = widths[0])?;
            for (cell, width) in row[1..].iter().zip(&widths[1..]) {
                write!(f, "  {cell:>width$}")?;
            }
        }
        Ok(())
    }
}

/// Formats a time with at least three digits.
fn time(time: Duration) -> String {
    let nanoseconds = time.as_nanos() as f64;
    if nanoseconds < 1e3 {
        format!("{nanoseconds:.0} ns")
    } else if nanoseconds < 1e6 {
        format!("{:.2} µs", nanoseconds / 1e3)
    } else if nanoseconds < 1e9 {
        format!("{:.2} ms", nanoseconds / 1e6)
    } else {
        format!("{:.2} s", nanoseconds / 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::Location;

    #[test]
    fn rows_are_sums_and_sorted() {
        let event = |name, own, bytes| TraceEvent {
            name,
            applied_at: Location::caller(),
            sequence_nr: 1,
            start: Duration::ZERO,
            duration: Duration::from_nanos(own),
            own: Duration::from_nanos(own),
            bytes,
        };
        let table = TraceTable::of(&[
            event("Relu", 1_000, 8),
            event("MatMul", 5_000_000, 1 << 20),
            event("Relu", 3_000, 8),
        ]);
        assert_eq!(table.rows()[1].mean, Duration::from_micros(2));
        assert_eq!((table.rows()[1].count, table.rows()[1].bytes), (2, 16));
        let shares: f64 = table.rows().iter().map(|row| row.share).sum();
        assert!((shares - 1.0).abs() < 1e-12);
        let expected = "\
function  count    total     mean   share    bytes
MatMul        1  5.00 ms  5.00 ms  99.9 %  1.0 MiB
Relu          2  4.00 µs  2.00 µs   0.1 %     16 B";
        assert_eq!(table.to_string(), expected);
        assert_eq!(TraceTable::of(&[]).rows(), []);
    }
}
