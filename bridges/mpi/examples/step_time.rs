//! Models the time of a step on many processes, and checks the model on this machine.
//!
//! ```sh
//! cargo build --release --example step_time
//! target/release/examples/step_time                      # the table of the README
//! target/release/examples/step_time profile              # the measurements behind the table
//! mpirun -n 2 target/release/examples/step_time check    # measured beside the model, with delays
//! ```
//!
//! A step is computation, and communication that does not overlap with it. The times at which the gradients of a pass
//! are complete are measured. A bucket is sent when it is complete and the sum of the bucket before has been received.

use std::env;
use std::time::{Duration, Instant};

use pullback::ndarray::{Array1, Array2};
use pullback::nn::{Generator, Linear};
use pullback::optim::Sgd;
use pullback::prelude::*;
use pullback_mpi::{Communicator, DataParallel, Timeline, all_reduce_sum};

/// The profile that one process measured: 6 layers of 512 x 512, a batch of 64 and one thread.
pub(crate) const MEASURED: Profile = Profile {
    compute: 18.24e-3,
    pass: 12.08e-3,
    gradients: &[
        (1_048_580.0, 2.78e-3),
        (2_052.0, 2.78e-3),
        (1_048_580.0, 4.67e-3),
        (2_052.0, 4.67e-3),
        (1_048_580.0, 6.60e-3),
        (2_052.0, 6.61e-3),
        (1_048_580.0, 8.59e-3),
        (2_052.0, 8.60e-3),
        (1_048_580.0, 10.59e-3),
        (2_052.0, 10.59e-3),
        (1_048_580.0, 12.05e-3),
        (2_052.0, 12.06e-3),
    ],
};

/// Interconnects: a name, a latency in seconds, bytes in a second. The README has the sources.
const INTERCONNECTS: [(&str, f64, f64); 4] = [
    ("10 Gb Ethernet, TCP", 48e-6, 1.19e9),
    ("40 Gb Ethernet, user space", 1.93e-6, 4.65e9),
    ("200 Gb InfiniBand", 1.61e-6, 23.48e9),
    ("400 Gb InfiniBand", 1.61e-6, 46.95e9),
];

/// Times in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Profile {
    /// A step without its communication.
    compute: f64,
    /// The backward pass in the step.
    pass: f64,
    /// The bytes of each gradient, and the time in the pass at which it was complete.
    gradients: &'static [(f64, f64)],
}

/// A way to sum over p processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    /// Around a ring: 2(p − 1) messages, each of 1/p of the data.
    Ring,
    /// Up and down a tree: 2 log₂ p messages, each of all the data.
    Tree,
}

impl Algorithm {
    /// Returns the time to sum so many bytes, in seconds.
    fn time(self, processes: usize, bytes: f64, (latency, bandwidth): (f64, f64)) -> f64 {
        let p = processes as f64;
        match self {
            Self::Ring => 2.0 * (p - 1.0) * (latency + bytes / p / bandwidth),
            Self::Tree => 2.0 * p.log2().ceil() * (latency + bytes / bandwidth),
        }
    }
}

/// Returns the time of communication after the end of the pass, in seconds.
fn exposed(profile: &Profile, bucket: f64, time: impl Fn(f64) -> f64) -> f64 {
    let (mut arrived, mut filled): (f64, f64) = (0.0, 0.0);
    let mut last = 0.0;
    for &(bytes, ready) in profile.gradients {
        if filled > 0.0 && filled + bytes > bucket {
            arrived = arrived.max(last) + time(filled);
            filled = 0.0;
        }
        filled += bytes;
        last = ready;
    }
    arrived = arrived.max(last) + time(filled);
    (arrived - profile.pass).max(0.0)
}

/// The modeled time of a step, with the best size of buckets and algorithm.
struct Prediction {
    step: f64,
    bucket: f64,
    algorithm: Algorithm,
}

fn predict(profile: &Profile, processes: usize, link: (f64, f64)) -> Prediction {
    let mut best: Option<Prediction> = None;
    let sizes = (16..=23).map(|power| f64::from(1_u32 << power));
    for bucket in sizes {
        for algorithm in [Algorithm::Ring, Algorithm::Tree] {
            // All processes compare 16 bytes before the data, up and down a tree.
            let check = Algorithm::Tree.time(processes, 16.0, link);
            let time = |bytes| check + algorithm.time(processes, bytes, link);
            let step = profile.compute + exposed(profile, bucket, time);
            if best.as_ref().is_none_or(|best| step < best.step - 1e-9) {
                best = Some(Prediction {
                    step,
                    bucket,
                    algorithm,
                });
            }
        }
    }
    best.expect("a bucket")
}

/// Returns the table of the README.
pub(crate) fn table(profile: &Profile) -> String {
    let mut rows = vec![
        ["processes"]
            .into_iter()
            .chain(INTERCONNECTS.map(|link| link.0))
            .map(str::to_owned)
            .collect(),
    ];
    rows.push(vec!["---".to_owned(); 1 + INTERCONNECTS.len()]);
    for processes in [1, 2, 4, 16, 64, 256, 1024, 4096] {
        let cells = INTERCONNECTS.iter().map(|&(_, latency, bandwidth)| {
            if processes == 1 {
                return format!("{:.2} ms", 1e3 * profile.compute);
            }
            let best = predict(profile, processes, (latency, bandwidth));
            let name = if best.algorithm == Algorithm::Ring {
                "ring"
            } else {
                "tree"
            };
            let efficiency = 100.0 * profile.compute / best.step;
            let (step, kib) = (1e3 * best.step, best.bucket / 1024.0);
            format!("{step:.2} ms, {efficiency:.0} %, {name} of {kib} KiB")
        });
        rows.push([processes.to_string()].into_iter().chain(cells).collect());
    }
    let lines = rows
        .iter()
        .map(|row: &Vec<String>| format!("| {} |\n", row.join(" | ")));
    lines.collect()
}

/// Layers of one width, with ReLUs between them.
#[derive(Module)]
struct Net {
    layers: Vec<Linear<f32>>,
}

impl Net {
    fn new(layers: usize, width: usize) -> Self {
        let mut random = Generator::seed(1);
        let layers = (0..layers).map(|_| Linear::new(width, width, &mut random));
        Self {
            layers: layers.collect(),
        }
    }

    fn loss(&self, x: &Tensor2<f32>) -> Tensor0<f32> {
        let layers = self.layers.iter();
        layers
            .fold(x.clone(), |x, layer| layer.forward(&x).relu())
            .mean()
    }
}

/// Returns the time of the fastest of some steps, and the timeline of its pass.
fn measure(
    model: &mut DataParallel<Net>,
    batch: usize,
    repeats: usize,
) -> Result<(f64, Timeline), pullback::Error> {
    let width = model.layers[0].in_features();
    let x = Tensor::from(Array2::from_shape_fn((batch, width), |(row, column)| {
        ((row * 7 + column) % 13) as f32 / 13.0
    }));
    let mut optimizer = Sgd::new(1e-3);
    let mut best: Option<(f64, Timeline)> = None;
    for _ in 0..repeats {
        let start = Instant::now();
        model.zero_grad();
        let loss = model.loss(&x);
        let timeline = model.backward(&loss)?;
        optimizer.step(&mut **model);
        let time = start.elapsed().as_secs_f64();
        if best.as_ref().is_none_or(|(best, _)| time < *best) {
            best = Some((time, timeline));
        }
    }
    Ok(best.expect("a step"))
}

/// Measures the times at which gradients are complete. They are sent after the pass, and without delays.
fn profile(
    comm: &Communicator,
    (layers, width, batch): (usize, usize, usize),
    repeats: usize,
) -> Result<Profile, pullback::Error> {
    let model = DataParallel::new(Net::new(layers, width), comm);
    let mut model = model.bucket_bytes(1).overlap(false);
    let (step, timeline) = measure(&mut model, batch, repeats)?;
    let gradients = timeline.buckets.iter();
    let gradients = gradients.map(|bucket| (bucket.bytes as f64, bucket.ready.as_secs_f64()));
    Ok(Profile {
        compute: step - timeline.exposed.as_secs_f64(),
        pass: timeline.pass.as_secs_f64(),
        gradients: Vec::leak(gradients.collect()),
    })
}

/// The time of a step in seconds, modeled and measured, for one size of buckets on a ring with delays.
#[derive(Debug)]
pub(crate) struct Comparison {
    latency: Duration,
    bucket: usize,
    overlap: bool,
    pub(crate) model: f64,
    pub(crate) measured: f64,
}

/// The bandwidth of the ring with delays, in bytes in a second.
const BANDWIDTH: f64 = 1e9;

/// Returns a communicator whose sums take as long as around a ring with this latency: see [`Algorithm::Ring`].
fn ring(comm: &Communicator, latency: Duration) -> Communicator {
    let messages = 2.0 * (comm.size() - 1) as f64;
    let bandwidth = BANDWIDTH * comm.size() as f64 / messages;
    comm.with_delay(latency.mul_f64(messages), bandwidth)
}

/// Compares measured steps with the model, where all collectives are delayed.
pub(crate) fn compare(
    comm: &Communicator,
    sizes: (usize, usize, usize),
    (latencies, buckets): (&[Duration], &[usize]),
    repeats: usize,
) -> Result<Vec<Comparison>, pullback::Error> {
    let (layers, width, batch) = sizes;
    let profile = profile(comm, sizes, 2 * repeats)?;
    let mut comparisons = Vec::new();
    for &latency in latencies {
        for &bucket in buckets {
            for overlap in [false, true] {
                let figures = (latency.as_secs_f64(), BANDWIDTH);
                let time = |bytes| Algorithm::Ring.time(comm.size(), bytes, figures);
                let exposed = if overlap {
                    exposed(&profile, bucket as f64, time)
                } else {
                    // All gradients are sent at the end of the pass.
                    let gradients = profile
                        .gradients
                        .iter()
                        .map(|&(bytes, _)| (bytes, profile.pass));
                    let gradients = Vec::leak(gradients.collect());
                    exposed(
                        &Profile {
                            gradients,
                            ..profile
                        },
                        bucket as f64,
                        time,
                    )
                };
                let model = DataParallel::new(Net::new(layers, width), &ring(comm, latency));
                let mut model = model.bucket_bytes(bucket).overlap(overlap);
                let (measured, _) = measure(&mut model, batch, repeats)?;
                let model = profile.compute + exposed;
                comparisons.push(Comparison {
                    latency,
                    bucket,
                    overlap,
                    model,
                    measured,
                });
            }
        }
    }
    Ok(comparisons)
}

fn main() {
    let sizes = (6, 512, 64);
    match env::args().nth(1).as_deref() {
        None => print!("{}", table(&MEASURED)),
        Some("profile") => pullback_mpi::run(|comm| {
            println!("{:#?}", profile(comm, sizes, 100)?);
            Ok::<(), pullback::Error>(())
        }),
        Some(_) => pullback_mpi::run(|comm| {
            costs(comm);
            let latencies = [200, 1000, 5000].map(Duration::from_micros);
            let compared = compare(comm, sizes, (&latencies, &[1, 2 << 20, 8 << 20]), 20)?;
            if comm.rank() == 0 {
                print(&compared);
            }
            Ok::<(), pullback::Error>(())
        }),
    }
}

/// Prints the times of collectives without delays. A barrier is only the comparison of descriptions.
fn costs(comm: &Communicator) {
    let median = |body: &dyn Fn()| {
        let mut times: Vec<Duration> = (0..200)
            .map(|_| {
                let start = Instant::now();
                body();
                start.elapsed()
            })
            .collect();
        times.sort_unstable();
        times[times.len() / 2]
    };
    let barrier = median(&|| comm.barrier());
    let sum = |length: usize| {
        let x = Tensor::from(Array1::<f32>::ones(length));
        median(&|| drop(all_reduce_sum(&x, comm)))
    };
    let (one, many) = (sum(1), sum(1 << 18));
    if comm.rank() == 0 {
        println!("barrier {barrier:.1?}, sum of 4 bytes {one:.1?}, of 1 MiB {many:.1?}\n");
    }
}

fn print(compared: &[Comparison]) {
    println!("| latency | buckets | overlap | model | measured |\n|---|---|---|---|---|");
    for Comparison {
        latency,
        bucket,
        overlap,
        model,
        measured,
    } in compared
    {
        println!(
            "| {:?} | {} KiB | {} | {:.1} ms | {:.1} ms |",
            latency,
            bucket.div_ceil(1024),
            if *overlap { "yes" } else { "no" },
            1e3 * model,
            1e3 * measured
        );
    }
}
