//! Traces of backward passes.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::table::TraceTable;
use crate::text::push;
use autograd_core::inspect::{self, TraceEvent};

/// Runs `body` and records, for each node of the backward passes in it, when its backward functions ran, for how long,
/// and how much memory their gradients take.
///
/// Passes that `body` starts on this thread are traced, and the passes that their backward functions start. A trace
/// costs about a tenth of a microsecond per node; outside of a trace nothing is measured.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::{Tensor, graph};
///
/// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
/// let loss = x.exp().sum();
/// let (result, trace) = graph::trace(|| loss.backward());
/// result?;
/// let names: Vec<&str> = trace.events().iter().map(|event| event.name).collect();
/// assert_eq!(names, ["Sum", "Exp"]);
/// println!("{}", trace.table());
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn trace<R>(body: impl FnOnce() -> R) -> (R, Trace) {
    let (result, events) = inspect::trace(body);
    (result, Trace { events })
}

/// The nodes that [`trace`] has recorded.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::{Tensor, graph};
///
/// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
/// let (_, trace) = graph::trace(|| x.exp().sum().backward());
/// let [sum, exp] = trace.events() else { panic!("two nodes") };
/// assert!((sum.name, exp.name) == ("Sum", "Exp") && sum.start <= exp.start);
/// assert_eq!(trace.table().rows().len(), 2);
///
/// let path = std::env::temp_dir().join(format!("backward-{}.json", std::process::id()));
/// trace.write_chrome(&path)?; // for Perfetto
/// # std::fs::remove_file(path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    events: Vec<TraceEvent>,
}

impl Trace {
    /// Returns the nodes in the order in which they started.
    pub fn events(&self) -> &[TraceEvent] {
        &self.events
    }

    /// Returns the totals of each function, the most expensive first.
    pub fn table(&self) -> TraceTable {
        TraceTable::of(&self.events)
    }

    /// Returns the trace as JSON in the Trace Event Format, which `chrome://tracing` and Perfetto (`ui.perfetto.dev`)
    /// show as a timeline. Times are in microseconds. The arguments of an event are the line that applied the function,
    /// the sequence number of the node and the bytes of its gradients.
    pub fn to_json(&self) -> String {
        let mut text = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
        text.push_str(
            "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"tid\":1,\"args\":{\"name\":\"pullback\"}},\n\
             {\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":1,\"args\":{\"name\":\"backward\"}}",
        );
        for event in &self.events {
            push!(
                &mut text,
                ",\n{{\"name\":{},\"cat\":\"backward\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":{},\"dur\":{},\
                 \"args\":{{\"applied at\":{},\"sequence number\":{},\"bytes\":{}}}}}",
                json(event.name),
                microseconds(event.start),
                microseconds(event.duration),
                json(&event.applied_at.to_string()),
                event.sequence_nr,
                event.bytes
            );
        }
        text.push_str("\n]}\n");
        text
    }

    /// Writes [`to_json`](Self::to_json) to a file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_chrome(&self, path: impl AsRef<Path>) -> io::Result<()> {
        fs::write(path, self.to_json())
    }
}

/// Formats a time in microseconds, exactly to the nanosecond.
fn microseconds(time: Duration) -> String {
    let nanoseconds = time.as_nanos();
    format!("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000)
}

/// Formats a text as a JSON string.
fn json(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            _ if letter < ' ' => push!(&mut quoted, "\\u{:04x}", u32::from(letter)),
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_times_are_valid_json() {
        assert_eq!(json("a\"b\\c\n\u{e9}"), "\"a\\\"b\\\\c\\u000a\u{e9}\"");
        assert_eq!(microseconds(Duration::from_nanos(1_002_003)), "1002.003");
        assert_eq!(microseconds(Duration::ZERO), "0.000");
    }
}
