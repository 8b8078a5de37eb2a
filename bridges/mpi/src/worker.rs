//! The thread that owns MPI.
//!
//! # Note [One thread]
//! One thread of each process initializes MPI, makes every call of it and finalizes it; the others give it jobs
//! through a channel. That asks MPI for `MPI_THREAD_FUNNELED` and no more, and collectives make progress while the other
//! threads compute: a nonblocking collective progresses only inside of calls of MPI. The thread polls, so it can watch
//! a deadline, answer other processes that ask how far this one is, and end them all.
//!
//! Jobs run one after the other, so all processes start the same collectives in the same order.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use mpi::Threading;
use mpi::collective::SystemOperation;
use mpi::request::{Request, Scope, scope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

use crate::Link;
use crate::call::{Call, TEXT, disagreement};

/// How long the thread sleeps between two looks at what other processes ask, when it has nothing to do.
const IDLE: Duration = Duration::from_millis(20);
/// How long a job that somebody waits for is polled without sleeping: after that, other processes need the processor.
const EAGER: Duration = Duration::from_millis(1);
/// How long the thread sleeps between two polls.
const NAP: Duration = Duration::from_micros(20);
/// How long other processes have to say how far they are.
const ANSWERS: Duration = Duration::from_secs(1);

const ASK: i32 = 1;
const ANSWER: i32 = 2;

/// What is done with the data. Sums and maxima are of the elements of all processes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Nothing travels: the processes only meet.
    Meet,
    /// As [`Meet`](Self::Meet), and the thread ends.
    Finish,
    Sum,
    Max,
    /// The sum arrives at one process, zeros at the others.
    SumTo(usize),
    Broadcast(usize),
    /// The data of each process, in the order of the ranks.
    AllGather,
    /// Of the sum, cut into as many parts as there are processes, each gets its own.
    ReduceScatter,
    /// To the process this many ranks further, around a ring.
    Shift(isize),
}

/// Elements on their way.
#[derive(Debug)]
pub(crate) enum Data {
    F32(Vec<f32>),
    F64(Vec<f64>),
    U64(Vec<u64>),
}

/// When a job began and ended on the thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) start: Instant,
    pub(crate) end: Instant,
}

#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) call: Call,
    pub(crate) kind: Kind,
    pub(crate) data: Data,
    pub(crate) deadline: Duration,
    /// An interconnect to imitate.
    pub(crate) link: Option<Link>,
    pub(crate) reply: SyncSender<Result<(Data, Times), String>>,
}

pub(crate) struct Worker {
    rank: usize,
    size: usize,
    world: SimpleCommunicator,
    /// For questions about how far a process is, beside the collectives.
    side: SimpleCommunicator,
    /// Set when this process is to end all of them.
    abort: Arc<AtomicBool>,
    /// The number of threads that wait for a job.
    waiting: Arc<AtomicUsize>,
    /// The number of jobs begun.
    calls: Cell<u64>,
}

/// A job that is being waited for.
struct Wait<'a> {
    call: &'a Call,
    deadline: Duration,
    since: Instant,
}

/// Initializes MPI, tells `ready` rank and number of processes, and works until a job says to finish. `ready` gets
/// nothing if MPI was initialized before.
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
                Err(RecvTimeoutError::Timeout) => self.look_around(),
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
            let (kind, link) = (job.kind, job.link);
            let data = match job.data {
                Data::F32(data) => Data::F32(self.exchange(kind, link, data, &wait)),
                Data::F64(data) => Data::F64(self.exchange(kind, link, data, &wait)),
                Data::U64(data) => Data::U64(self.exchange(kind, link, data, &wait)),
            };
            let end = Instant::now();
            (data, Times { start, end })
        });
        // Nobody waits for it if the pass that wanted it has failed.
        let _ = job.reply.send(result);
    }

    /// Compares the descriptions of the job on all processes. All of them learn of a difference.
    ///
    /// # Note [Agreement]
    /// The largest digest and the largest complement of one are those of one digest exactly if all are equal: one
    /// reduction of 16 bytes. The texts travel only where they differ.
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

    fn exchange<T>(&self, kind: Kind, link: Option<Link>, own: Vec<T>, wait: &Wait<'_>) -> Vec<T>
    where
        T: Equivalence + Copy + Default + std::ops::AddAssign,
    {
        if self.size == 1 {
            return own;
        }
        if let Some(link) = link {
            if matches!(kind, Kind::Sum) {
                return self.ring(link, own, wait);
            }
            thread::sleep(link.time(size_of_val(&own[..])));
        }
        let (sum, length, world) = (SystemOperation::sum(), own.len(), &self.world);
        let mut all = match kind {
            Kind::AllGather => vec![T::default(); length * self.size],
            Kind::ReduceScatter => vec![T::default(); length / self.size],
            Kind::Meet | Kind::Finish | Kind::Broadcast(_) => Vec::new(),
            _ => vec![T::default(); length],
        };
        match kind {
            Kind::Meet | Kind::Finish => return own,
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
        all
    }

    /// Sends to the process `by` ranks further, and receives from the one as many ranks before.
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

    /// The sum over all processes, in 2(p − 1) steps around a ring of which each takes as long as `link` says. The data
    /// is cut into p parts; in the first half of the steps each process adds its own to a part that goes around, in
    /// the second the sums go around.
    fn ring<T>(&self, link: Link, mut own: Vec<T>, wait: &Wait<'_>) -> Vec<T>
    where
        T: Equivalence + Copy + Default + std::ops::AddAssign,
    {
        let (size, length) = (self.size, own.len());
        let part = |index: usize| {
            let index = index % size;
            length * index / size..length * (index + 1) / size
        };
        for step in 0..2 * (size - 1) {
            let start = Instant::now();
            let sent = part(self.rank + 2 * size - step);
            let received = part(self.rank + 2 * size - step - 1);
            let mut buffer = vec![T::default(); received.len()];
            self.send_and_receive(1, &own[sent.clone()], &mut buffer, wait);
            if step < size - 1 {
                let sums = own[received].iter_mut().zip(buffer);
                sums.for_each(|(sum, part)| *sum += part);
            } else {
                own[received].copy_from_slice(&buffer);
            }
            let time = link.time(size_of_val(&own[sent]));
            thread::sleep(time.saturating_sub(start.elapsed()));
        }
        own
    }

    /// Polls until the request has completed.
    ///
    /// # Note [Naps]
    /// A thread that yields to one that computes is back after the latter's slice, milliseconds later; one that sleeps
    /// is back as soon as its time is over. So this one yields while the thread that asked waits for it too, and sleeps
    /// while that computes.
    fn finish<'a, D: ?Sized, S: Scope<'a>>(&self, mut request: Request<'a, D, S>, wait: &Wait<'_>) {
        let begun = Instant::now();
        while let Err(again) = request.test() {
            request = again;
            self.look_around();
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

    /// Ends all processes if this one failed, and tells those that ask how far it is.
    fn look_around(&self) {
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

    /// Says which process is missing, and ends all.
    ///
    /// # Note [Missing]
    /// A collective does not say who is late. But the threads of MPI of the other processes run, whatever their other
    /// threads do, and say how many calls they have begun. A process that does not say so within a second is stopped,
    /// or its machine is gone. Of several processes that wait for one, that of the smallest rank speaks.
    fn report(&self, wait: &Wait<'_>) -> ! {
        let calls = self.ask();
        let own = self.calls.get();
        let others = || (0..self.size).filter(|&rank| rank != self.rank);
        let late = others().filter(|&rank| calls[rank].is_some_and(|calls| calls < own));
        let late = late.map(|rank| {
            let last = calls[rank].unwrap_or_default();
            format!("rank {rank} has not come to it: it is at call {last}")
        });
        let silent = others().filter(|&rank| calls[rank].is_none());
        let silent = silent.map(|rank| format!("rank {rank} does not answer"));
        let mut reasons: Vec<String> = late.chain(silent).collect();
        if reasons.is_empty() {
            reasons.push("every rank has come to it, but the data does not arrive".to_owned());
        }
        let speaks = others().all(|rank| rank > self.rank || calls[rank] != Some(own));
        if !speaks {
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

    /// Asks each process how many calls it has begun.
    fn ask(&self) -> Vec<Option<u64>> {
        let mut calls = vec![None; self.size];
        for other in (0..self.size).filter(|&other| other != self.rank) {
            let other = self.side.process_at_rank(rank(other));
            other.send_with_tag(&[self.calls.get()][..], ASK);
        }
        let begun = Instant::now();
        let missing = |calls: &[Option<u64>]| calls.iter().flatten().count() + 1 < self.size;
        while begun.elapsed() < ANSWERS && missing(&calls) {
            self.look_around();
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
        self.world.abort(1)
    }
}

/// A rank as MPI has it.
fn rank(rank: usize) -> i32 {
    // INVARIANT: it is below the number of processes, which MPI gave as an `i32`.
    i32::try_from(rank).expect("a rank fits")
}
