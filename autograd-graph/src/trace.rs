//! What the nodes of backward passes did when.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::table::TraceTable;
use crate::text::push;
use autograd_core::inspect::{self, TraceEvent};

/// Runs `body` and writes down what each node of the backward passes in it did: when its backward
/// functions ran, for how long, and how much memory the gradients take that they gave.
///
/// Passes that `body` starts on this thread are traced, with the passes that their backward functions
/// start. That costs about a tenth of a microsecond a node; outside of a trace nothing is measured.
///
/// ```
/// use autograd_core::ndarray::array;
/// use autograd_core::Tensor;
/// use autograd_graph as graph;
///
/// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
/// let loss = x.exp().sum();
/// let (result, trace) = graph::trace(|| loss.backward());
/// result?;
/// let names: Vec<&str> = trace.events().iter().map(|event| event.name).collect();
/// assert_eq!(names, ["Sum", "Exp"]);
/// println!("{}", trace.table());
/// # Ok::<(), autograd_core::Error>(())
/// ```
pub fn trace<R>(body: impl FnOnce() -> R) -> (R, Trace) {
    let (result, events) = inspect::trace(body);
    (result, Trace { events })
}

/// What [`trace`] has written down.
///
/// ```
/// use autograd_core::Tensor;
/// use autograd_graph as graph;
/// use autograd_core::ndarray::array;
///
/// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
/// let (loss, forward) = graph::trace(|| x.exp().sum());
/// let (_, backward) = graph::trace(|| loss.backward());
/// // Only what backward passes run is written down.
/// assert_eq!((forward.events().len(), backward.events().len()), (0, 2));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    events: Vec<TraceEvent>,
}

impl Trace {
    /// The nodes in the order in which they began.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_graph as graph;
    /// use autograd_core::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let (_, trace) = graph::trace(|| x.exp().sum().backward());
    /// let [sum, exp] = trace.events() else { panic!("two nodes") };
    /// assert!((sum.name, exp.name) == ("Sum", "Exp") && sum.start <= exp.start);
    /// ```
    pub fn events(&self) -> &[TraceEvent] {
        &self.events
    }

    /// The trace by functions, the most expensive first.
    ///
    /// ```
    /// use autograd_core::ndarray::array;
    /// use autograd_core::Tensor;
    /// use autograd_graph as graph;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let loss = x.exp().exp().sum();
    /// let (_, trace) = graph::trace(|| loss.backward());
    /// let table = trace.table();
    /// let exp = table.rows().iter().find(|row| row.name == "Exp").unwrap();
    /// assert_eq!((exp.count, exp.bytes), (2, 32));
    /// ```
    pub fn table(&self) -> TraceTable {
        TraceTable::of(&self.events)
    }

    /// The trace in the Trace Event Format, as JSON: `chrome://tracing` and Perfetto
    /// (`ui.perfetto.dev`) show it along a line of time. Times are in microseconds there; the line that
    /// applied a node's function, its number and the bytes of its gradients are among its arguments.
    ///
    /// ```
    /// use autograd_core::ndarray::array;
    /// use autograd_core::Tensor;
    /// use autograd_graph as graph;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let (_, trace) = graph::trace(|| x.exp().sum().backward());
    /// assert!(trace.to_json().starts_with("{\"displayTimeUnit\":\"ns\",\"traceEvents\":["));
    /// ```
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
    ///
    /// ```
    /// use autograd_core::ndarray::array;
    /// use autograd_core::Tensor;
    /// use autograd_graph as graph;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let (_, trace) = graph::trace(|| x.exp().sum().backward());
    /// let path = std::env::temp_dir().join(format!("backward-{}.json", std::process::id()));
    /// trace.write_chrome(&path)?;
    /// assert_eq!(std::fs::read_to_string(&path)?, trace.to_json());
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_chrome(&self, path: impl AsRef<Path>) -> io::Result<()> {
        fs::write(path, self.to_json())
    }
}

/// To the nanosecond, without the noise of a division.
fn microseconds(time: Duration) -> String {
    let nanoseconds = time.as_nanos();
    format!("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000)
}

/// A text in the quotes of JSON.
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
    fn text_and_times_are_written_as_json_has_them() {
        assert_eq!(json("a\"b\\c\n\u{e9}"), "\"a\\\"b\\\\c\\u000a\u{e9}\"");
        assert_eq!(microseconds(Duration::from_nanos(1_002_003)), "1002.003");
        assert_eq!(microseconds(Duration::ZERO), "0.000");
    }
}
