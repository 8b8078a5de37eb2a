//! The handle that programs have.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvError, Sender, sync_channel};
use std::time::Duration;

use pullback::Element;

use crate::Link;
use crate::call::Call;
use crate::worker::{Data, Job, Kind, Times};

/// The processes of a program that [`run`](crate::run) has started, seen from one of them. Clones are the same.
///
/// Collectives take it as a value. All processes call the same ones in the same order, or are told who does not.
///
/// ```
/// pullback_mpi::run(|comm| {
///     assert!(comm.rank() < comm.size());
///     comm.barrier();
///     Ok::<(), pullback::Error>(())
/// });
/// ```
#[derive(Clone, Debug)]
pub struct Communicator {
    jobs: Sender<Job>,
    /// The number of threads that wait for a job.
    waiting: Arc<AtomicUsize>,
    rank: usize,
    size: usize,
    deadline: Duration,
    link: Option<Link>,
}

/// A collective that may still be on its way.
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
            link: None,
        }
    }

    /// Returns the number of this process: from 0, below [`size`](Self::size).
    ///
    /// ```
    /// // `mpirun -n 4` runs this four times, with ranks 0 to 3.
    /// pullback_mpi::run(|comm| Ok::<(), pullback::Error>(println!("rank {}", comm.rank())));
    /// ```
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of processes.
    ///
    /// ```
    /// pullback_mpi::run(|comm| {
    ///     assert_eq!(comm.size(), 1); // without `mpirun`
    ///     Ok::<(), pullback::Error>(())
    /// });
    /// ```
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns a handle whose collectives wait for other processes this long, 60 seconds by default. After that, one
    /// process prints which operation waited and for whom, and all end. It has to be longer than the slowest process
    /// computes between two collectives. The end of [`run`](crate::run) waits for 60 seconds: where one process works longer
    /// at the end, let all call [`barrier`](Self::barrier) with a longer deadline after that.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// pullback_mpi::run(|comm| {
    ///     let comm = comm.with_deadline(Duration::from_secs(5));
    ///     comm.barrier();
    ///     Ok::<(), pullback::Error>(())
    /// });
    /// ```
    #[must_use]
    pub fn with_deadline(&self, deadline: Duration) -> Self {
        let comm = self.clone();
        Self { deadline, ..comm }
    }

    /// Returns a handle whose collectives take at least as long as on this interconnect, to see on one machine what a
    /// slower one does. The sum over all processes goes around a ring, in 2(p − 1) steps of a message each; other
    /// collectives are delayed by one message.
    ///
    /// ```
    /// use std::time::Duration;
    /// use pullback::Tensor;
    /// use pullback::ndarray::array;
    /// use pullback_mpi::{Link, all_reduce_sum};
    ///
    /// pullback_mpi::run(|comm| {
    ///     let slow = comm.with_link(Link { latency: Duration::from_millis(1), bandwidth: 1e9 });
    ///     let sum = all_reduce_sum(&Tensor::from(array![1.0]), &slow);
    ///     assert_eq!(sum.item(), comm.size() as f64);
    ///     Ok::<(), pullback::Error>(())
    /// });
    /// ```
    #[must_use]
    pub fn with_link(&self, link: Link) -> Self {
        let link = Some(link);
        let comm = self.clone();
        Self { link, ..comm }
    }

    /// Waits until all processes have come here.
    ///
    /// # Panics
    /// If another process calls something else.
    ///
    /// ```
    /// pullback_mpi::run(|comm| {
    ///     if comm.rank() == 0 {
    ///         println!("this is printed before any process goes on");
    ///     }
    ///     comm.barrier();
    ///     Ok::<(), pullback::Error>(())
    /// });
    /// ```
    #[track_caller]
    pub fn barrier(&self) {
        self.start(Call::bare("barrier"), Kind::Meet, Data::U64(Vec::new()))
            .wait();
    }

    /// Ends the thread of MPI on all processes, which have all come to the end.
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

    /// Returns the maxima of whole numbers that stand for elements of type `T`.
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
            _ => unreachable!("whole numbers were sent"),
        }
    }

    /// Begins a collective. All processes begin the same ones in the same order.
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
            link: self.link,
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
    /// If the processes disagree on what it is.
    #[track_caller]
    pub(crate) fn wait(self) -> (Data, Times) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let result = self.result.recv();
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        match result {
            Ok(Ok(done)) => done,
            Ok(Err(disagreement)) => panic!("{disagreement}"),
            // INVARIANT: the thread answers every job, and a panic of it ends the process.
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

    /// The elements, which are of type `T`.
    pub(crate) fn elements_mut<T: Element>(&mut self) -> &mut [T] {
        let elements: &mut dyn Any = match self {
            Self::F32(elements) => elements,
            Self::F64(elements) => elements,
            Self::U64(elements) => elements,
        };
        // INVARIANT: who fills a bucket knows its type.
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
        // INVARIANT: it was put there two lines above.
        Some(same) => Ok(same.take().expect("the value")),
        None => Err(value.expect("the value")),
    }
}
