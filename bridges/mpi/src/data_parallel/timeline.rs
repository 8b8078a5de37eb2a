//! When the gradients of a pass were ready, and when they travelled.

use std::time::Duration;

/// When a pass of [`DataParallel::backward`](super::DataParallel::backward) did what. Times are counted from its
/// beginning.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::Linear;
/// use pullback::prelude::*;
/// use pullback_mpi::DataParallel;
///
/// pullback_mpi::run(|comm| {
///     let model = Linear { weight: Parameter::new(array![[2.0]]), bias: None };
///     let mut model = DataParallel::new(model, comm);
///     let loss = model.forward(&Tensor::from(array![[3.0]])).sum();
///     let timeline = model.backward(&loss)?;
///     assert!(timeline.buckets.iter().all(|bucket| bucket.start <= bucket.end));
///     println!("{:?} of {:?} waited for others", timeline.exposed, timeline.pass + timeline.exposed);
///     Ok::<(), pullback::Error>(())
/// });
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// How long the pass of this process took.
    pub pass: Duration,
    /// How long it then waited for gradients that were still on their way.
    pub exposed: Duration,
    /// The buckets in the order in which they were sent.
    pub buckets: Vec<BucketTimes>,
}

/// When a bucket of gradients travelled.
///
/// ```
/// use std::time::Duration;
/// use pullback_mpi::BucketTimes;
///
/// let time = Duration::from_millis;
/// let bucket = BucketTimes { bytes: 4096, ready: time(2), start: time(2), end: time(5) };
/// assert_eq!(bucket.end - bucket.start, time(3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketTimes {
    /// The bytes that each process adds.
    pub bytes: usize,
    /// When the last of its gradients was complete.
    pub ready: Duration,
    /// When it began to travel: those before it travel first.
    pub start: Duration,
    /// When the sum had arrived.
    pub end: Duration,
}
