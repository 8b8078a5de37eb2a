//! Traces of backward passes.

use std::time::Duration;
use std::{env, fs, process, thread};

use pullback::Error;
use pullback::graph::{self, Trace};
use pullback::ndarray::{Array1, ArrayView1, array};
use pullback::prelude::*;
use serde_json::Value;

use super::leaf;

/// y = x, whose backward runs another pass.
struct Inner;

#[custom_function]
impl Inner {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        x.to_owned()
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor1<f64>) -> Tensor1<f64> {
        let x = leaf(grad_output.len());
        enable_grad(|| x.tanh().sum()).backward().expect("a graph");
        grad_output.clone()
    }
}

/// y = x, whose backward takes two milliseconds, or fails.
struct Slow;

#[custom_function]
impl Slow {
    #[forward]
    fn forward(x: ArrayView1<f64>, fails: bool) -> Array1<f64> {
        assert!(fails || !x.is_empty());
        x.to_owned()
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor1<f64>, fails: bool) -> Tensor1<f64> {
        assert!(!fails, "asked to fail");
        thread::sleep(Duration::from_millis(2));
        grad_output.clone()
    }
}

fn names(trace: &Trace) -> Vec<&'static str> {
    trace.events().iter().map(|event| event.name).collect()
}

#[test]
fn a_node_that_is_run_by_hand_is_in_the_trace() {
    let x = leaf(3);
    let node = Slow::apply(&x, false).grad_fn().expect("a node");
    let seed = Tensor::from(Array1::<f64>::ones(3)).into_dyn();
    let (result, trace) = graph::trace(|| node.apply(&[Some(seed)]));
    assert!(result.is_ok());
    assert_eq!(names(&trace), ["Slow"]);
    let event = &trace.events()[0];
    assert!(event.own >= Duration::from_millis(2));
    assert_eq!((event.sequence_nr, event.bytes), (node.sequence_nr(), 24));
}

#[test]
fn a_trace_has_the_nodes_in_the_order_of_the_pass() -> Result<(), Error> {
    let x = leaf(3);
    let loss = Slow::apply(&x.exp(), false).sum();
    let (result, trace) = graph::trace(|| loss.backward());
    result?;
    assert_eq!(names(&trace), ["Sum", "Slow", "Exp"]);
    for pair in trace.events().windows(2) {
        assert!(pair[0].start + pair[0].duration <= pair[1].start);
    }
    let slow = &trace.events()[1];
    assert!(slow.duration >= Duration::from_millis(2) && slow.own == slow.duration);
    assert_eq!(slow.bytes, 24);
    assert!(slow.applied_at.file().ends_with("trace.rs"));
    let table = trace.table();
    assert_eq!((table.rows()[0].name, table.rows()[0].count), ("Slow", 1));
    assert!(table.rows()[0].share > 0.5);
    Ok(())
}

#[test]
fn nothing_is_traced_outside() -> Result<(), Error> {
    let x = leaf(3);
    let ((), empty) = graph::trace(|| ());
    x.exp().sum().backward()?;
    assert!(empty.events().is_empty());
    assert_eq!(empty.table().to_string().lines().count(), 1);
    // Passes on another thread are not in the trace.
    let (result, trace) = graph::trace(|| {
        let other = thread::scope(|scope| scope.spawn(|| x.sin().sum().backward()).join());
        other.expect("no panic")?;
        x.tanh().sum().backward()
    });
    result?;
    assert_eq!(names(&trace), ["Sum", "Tanh"]);
    Ok(())
}

#[test]
fn the_time_of_a_nested_pass_is_not_counted_twice() -> Result<(), Error> {
    let x = leaf(3);
    let loss = Inner::apply(&x).sum();
    let (result, trace) = graph::trace(|| loss.backward());
    result?;
    assert_eq!(names(&trace), ["Sum", "Inner", "Sum", "Tanh"]);
    let [_, outer, sum, tanh] = trace.events() else {
        unreachable!("four events");
    };
    assert!(outer.start <= sum.start);
    assert!(tanh.start + tanh.duration <= outer.start + outer.duration);
    let inside = sum.duration + tanh.duration;
    assert_eq!(outer.own + inside, outer.duration);
    let shares: f64 = trace.table().rows().iter().map(|row| row.share).sum();
    assert!((shares - 1.0).abs() < 1e-9);
    Ok(())
}

#[test]
fn a_node_that_panics_is_in_the_trace() -> Result<(), Error> {
    let x = leaf(3);
    let loss = Slow::apply(&x, true).sum();
    let caught = || std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| loss.backward()));
    let (result, trace) = graph::trace(caught);
    assert!(result.is_err());
    assert_eq!(names(&trace), ["Sum", "Slow"]);
    assert_eq!(trace.events()[1].bytes, 0);
    // And the next trace begins anew.
    let (result, trace) = graph::trace(|| x.exp().sum().backward());
    result?;
    assert_eq!(names(&trace), ["Sum", "Exp"]);
    Ok(())
}

#[test]
fn higher_orders_are_traced() -> Result<(), Error> {
    let x = Tensor::from(array![2.0]).set_requires_grad(true);
    let y = x.powi(3).sum();
    let (result, trace) = graph::trace(|| {
        let (first,) = Grad::of(&y).create_graph(true).run((&x,))?;
        first.sum().backward()
    });
    result?;
    assert!(trace.events().len() > 3);
    assert_eq!(x.grad(), Some(array![12.0]));
    Ok(())
}

/// Checks the rules of the Trace Event Format that a trace uses: complete events, which on one line of a viewer follow
/// each other or are nested, and the name of that line.
fn assert_trace_events(trace: &Value) {
    let unit = trace["displayTimeUnit"].as_str();
    assert!(unit == Some("ms") || unit == Some("ns"));
    // The ends of the events that the next may be nested in, in whole nanoseconds: their sums are exact.
    let mut open: Vec<f64> = Vec::new();
    let (mut last, mut is_named) = (0.0, false);
    let events = trace["traceEvents"].as_array().expect("a list");
    for event in events {
        assert!(event["name"].as_str().is_some_and(|name| !name.is_empty()));
        assert!(event["args"].is_object());
        // There is one process with one thread.
        assert_eq!((&event["pid"], &event["tid"]), (&1.into(), &1.into()));
        if event["ph"] == "M" {
            is_named |= event["name"] == "thread_name";
            assert!(event["args"]["name"].is_string());
            continue;
        }
        assert_eq!(event["ph"], "X");
        assert!(event["cat"].is_string());
        let time = |name: &str| {
            let microseconds = event[name].as_f64().expect("a number");
            assert!(microseconds >= 0.0);
            (microseconds * 1e3).round()
        };
        let (start, duration) = (time("ts"), time("dur"));
        assert!(start >= last, "events are in order");
        last = start;
        while open.last().is_some_and(|end| *end <= start) {
            open.pop();
        }
        if let Some(end) = open.last() {
            assert!(
                start + duration <= *end,
                "{event} ends after the event around it"
            );
        }
        open.push(start + duration);
    }
    assert!(is_named);
}

#[test]
fn the_file_is_what_viewers_read() -> Result<(), Box<dyn std::error::Error>> {
    let x = leaf(3);
    let loss = Inner::apply(&x.exp()).sum();
    let (result, trace) = graph::trace(|| loss.backward());
    result?;
    let path = env::temp_dir().join(format!("pullback-trace-{}.json", process::id()));
    trace.write_chrome(&path)?;
    let text = fs::read_to_string(&path);
    fs::remove_file(&path)?;
    let value: Value = serde_json::from_str(&text?)?;
    let events = value["traceEvents"].as_array().ok_or("a list")?;
    let turns: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X").collect();
    assert_eq!(turns.len(), trace.events().len());
    assert_trace_events(&value);
    for (turn, event) in turns.iter().zip(trace.events()) {
        assert_eq!(turn["name"], event.name);
        assert_eq!(turn["args"]["bytes"], event.bytes);
        assert_eq!(turn["args"]["sequence number"], event.sequence_nr);
        let microseconds = turn["dur"].as_f64().ok_or("a number")?;
        assert!((microseconds - event.duration.as_secs_f64() * 1e6).abs() < 1e-3);
    }
    let missing = trace.write_chrome(env::temp_dir().join("no such folder/trace.json"));
    assert!(missing.is_err());
    Ok(())
}
