//! The times at which the gradients of a pass were complete and were sent.

use std::time::Duration;

/// The times of a pass of [`DataParallel::backward`](super::DataParallel::backward), counted from its start.
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
    /// The duration of the pass on this process.
    pub pass: Duration,
    /// The time after the pass until all sums were complete.
    pub exposed: Duration,
    /// The buckets in the order in which they were sent.
    pub buckets: Vec<BucketTimes>,
}

/// The size and the times of a bucket of gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketTimes {
    /// The size of the bucket.
    pub bytes: usize,
    /// The time at which the last gradient of the bucket was complete.
    pub ready: Duration,
    /// The time at which sending began, after the buckets before it.
    pub start: Duration,
    /// The time at which the sum was complete.
    pub end: Duration,
}
