//! The thread that owns MPI.
//!
//! # Note [One thread]
//! One thread of each process initializes MPI, makes all calls of MPI and finalizes it; other threads send it jobs
//! through a channel. So MPI needs no more than `MPI_THREAD_FUNNELED`, and collectives progress while the other threads
//! compute: a nonblocking collective progresses only inside calls of MPI. The thread polls, so it can check deadlines,
//! reply to other processes that ask for the number of its calls, and end all processes.
//!
//! Jobs run one after the other, so all processes start the same collectives in the same order.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};
use std::{process, thread};

use mpi::Threading;
use mpi::collective::SystemOperation;
use mpi::request::{Request, Scope, scope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

use crate::call::{Call, TEXT, disagreement};

/// The time between two checks for questions of other processes while there is no job.
const IDLE: Duration = Duration::from_millis(20);
/// The time for which a job that a thread waits for is polled without sleeping; after that, other processes need the
/// processor.
const EAGER: Duration = Duration::from_millis(1);
/// The time that the thread sleeps between two polls.
const NAP: Duration = Duration::from_micros(20);
/// The time in which other processes must report the number of their calls.
const ANSWERS: Duration = Duration::from_secs(1);
/// The longest time from a failure to the end of this process.
const LAST: Duration = Duration::from_secs(5);

const ASK: i32 = 1;
const ANSWER: i32 = 2;

/// The operation on the data. Sums and maxima are over all processes, element by element.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// A barrier, without data.
    Meet,
    /// A barrier, after which the thread ends.
    Finish,
    Sum,
    Max,
    /// The sum on one process, zeros on the others.
    SumTo(usize),
    Broadcast(usize),
    /// The data of each process, in the order of the ranks.
    AllGather,
    /// The sum, split into one part per process.
    ReduceScatter,
    /// To the process of rank + this number, modulo the number of processes.
    Shift(isize),
}

/// The elements of a job.
#[derive(Debug)]
pub(crate) enum Data {
    F32(Vec<f32>),
    F64(Vec<f64>),
    U64(Vec<u64>),
}

/// The start and the end of a job on the thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) start: Instant,
    pub(crate) end: Instant,
}

/// The least time that a job takes, see [`Communicator::with_delay`](crate::Communicator::with_delay).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delay {
    pub(crate) latency: Duration,
    pub(crate) bandwidth: f64,
}

#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) call: Call,
    pub(crate) kind: Kind,
    pub(crate) data: Data,
    pub(crate) deadline: Duration,
    pub(crate) delay: Option<Delay>,
    pub(crate) reply: SyncSender<Result<(Data, Times), String>>,
}

pub(crate) struct Worker {
    rank: usize,
    size: usize,
    world: SimpleCommunicator,
    /// For questions about the number of a process's calls, beside the collectives.
    side: SimpleCommunicator,
    /// Set when this process has failed and must end all processes.
    abort: Arc<AtomicBool>,
    /// The number of threads that wait for the result of a job.
    waiting: Arc<AtomicUsize>,
    /// The number of jobs that were started.
    calls: Cell<u64>,
}

/// A running job and its deadline.
struct Wait<'a> {
    call: &'a Call,
    deadline: Duration,
    since: Instant,
}

/// Initializes MPI, sends rank and number of processes to `ready`, and runs jobs until one is [`Kind::Finish`]. Sends
/// `None` if MPI was initialized before.
pub(crate) fn work(
    jobs: Receiver<Job>,
    (abort, waiting): (Arc<AtomicBool>, Arc<AtomicUsize>),
    ready: SyncSender<Option<(usize, usize)>>,
) {
    let Some((universe, _)) = mpi::initialize_with_threading(Threading::Funneled) else {
        let _ = ready.send(None);
        return;
    };
    let world = universe.world();
    let index = |rank: i32| usize::try_from(rank).unwrap_or_default();
    let worker = Worker {
        rank: index(world.rank()),
        size: index(world.size()),
        side: world.duplicate(),
        world,
        abort,
        waiting,
        calls: Cell::new(0),
    };
    let _ = ready.send(Some((worker.rank, worker.size)));
    worker.serve(&jobs);
    drop(worker);
    drop(universe);
}

impl Delay {
    fn of(self, bytes: usize) -> Duration {
        self.latency + Duration::from_secs_f64(bytes as f64 / self.bandwidth)
    }
}

impl Worker {
    fn serve(&self, jobs: &Receiver<Job>) {
        loop {
            match jobs.recv_timeout(IDLE) {
                Ok(job) => {
                    let finish = matches!(job.kind, Kind::Finish);
                    self.perform(job);
                    if finish {
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.check_others(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn perform(&self, job: Job) {
        let start = Instant::now();
        self.calls.set(self.calls.get() + 1);
        let wait = Wait {
            call: &job.call,
            deadline: job.deadline,
            since: start,
        };
        let result = self.compare(&wait).map(|()| {
            let (kind, delay) = (job.kind, job.delay);
            let data = match job.data {
                Data::F32(data) => Data::F32(self.exchange(kind, delay, data, &wait)),
                Data::F64(data) => Data::F64(self.exchange(kind, delay, data, &wait)),
                Data::U64(data) => Data::U64(self.exchange(kind, delay, data, &wait)),
            };
            let end = Instant::now();
            (data, Times { start, end })
        });
        // No thread waits for the result if its pass has failed.
        let _ = job.reply.send(result);
    }

    /// Compares the descriptions of the job on all processes. Each of them returns an error if there is a difference.
    ///
    /// # Note [Agreement]
    /// The maximum of all digests and the maximum of their complements are complements of each other exactly if all
    /// digests are equal. So one reduction of 16 bytes finds a difference, and texts are gathered only after one.
    fn compare(&self, wait: &Wait<'_>) -> Result<(), String> {
        if self.size == 1 {
            return Ok(());
        }
        let digest = wait.call.digest();
        let (own, mut largest) = ([digest, !digest], [0_u64; 2]);
        scope(|scope| {
            let max = SystemOperation::max();
            let world = &self.world;
            let request = world.immediate_all_reduce_into(scope, &own[..], &mut largest[..], max);
            self.finish(request, wait);
        });
        if largest[0] == !largest[1] {
            return Ok(());
        }
        let mut own = wait.call.to_string().into_bytes();
        own.resize(TEXT, 0);
        let mut all = vec![0_u8; TEXT * self.size];
        scope(|scope| {
            let request = self
                .world
                .immediate_all_gather_into(scope, &own[..], &mut all[..]);
            self.finish(request, wait);
        });
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            text.trim_end_matches('\0').to_owned()
        };
        let texts: Vec<String> = all.chunks(TEXT).map(text).collect();
        Err(disagreement(&texts))
    }

    fn exchange<T: Equivalence + Copy + Default>(
        &self,
        kind: Kind,
        delay: Option<Delay>,
        own: Vec<T>,
        wait: &Wait<'_>,
    ) -> Vec<T> {
        if self.size == 1 {
            return own;
        }
        let bytes = size_of_val(&own[..]);
        let due = delay.map(|delay| Instant::now() + delay.of(bytes));
        let (sum, length, world) = (SystemOperation::sum(), own.len(), &self.world);
        let mut all = match kind {
            Kind::AllGather => vec![T::default(); length * self.size],
            Kind::ReduceScatter => vec![T::default(); length / self.size],
            Kind::Meet | Kind::Finish | Kind::Broadcast(_) => Vec::new(),
            _ => vec![T::default(); length],
        };
        match kind {
            Kind::Meet | Kind::Finish => all = own,
            Kind::Sum | Kind::Max => scope(|scope| {
                let operation = match kind {
                    Kind::Max => SystemOperation::max(),
                    _ => sum,
                };
                self.finish(
                    world.immediate_all_reduce_into(scope, &own[..], &mut all[..], operation),
                    wait,
                );
            }),
            Kind::SumTo(root) => scope(|scope| {
                let process = world.process_at_rank(rank(root));
                if root == self.rank {
                    self.finish(
                        process.immediate_reduce_into_root(scope, &own[..], &mut all[..], sum),
                        wait,
                    );
                } else {
                    self.finish(process.immediate_reduce_into(scope, &own[..], sum), wait);
                }
            }),
            Kind::Broadcast(root) => {
                all = own;
                let process = world.process_at_rank(rank(root));
                scope(|scope| {
                    self.finish(process.immediate_broadcast_into(scope, &mut all[..]), wait);
                });
            }
            Kind::AllGather => scope(|scope| {
                self.finish(
                    world.immediate_all_gather_into(scope, &own[..], &mut all[..]),
                    wait,
                );
            }),
            Kind::ReduceScatter => scope(|scope| {
                self.finish(
                    world.immediate_reduce_scatter_block_into(scope, &own[..], &mut all[..], sum),
                    wait,
                );
            }),
            Kind::Shift(by) => self.send_and_receive(by, &own, &mut all, wait),
        }
        if let Some(due) = due {
            thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        all
    }

    /// Sends to rank + `by`, and receives from rank − `by`.
    fn send_and_receive<T: Equivalence>(
        &self,
        by: isize,
        own: &[T],
        received: &mut [T],
        wait: &Wait<'_>,
    ) {
        let (to, from) = (self.neighbor(by), self.neighbor(-by));
        scope(|scope| {
            let from = self.world.process_at_rank(from);
            let receive = from.immediate_receive_into(scope, received);
            let to = self.world.process_at_rank(to);
            let send = to.immediate_send(scope, own);
            self.finish(receive, wait);
            self.finish(send, wait);
        });
    }

    fn neighbor(&self, by: isize) -> i32 {
        let size = i128::try_from(self.size).unwrap_or(1);
        let place = (self.rank as i128 + by as i128).rem_euclid(size);
        i32::try_from(place).unwrap_or_default()
    }

    /// Polls until the request has completed.
    ///
    /// # Note [Naps]
    /// A thread that yields to a computing thread resumes after the latter's time slice, milliseconds later; a thread
    /// that sleeps resumes as soon as its time is over. So this thread yields while the thread that sent the job waits,
    /// and sleeps while that thread computes.
    fn finish<'a, D: ?Sized, S: Scope<'a>>(&self, mut request: Request<'a, D, S>, wait: &Wait<'_>) {
        let begun = Instant::now();
        while let Err(again) = request.test() {
            request = again;
            self.check_others();
            if wait.since.elapsed() > wait.deadline {
                self.report(wait);
            }
            if self.waiting.load(Ordering::Relaxed) > 0 && begun.elapsed() < EAGER {
                thread::yield_now();
            } else {
                thread::sleep(NAP);
            }
        }
    }

    /// Ends all processes if this one has failed, and replies to processes that ask for the number of its calls.
    fn check_others(&self) {
        if self.abort.load(Ordering::Acquire) {
            self.end_all();
        }
        while let Some((message, status)) =
            (self.side.any_process()).immediate_matched_probe_with_tag(ASK)
        {
            message.matched_receive_into(&mut [0_u64; 1][..]);
            let asker = self.side.process_at_rank(status.source_rank());
            asker.send_with_tag(&[self.calls.get()][..], ANSWER);
        }
    }

    /// Prints which processes are missing, and ends all.
    ///
    /// # Note [Missing]
    /// A collective does not report which process is late. But the thread of MPI of each process runs whatever its
    /// other threads do, and reports how many calls it has started. A process that does not reply within a second is
    /// stopped, or its machine is down. If several processes wait for one, the process of the smallest rank prints.
    fn report(&self, wait: &Wait<'_>) -> ! {
        end_soon();
        let calls = self.ask();
        let own = self.calls.get();
        let others = || (0..self.size).filter(|&rank| rank != self.rank);
        let late = others().filter(|&rank| calls[rank].is_some_and(|calls| calls < own));
        let late = late.map(|rank| {
            let last = calls[rank].unwrap_or_default();
            format!("rank {rank} has not reached this call; it is at call {last}")
        });
        let silent = others().filter(|&rank| calls[rank].is_none());
        let silent = silent.map(|rank| format!("rank {rank} does not reply"));
        let mut reasons: Vec<String> = late.chain(silent).collect();
        if reasons.is_empty() {
            reasons.push("every rank has reached this call, but it does not complete".to_owned());
        }
        let prints = others().all(|rank| rank > self.rank || calls[rank] != Some(own));
        if !prints {
            thread::sleep(2 * ANSWERS);
        }
        eprintln!(
            "rank {}: {} (call {own}) has waited for {:.1} s: {}",
            self.rank,
            wait.call,
            wait.deadline.as_secs_f64(),
            reasons.join("; ")
        );
        self.end_all()
    }

    /// Asks each process for the number of calls that it has started.
    fn ask(&self) -> Vec<Option<u64>> {
        let mut calls = vec![None; self.size];
        for other in (0..self.size).filter(|&other| other != self.rank) {
            let other = self.side.process_at_rank(rank(other));
            other.send_with_tag(&[self.calls.get()][..], ASK);
        }
        let begun = Instant::now();
        let missing = |calls: &[Option<u64>]| calls.iter().flatten().count() + 1 < self.size;
        while begun.elapsed() < ANSWERS && missing(&calls) {
            self.check_others();
            let any = self.side.any_process();
            if let Some((message, status)) = any.immediate_matched_probe_with_tag(ANSWER) {
                let mut number = [0_u64];
                message.matched_receive_into(&mut number[..]);
                let place = usize::try_from(status.source_rank()).unwrap_or_default();
                calls[place] = Some(number[0]);
            } else {
                thread::sleep(NAP);
            }
        }
        calls
    }

    fn end_all(&self) -> ! {
        end_soon();
        self.world.abort(1)
    }
}

/// Ends this process after [`LAST`], also when a call of MPI does not return: it may wait for a process that is stopped.
/// `mpirun` ends the others then.
fn end_soon() {
    thread::spawn(|| {
        thread::sleep(LAST);
        process::abort();
    });
}

/// Converts a rank to MPI's type.
fn rank(rank: usize) -> i32 {
    // INVARIANT: the rank is below the number of processes, which is an `i32` in MPI.
    i32::try_from(rank).expect("a rank fits")
}
