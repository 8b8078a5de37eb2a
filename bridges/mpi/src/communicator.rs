//! The handle of a process on the other processes.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvError, Sender, sync_channel};
use std::time::Duration;

use pullback::Element;

use crate::call::Call;
use crate::worker::{Data, Delay, Job, Kind, Times};

/// A handle on the processes of a program, which [`run`](crate::run) passes to each of them.
///
/// Every collective takes one. All processes call the same collectives in the same order; any difference ends all of
/// them with a message. Clones are handles on the same processes.
///
/// ```
/// use std::time::Duration;
///
/// // `mpirun -n 4` runs this four times, with ranks 0 to 3; without `mpirun` there is one process.
/// pullback_mpi::run(|comm| {
///     let comm = comm.with_deadline(Duration::from_secs(5));
///     if comm.rank() == 0 {
///         println!("printed before any of the {} processes continues", comm.size());
///     }
///     comm.barrier();
///     Ok::<(), pullback::Error>(())
/// });
/// ```
#[derive(Clone, Debug)]
pub struct Communicator {
    jobs: Sender<Job>,
    /// The number of threads that wait for the result of a job.
    waiting: Arc<AtomicUsize>,
    rank: usize,
    size: usize,
    deadline: Duration,
    delay: Option<Delay>,
}

/// A collective that was started.
#[derive(Debug)]
pub(crate) struct Pending {
    result: Receiver<Result<(Data, Times), String>>,
    waiting: Arc<AtomicUsize>,
}

impl Communicator {
    pub(crate) fn new(
        jobs: Sender<Job>,
        waiting: Arc<AtomicUsize>,
        (rank, size): (usize, usize),
    ) -> Self {
        Self {
            jobs,
            waiting,
            rank,
            size,
            deadline: Duration::from_secs(60),
            delay: None,
        }
    }

    /// Returns the number of this process: from 0, below [`size`](Self::size).
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of processes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns a handle whose collectives wait for other processes this long, 60 seconds by default. After that, one
    /// process prints which operation waited for which processes, and all end. The deadline must be longer than the
    /// slowest process computes between two collectives. The end of [`run`](crate::run) waits for 60 seconds: if one
    /// process works longer at the end, call [`barrier`](Self::barrier) with a longer deadline on all after that work.
    #[must_use]
    pub fn with_deadline(&self, deadline: Duration) -> Self {
        Self {
            deadline,
            ..self.clone()
        }
    }

    /// Returns a handle whose collectives take at least `latency` and a second for every `bandwidth` bytes, to measure
    /// on one machine how a program runs on a slower interconnect.
    ///
    /// ```
    /// use std::time::Duration;
    /// use pullback::Tensor;
    /// use pullback_mpi::all_reduce_sum;
    ///
    /// pullback_mpi::run(|comm| {
    ///     let slow = comm.with_delay(Duration::from_millis(1), 1e9);
    ///     assert_eq!(all_reduce_sum(&Tensor::from(1.0), &slow).item(), comm.size() as f64);
    ///     Ok::<(), pullback::Error>(())
    /// });
    /// ```
    #[must_use]
    pub fn with_delay(&self, latency: Duration, bandwidth: f64) -> Self {
        let delay = Delay { latency, bandwidth };
        Self {
            delay: Some(delay),
            ..self.clone()
        }
    }

    /// Waits until all processes call `barrier`.
    ///
    /// # Panics
    /// If another process calls another collective.
    #[track_caller]
    pub fn barrier(&self) {
        self.start(Call::bare("barrier"), Kind::Meet, Data::U64(Vec::new()))
            .wait();
    }

    /// Ends the thread of MPI, when all processes call `finish`.
    #[track_caller]
    pub(crate) fn finish(&self) {
        let call = Call::bare("the end");
        self.start(call, Kind::Finish, Data::U64(Vec::new())).wait();
    }

    /// Runs a collective on elements in row-major order.
    #[track_caller]
    pub(crate) fn exchange<T: Element>(
        &self,
        operation: &'static str,
        detail: String,
        shape: &[usize],
        (kind, elements): (Kind, Vec<T>),
    ) -> Vec<T> {
        let call = Call::of::<T>(operation, detail, shape);
        let (data, _) = self.start(call, kind, Data::of(elements)).wait();
        data.into_elements()
    }

    /// Returns the maxima of integers that encode elements of type `T`.
    #[track_caller]
    pub(crate) fn exchange_keys<T: Element>(
        &self,
        operation: &'static str,
        shape: &[usize],
        keys: Vec<u64>,
    ) -> Vec<u64> {
        let call = Call::of::<T>(operation, String::new(), shape);
        match self.start(call, Kind::Max, Data::U64(keys)).wait() {
            (Data::U64(keys), _) => keys,
            // INVARIANT: a collective returns the type that it was given.
            _ => unreachable!("integers were sent"),
        }
    }

    /// Starts a collective. All processes start the same collectives in the same order.
    ///
    /// # Panics
    /// If `run` has returned, or there are more elements than MPI can count.
    #[track_caller]
    pub(crate) fn start(&self, call: Call, kind: Kind, data: Data) -> Pending {
        let most = i32::MAX as usize / self.size;
        assert!(
            data.len() <= most,
            "{call}: {} elements are more than the {most} that MPI counts for {} processes",
            data.len(),
            self.size
        );
        let (reply, result) = sync_channel(1);
        let job = Job {
            call,
            kind,
            data,
            deadline: self.deadline,
            delay: self.delay,
            reply,
        };
        if let Err(unsent) = self.jobs.send(job) {
            panic!("{} after `run` has ended", unsent.0.call);
        }
        Pending {
            result,
            waiting: Arc::clone(&self.waiting),
        }
    }
}

impl Pending {
    /// # Panics
    /// If the processes disagree on the collective.
    #[track_caller]
    pub(crate) fn wait(self) -> (Data, Times) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let result = self.result.recv();
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        match result {
            Ok(Ok(done)) => done,
            Ok(Err(disagreement)) => panic!("{disagreement}"),
            // INVARIANT: the thread of MPI replies to every job, and its panic ends the process.
            Err(RecvError) => unreachable!("the thread of MPI has ended"),
        }
    }
}

impl Data {
    pub(crate) fn of<T: Element>(elements: Vec<T>) -> Self {
        match same(elements).map_err(same) {
            Ok(elements) => Self::F32(elements),
            Err(Ok(elements)) => Self::F64(elements),
            // INVARIANT: `Element` is sealed, for these two types.
            Err(Err(_)) => unreachable!("an element is `f32` or `f64`"),
        }
    }

    pub(crate) fn into_elements<T: Element>(self) -> Vec<T> {
        let elements = match self {
            Self::F32(elements) => same(elements).ok(),
            Self::F64(elements) => same(elements).ok(),
            Self::U64(_) => None,
        };
        // INVARIANT: a collective returns the type that it was given.
        elements.expect("elements of the type that was sent")
    }

    /// Returns the elements, which are of type `T`.
    pub(crate) fn elements_mut<T: Element>(&mut self) -> &mut [T] {
        let elements: &mut dyn Any = match self {
            Self::F32(elements) => elements,
            Self::F64(elements) => elements,
            Self::U64(elements) => elements,
        };
        // INVARIANT: a bucket is filled with elements of its type.
        elements
            .downcast_mut::<Vec<T>>()
            .expect("elements of this type")
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::F32(elements) => elements.len(),
            Self::F64(elements) => elements.len(),
            Self::U64(elements) => elements.len(),
        }
    }
}

/// Returns the value as a `B`, if that is its type.
fn same<A: 'static, B: 'static>(value: A) -> Result<B, A> {
    let mut value = Some(value);
    let any: &mut dyn Any = &mut value;
    match any.downcast_mut::<Option<B>>() {
        // INVARIANT: the value is there, see above.
        Some(same) => Ok(same.take().expect("the value")),
        None => Err(value.expect("the value")),
    }
}
