//! Shows gradients that are sent while the pass runs, on an interconnect with delays:
//!
//! ```sh
//! cargo build --release --example overlap
//! mpirun -n 2 target/release/examples/overlap overlap.json
//! ```
//!
//! `chrome://tracing` and Perfetto (`ui.perfetto.dev`) show the file as two rows of each process: the nodes of the
//! pass, and the buckets.

use std::fmt::Write;
use std::time::Duration;
use std::{env, fs};

use pullback::inspect::{self, TraceEvent};
use pullback::ndarray::Array2;
use pullback::nn::{Generator, Linear};
use pullback::prelude::*;
use pullback_mpi::{DataParallel, Timeline};

#[derive(Module)]
struct Net {
    layers: Vec<Linear<f32>>,
}

fn main() {
    pullback_mpi::run(|comm| {
        // Around a ring of two processes: two messages of half of the data, with 500 us and 1 GB/s each.
        let slow = comm.with_delay(Duration::from_millis(1), 1e9);
        let x = Tensor::from(Array2::<f32>::ones((64, 512)));
        for overlap in [false, true] {
            let mut random = Generator::seed(1);
            let layers = (0..6).map(|_| Linear::new(512, 512, &mut random));
            let model = Net {
                layers: layers.collect(),
            };
            let mut model = DataParallel::new(model, &slow)
                .bucket_bytes(2 << 20)
                .overlap(overlap);
            let mut best: Option<(Timeline, Vec<TraceEvent>)> = None;
            for _ in 0..20 {
                model.zero_grad();
                let layers = model.layers.iter();
                let loss = layers
                    .fold(x.clone(), |x, layer| layer.forward(&x).relu())
                    .mean();
                let (timeline, events) = inspect::trace(|| model.backward(&loss));
                let timeline = timeline?;
                let whole = |timeline: &Timeline| timeline.pass + timeline.exposed;
                if best
                    .as_ref()
                    .is_none_or(|(best, _)| whole(&timeline) < whole(best))
                {
                    best = Some((timeline, events));
                }
            }
            let (timeline, events) = best.expect("a pass");
            if comm.rank() == 0 {
                println!(
                    "overlap {overlap:5}: pass {:6.2?}, communication left {:6.2?}",
                    timeline.pass, timeline.exposed
                );
            }
            if let Some(path) = env::args().nth(1).filter(|_| overlap && comm.rank() == 0) {
                fs::write(&path, chrome(&timeline, &events)).expect("a file that can be written");
                println!("{path}: the timeline");
            }
        }
        Ok::<(), pullback::Error>(())
    });
}

/// Returns the timeline in the Trace Event Format.
fn chrome(timeline: &Timeline, events: &[TraceEvent]) -> String {
    let mut text = String::from(
        "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n\
         {\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":1,\"args\":{\"name\":\"backward\"}},\n\
         {\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":2,\"args\":{\"name\":\"buckets\"}}",
    );
    let mut add = |name: &str, row, start: Duration, duration: Duration| {
        let (start, duration) = (start.as_secs_f64() * 1e6, duration.as_secs_f64() * 1e6);
        let _ = write!(
            text,
            ",\n{{\"name\":\"{name}\",\"ph\":\"X\",\"pid\":1,\"tid\":{row},\"ts\":{start:.3},\"dur\":{duration:.3}}}"
        );
    };
    for event in events {
        add(event.name, 1, event.start, event.duration);
    }
    for (number, bucket) in timeline.buckets.iter().enumerate() {
        let name = format!("bucket {}, {} KiB", number + 1, bucket.bytes / 1024);
        add(
            &name,
            2,
            bucket.start,
            bucket.end.saturating_sub(bucket.start),
        );
    }
    text.push_str("\n]}\n");
    text
}
