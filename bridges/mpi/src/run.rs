//! The start and the end of a program of several processes.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, sync_channel};
use std::time::Duration;
use std::{env, process, thread};

use pullback::foreign::catch_panic;

use crate::communicator::Communicator;
use crate::worker;

/// Runs `body` on this process of a program that `mpirun` has started, and returns its result when `body` has returned
/// on all processes. Without `mpirun` there is one process.
///
/// If `body` returns an error or panics, this process prints the message with its rank, and all processes end with an
/// exit code that is not 0. So do processes that [disagree](crate#when-a-process-fails).
///
/// A separate thread makes all calls of MPI. If there are several processes, each computes on one thread, unless the
/// variable `PULLBACK_NUM_THREADS` is set: a machine usually runs one process per processor.
///
/// # Panics
/// If `run` is called a second time: MPI starts once in a process.
///
/// ```
/// use pullback::Tensor;
/// use pullback::ndarray::array;
/// use pullback_mpi::all_reduce_sum;
///
/// let sum = pullback_mpi::run(|comm| {
///     let own = Tensor::from(array![comm.rank() as f64 + 1.0]);
///     Ok::<_, pullback::Error>(all_reduce_sum(&own, comm).item())
/// });
/// assert_eq!(sum, 1.0); // with `mpirun -n 2`: 3.0, on both
/// ```
#[track_caller]
pub fn run<R, E: Display>(body: impl FnOnce(&Communicator) -> Result<R, E>) -> R {
    let (jobs, queue) = channel();
    let (ready, start) = sync_channel(1);
    let abort = Arc::new(AtomicBool::new(false));
    let waiting = Arc::new(AtomicUsize::new(0));
    let seen = (Arc::clone(&abort), Arc::clone(&waiting));
    let worker = thread::spawn(move || {
        if catch_panic(|| worker::work(queue, seen, ready)).is_err() {
            // The message of the panic is printed; `mpirun` ends the other processes.
            process::abort();
        }
    });
    let Ok(Some(place)) = start.recv() else {
        panic!("`run` a second time: MPI starts once in a process");
    };
    let comm = Communicator::new(jobs, waiting, place);
    if comm.size() > 1 && env::var_os("PULLBACK_NUM_THREADS").is_none() {
        pullback::kernels::set_threads(1);
    }
    let outcome = catch_panic(|| {
        let result = body(&comm);
        if result.is_ok() {
            comm.finish();
        }
        result
    });
    let failure = match outcome {
        Ok(Ok(result)) => {
            // INVARIANT: a panic of the thread ends the process.
            worker.join().expect("the thread of MPI ended");
            return result;
        }
        Ok(Err(error)) => format!("failed: {error}"),
        Err(panic) => format!("panicked: {panic}"),
    };
    eprintln!("rank {}: {failure}", comm.rank());
    abort.store(true, Ordering::Release);
    // The thread of MPI ends all processes, this one too.
    loop {
        thread::sleep(Duration::from_secs(1));
    }
}
