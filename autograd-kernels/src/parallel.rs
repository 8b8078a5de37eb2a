//! Large work on several processors.
//!
//! Work is cut into parts, which the calling thread and helpers take one after the other. Helpers are
//! started when they are first needed and then wait for the next work: starting a thread takes ten times
//! as long as waking one. The caller never waits for a helper that has not begun, so a busy machine costs
//! nothing but the help.
//!
//! Work within a part is not cut again: nested calls run where they are.

use std::any::Any;
use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use crate::counted;

/// More parts than threads, so that one that is held up leaves the rest to the others.
const PARTS_PER_THREAD: usize = 4;

/// What [`set_threads`] said; 0: nothing.
static THREADS: AtomicUsize = AtomicUsize::new(0);

static HELPERS: Helpers = Helpers {
    waiting: Mutex::new(Waiting {
        tasks: VecDeque::new(),
        helpers: 0,
    }),
    news: Condvar::new(),
};

thread_local! {
    /// Whether this thread is at a part of some work.
    static AT_WORK: Cell<bool> = const { Cell::new(false) };
}

/// How many threads large work is done on: the machine's processors, unless [`set_threads`] said otherwise.
///
/// ```
/// use autograd_kernels::{set_threads, threads};
///
/// assert_eq!(threads(), std::thread::available_parallelism().map_or(1, usize::from));
/// set_threads(2);
/// assert_eq!(threads(), 2);
/// ```
pub fn threads() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    match THREADS.load(Ordering::Relaxed) {
        0 => *PROCESSORS.get_or_init(|| thread::available_parallelism().map_or(1, usize::from)),
        count => count,
    }
}

/// Sets how many threads large work is done on from now on, the caller's among them.
///
/// # Panics
/// If `count` is 0.
///
/// ```
/// use autograd_kernels::{set_threads, threads};
///
/// set_threads(1);
/// assert_eq!(threads(), 1);
/// ```
#[track_caller]
pub fn set_threads(count: usize) {
    assert!(count > 0, "work needs a thread");
    THREADS.store(count, Ordering::Relaxed);
}

/// Calls `work` with ranges that together are `0..count`, on several threads if there are two parts of
/// `at_least` so many: fewer than are worth waking a thread for.
///
/// # Panics
/// If `work` does, with what it said.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use autograd_kernels::split;
///
/// let sum = AtomicUsize::new(0);
/// split(1000, 100, |range| {
///     sum.fetch_add(range.sum::<usize>(), Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 499_500);
/// ```
pub fn split(count: usize, at_least: usize, work: impl Fn(Range<usize>) + Sync) {
    let threads = threads();
    let parts = parts(threads, count, at_least);
    if parts < 2 {
        return work(0..count);
    }
    in_parts(threads, parts, &|part| work(share(count, parts, part)));
}

/// Calls `work` with disjoint pieces of `elements` that are all of it, each of whole rows of `row`
/// elements, and the number of the piece's first row; on several threads as [`split`] does, with `at_least`
/// so many rows each.
///
/// # Panics
/// If `elements` are not whole rows, or if `work` does.
///
/// ```
/// use autograd_kernels::split_mut;
///
/// let mut matrix = vec![0; 12];
/// split_mut(&mut matrix, 3, 1, |first, rows| {
///     for (i, row) in rows.chunks_mut(3).enumerate() {
///         row.fill(first + i);
///     }
/// });
/// assert_eq!(matrix, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]);
/// ```
#[track_caller]
pub fn split_mut<T: Send>(
    elements: &mut [T],
    row: usize,
    at_least: usize,
    work: impl Fn(usize, &mut [T]) + Sync,
) {
    let rows = elements.len().checked_div(row).unwrap_or(0);
    assert!(
        rows * row == elements.len(),
        "{} cannot be cut into rows of {row}",
        counted(elements.len(), "element", "elements")
    );
    let threads = threads();
    let parts = parts(threads, rows, at_least);
    if parts < 2 {
        return work(0, elements);
    }
    let mut rest = elements;
    let pieces: Vec<_> = (0..parts)
        .map(|part| {
            let range = share(rows, parts, part);
            let (piece, after) = std::mem::take(&mut rest).split_at_mut(range.len() * row);
            rest = after;
            Mutex::new((range.start, piece))
        })
        .collect();
    in_parts(threads, parts, &|part| {
        // Each piece is locked once: a lock is how a piece is handed to whichever thread comes for it.
        let mut piece = locked(&pieces[part]);
        let (first, piece) = &mut *piece;
        work(*first, piece);
    });
}

/// How many parts work is cut into; one if it is not worth more.
fn parts(threads: usize, count: usize, at_least: usize) -> usize {
    let worth = count / at_least.max(1);
    if worth < 2 || threads == 1 || AT_WORK.get() {
        return 1;
    }
    worth.min(threads.saturating_mul(PARTS_PER_THREAD))
}

/// The range of one part: they differ by one in length at most.
fn share(count: usize, parts: usize, part: usize) -> Range<usize> {
    let (each, longer) = (count / parts, count % parts);
    let start = part * each + part.min(longer);
    start..start + each + usize::from(part < longer)
}

/// Calls `work` with the number of each part once, on as many threads at most.
fn in_parts(threads: usize, parts: usize, work: &(dyn Fn(usize) + Sync)) {
    // SAFETY: only the lifetime changes, of what is kept as a pointer. See Note [Lent work].
    #[expect(unsafe_code, reason = "see above")]
    let work = unsafe {
        std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(work)
    };
    let task = Arc::new(Task {
        work,
        parts,
        next: AtomicUsize::new(0),
        done: Mutex::new(Done {
            parts: 0,
            panic: None,
        }),
        all_done: Condvar::new(),
    });
    HELPERS.call(&task, (threads - 1).min(parts - 1));
    let outer = AT_WORK.replace(true);
    task.run();
    AT_WORK.set(outer);
    HELPERS.call_off(&task);
    if let Some(panic) = task.wait() {
        resume_unwind(panic);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What an author's panic may have left half done is only the author's piece.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// # Note [Lent work]
///
/// A task points to a closure on the stack of the thread that called. Nobody looks at the closure without
/// having taken a part, and each part is counted when it is done, whether or not it panicked. The caller
/// waits until all have been counted, so while anybody looks at the closure the caller's frame is there. A
/// helper that comes late finds no part left and does not look.
struct Task {
    work: *const (dyn Fn(usize) + Sync),
    parts: usize,
    /// The first part that nobody has taken.
    next: AtomicUsize,
    done: Mutex<Done>,
    all_done: Condvar,
}

struct Done {
    parts: usize,
    panic: Option<Box<dyn Any + Send>>,
}

// SAFETY: all but `work` is, and the closure that `work` points to is `Sync`; that it is there is
// Note [Lent work].
#[expect(unsafe_code, reason = "see above")]
unsafe impl Send for Task {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "see above")]
unsafe impl Sync for Task {}

impl Task {
    /// Takes parts until none is left.
    fn run(&self) {
        loop {
            let part = self.next.fetch_add(1, Ordering::Relaxed);
            if part >= self.parts {
                return;
            }
            // SAFETY: a part was taken and is not counted yet: see Note [Lent work].
            #[expect(unsafe_code, reason = "see above")]
            let work = unsafe { &*self.work };
            let result = catch_unwind(AssertUnwindSafe(|| work(part)));
            let mut done = locked(&self.done);
            if let Err(panic) = result {
                done.panic.get_or_insert(panic);
            }
            done.parts += 1;
            if done.parts == self.parts {
                self.all_done.notify_all();
            }
        }
    }

    /// Waits until all parts are done, and answers with the first panic.
    fn wait(&self) -> Option<Box<dyn Any + Send>> {
        let done = locked(&self.done);
        let done = self
            .all_done
            .wait_while(done, |done| done.parts < self.parts);
        done.unwrap_or_else(PoisonError::into_inner).panic.take()
    }
}

struct Helpers {
    waiting: Mutex<Waiting>,
    news: Condvar,
}

struct Waiting {
    /// A task stands here once for each helper that it could use.
    tasks: VecDeque<Arc<Task>>,
    /// How many threads were started.
    helpers: usize,
}

impl Helpers {
    fn call(&'static self, task: &Arc<Task>, helpers: usize) {
        let mut waiting = locked(&self.waiting);
        while waiting.helpers < helpers {
            let helper = thread::Builder::new().name("pullback helper".to_owned());
            if helper.spawn(|| self.help()).is_err() {
                // The caller does all that nobody else does.
                break;
            }
            waiting.helpers += 1;
        }
        let tasks = std::iter::repeat_n(task, helpers).cloned();
        waiting.tasks.extend(tasks);
        drop(waiting);
        for _ in 0..helpers {
            self.news.notify_one();
        }
    }

    /// Takes back the calls that no helper has followed.
    fn call_off(&self, task: &Arc<Task>) {
        locked(&self.waiting)
            .tasks
            .retain(|waiting| !Arc::ptr_eq(waiting, task));
    }

    fn help(&self) {
        AT_WORK.set(true);
        loop {
            let waiting = self
                .news
                .wait_while(locked(&self.waiting), |waiting| waiting.tasks.is_empty());
            let task = waiting
                .unwrap_or_else(PoisonError::into_inner)
                .tasks
                .pop_front();
            if let Some(task) = task {
                task.run();
            }
        }
    }
}

#[cfg(test)]
mod tests;
