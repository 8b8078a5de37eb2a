//! W5: a chain of a million scalar functions, on a thread with a stack of 2 MiB: time for forward,
//! backward and drop, and memory for each node.

use std::process::Command;
use std::thread;
use std::time::Duration;

use pullback::ndarray::{Array0, ArrayView0};
use pullback::prelude::*;

use crate::harness::{Filter, medians, pin, report, timed};

const LENGTH: usize = 1_000_000;
const STACK: usize = 2 << 20;
/// The bar for memory, which has no limit measured in the same run.
const BYTES: f64 = 250.0;
/// The argument that makes this program measure memory in a process of its own, whose heap holds
/// nothing else.
pub const CHILD: &str = "W5-memory-child";

/// y = max(x, 0)
struct Relu;

#[custom_function]
impl Relu {
    #[forward]
    fn forward(x: ArrayView0<f32>) -> Array0<f32> {
        x.mapv(|x| x.max(0.0))
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView0<f32>, output: ArrayView0<f32>) -> Array0<f32> {
        let mask = if output[()] > 0.0 { 1.0 } else { 0.0 };
        grad_output.mapv(|grad| grad * mask)
    }
}

pub fn run(filter: &Filter) {
    if filter.wants("W5/time") {
        let measured = thread::Builder::new().stack_size(STACK).spawn(|| {
            pin();
            medians(5, || [ours()], || [by_hand()])
        });
        let (ours, limit) = measured.expect("a thread").join().expect("no overflow");
        report("W5/time", ours[0] / 1e6, limit[0] / 1e6, "ms");
    }
    if filter.wants("W5/bytes") {
        match bytes_per_node() {
            Ok(bytes) => report("W5/bytes", bytes, BYTES, "B"),
            Err(reason) => println!("W5/bytes skipped: {reason}"),
        }
    }
}

fn chain(leaf: &Tensor0<f32>) -> Tensor0<f32> {
    let mut y = Relu::apply(leaf);
    for _ in 1..LENGTH {
        y = Relu::apply(&y);
    }
    y
}

fn leaf() -> Tensor0<f32> {
    Tensor::from(Array0::from_elem((), 1.0)).set_requires_grad(true)
}

fn ours() -> Duration {
    let leaf = leaf();
    let (time, ()) = timed(|| chain(&leaf).backward().expect("the chain is whole"));
    assert_eq!(leaf.grad(), Some(Array0::from_elem((), 1.0)));
    time
}

/// All outputs in one vector.
fn by_hand() -> Duration {
    let (time, grad) = timed(|| {
        let mut outputs = Vec::new();
        let mut y = 1.0_f32;
        for _ in 0..LENGTH {
            y = std::hint::black_box(y.max(0.0));
            outputs.push(y);
        }
        outputs.iter().rev().fold(1.0_f32, |grad, &y| {
            std::hint::black_box(if y > 0.0 { grad } else { 0.0 })
        })
    });
    assert!((grad - 1.0).abs() < f32::EPSILON);
    time
}

/// Returns the memory of the process for each node after forward, with the overhead of the allocator.
fn bytes_per_node() -> Result<f64, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program)
        .arg(CHILD)
        .output()
        .map_err(|error| error.to_string())?;
    let printed = String::from_utf8_lossy(&output.stdout);
    printed
        .trim()
        .parse()
        .map_err(|_| String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

/// The work of the child process.
pub fn print_memory() {
    let leaf = leaf();
    let Some(before) = resident() else {
        eprintln!("the memory of a process can only be read on Linux");
        return;
    };
    let output = chain(&leaf);
    let after = resident().unwrap_or(before);
    drop(output);
    let bytes = (after - before) as f64 / LENGTH as f64;
    println!("{bytes:.1}");
}

/// The resident memory of this process in bytes.
fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kilobytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}
