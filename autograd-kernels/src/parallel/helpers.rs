//! Helper threads, which run parts of a caller's work.
//!
//! Starting a thread takes longer than a product of small matrices, and so does waking one that sleeps. Helpers are
//! therefore kept, and spin for a moment after each call: the products of one training step follow each other within
//! that time. The caller waits only for helpers that have started on its work, so a busy machine does not slow it down.
//! While one caller is helped, others work alone.
//!
//! # Note [Borrowed work]
//! Helpers call a closure in the stack frame of the caller, and only between entering and leaving the [`Latch`]. The
//! caller publishes a pointer to the closure and opens the latch. Before its frame ends, also by a panic, it closes the
//! latch, which no helper can then enter, and waits until all helpers have left. So the closure exists while it is
//! called, and the pointer is written only while no helper is inside to read it.
//!
//! Entering acquires what the caller published; leaving releases the results, and the caller acquires them when it
//! loads that no helper is inside. The test below has `loom` run every interleaving of a caller and a helper.

#![allow(unsafe_code, reason = "each block has its argument")]

use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// The time for which a helper spins before it sleeps: longer than a training step takes between two products.
const AWAKE: Duration = Duration::from_micros(200);

/// The number of spins before the clock is read, or the processor is yielded.
const SPINS: usize = 256;

static POOL: Pool = Pool {
    helpers: Mutex::new(Vec::new()),
    latch: Latch(AtomicU64::new(0)),
    work: UnsafeCell::new(Work {
        closure: ptr::null(),
        call: |_| (),
    }),
};

struct Pool {
    /// Locked by the one caller that is helped.
    helpers: Mutex<Vec<Helper>>,
    latch: Latch,
    work: UnsafeCell<Work>,
}

// SAFETY: `work` is written by the one caller that has locked `helpers`, while no helper is inside the latch, and read
// by helpers inside; the closure is `Sync`. See Note [Borrowed work].
unsafe impl Sync for Pool {}

struct Helper {
    thread: Thread,
    is_asleep: Arc<AtomicBool>,
}

/// A closure whose type and lifetime are forgotten.
#[derive(Clone, Copy)]
struct Work {
    closure: *const (),
    /// # Safety
    /// The closure must exist.
    call: unsafe fn(*const ()),
}

/// Returns whether a helper is awake and no caller is being helped.
pub(super) fn is_awake() -> bool {
    let awake = |helper: &Helper| !helper.is_asleep.load(Ordering::Relaxed);
    POOL.helpers
        .try_lock()
        .is_ok_and(|helpers| helpers.iter().any(awake))
}

/// Calls `work` on this thread and, meanwhile, on up to `helpers` other threads.
pub(super) fn call<F: Fn() + Sync>(helpers: usize, work: &F) {
    /// # Safety
    /// `closure` must point to an `F`.
    unsafe fn call<F: Fn()>(closure: *const ()) {
        // SAFETY: as the caller guarantees.
        unsafe { (*closure.cast::<F>())() }
    }

    let mut locked = match POOL.helpers.try_lock() {
        Ok(locked) => locked,
        // A panic cannot leave the list half changed.
        Err(TryLockError::Poisoned(locked)) => locked.into_inner(),
        // Another caller is being helped.
        Err(TryLockError::WouldBlock) => return work(),
    };
    while locked.len() < helpers {
        match start() {
            Some(helper) => locked.push(helper),
            // The caller does the rest of the work.
            None => break,
        }
    }
    // SAFETY: `helpers` is locked, and the last caller has left the latch empty: see Note [Borrowed work].
    unsafe {
        *POOL.work.get() = Work {
            closure: ptr::from_ref(work).cast(),
            call: call::<F>,
        };
    }
    POOL.latch.open(helpers);
    let _closed = Closed;
    for helper in locked.iter().take(helpers) {
        if helper.is_asleep.swap(false, Ordering::SeqCst) {
            helper.thread.unpark();
        }
    }
    work();
}

/// A guard that closes the latch and waits until all helpers have left it.
struct Closed;

impl Drop for Closed {
    fn drop(&mut self) {
        POOL.latch.close();
        for spin in 0_usize.. {
            if POOL.latch.is_empty() {
                return;
            }
            if spin < SPINS {
                spin_loop();
            } else {
                thread::yield_now();
            }
        }
    }
}

/// Starts a helper; `None` if the system has no thread.
fn start() -> Option<Helper> {
    let is_asleep = Arc::new(AtomicBool::new(false));
    let of_thread = Arc::clone(&is_asleep);
    let thread = thread::Builder::new().name("pullback helper".to_owned());
    let thread = thread.spawn(move || help(&of_thread)).ok()?;
    Some(Helper {
        thread: thread.thread().clone(),
        is_asleep,
    })
}

/// The loop of a helper thread.
fn help(is_asleep: &AtomicBool) {
    loop {
        wait_and_enter(is_asleep);
        let _inside = Inside;
        // SAFETY: this thread is inside the latch: see Note [Borrowed work].
        unsafe {
            let work = *POOL.work.get();
            (work.call)(work.closure);
        }
    }
}

/// A guard that leaves the latch.
struct Inside;

impl Drop for Inside {
    fn drop(&mut self) {
        POOL.latch.leave();
    }
}

/// Waits until the latch is open, spinning for a while, then asleep, and enters it.
fn wait_and_enter(is_asleep: &AtomicBool) {
    let mut since = Instant::now();
    loop {
        for _ in 0..SPINS {
            if POOL.latch.enter() {
                return;
            }
            spin_loop();
        }
        if since.elapsed() < AWAKE {
            // On a busy machine the caller may need this very processor.
            thread::yield_now();
            continue;
        }
        // Sequentially consistent: this store and the load of the latch here, the store to the latch and the load of
        // `is_asleep` in `call`. Either this thread loads an open latch, or the caller loads that it is asleep.
        is_asleep.store(true, Ordering::SeqCst);
        if !POOL.latch.is_open() {
            thread::park();
        }
        is_asleep.store(false, Ordering::SeqCst);
        since = Instant::now();
    }
}

/// A latch that a limited number of helpers may enter. The upper half of the number is how many more may enter, the
/// lower half how many are inside.
struct Latch<N = AtomicU64>(N);

/// One helper that may enter.
const ENTRY: u64 = 1 << 32;

/// An atomic number, of std or, in the test, of `loom`.
trait Number {
    fn load(&self, order: Ordering) -> u64;

    fn store(&self, number: u64, order: Ordering);

    fn compare_exchange(&self, current: u64, new: u64, success: Ordering) -> Result<u64, u64>;

    fn fetch_sub(&self, order: Ordering) -> u64;

    fn fetch_and(&self, number: u64, order: Ordering) -> u64;
}

macro_rules! number {
    ($Atomic:ty) => {
        impl Number for $Atomic {
            fn load(&self, order: Ordering) -> u64 {
                self.load(order)
            }

            fn store(&self, number: u64, order: Ordering) {
                self.store(number, order);
            }

            fn compare_exchange(
                &self,
                current: u64,
                new: u64,
                success: Ordering,
            ) -> Result<u64, u64> {
                self.compare_exchange(current, new, success, Ordering::Relaxed)
            }

            fn fetch_sub(&self, order: Ordering) -> u64 {
                self.fetch_sub(1, order)
            }

            fn fetch_and(&self, number: u64, order: Ordering) -> u64 {
                self.fetch_and(number, order)
            }
        }
    };
}

number!(AtomicU64);

impl<N: Number> Latch<N> {
    fn open(&self, entries: usize) {
        // Sequentially consistent with `is_asleep`, and a release of the published work.
        self.0.store(entries as u64 * ENTRY, Ordering::SeqCst);
    }

    fn is_open(&self) -> bool {
        self.0.load(Ordering::SeqCst) >= ENTRY
    }

    /// Enters the latch and returns `true`, if it is open.
    fn enter(&self) -> bool {
        let mut state = self.0.load(Ordering::Relaxed);
        while state >= ENTRY {
            let inside = state - ENTRY + 1;
            match self.0.compare_exchange(state, inside, Ordering::Acquire) {
                Ok(_) => return true,
                Err(other) => state = other,
            }
        }
        false
    }

    fn leave(&self) {
        self.0.fetch_sub(Ordering::Release);
    }

    fn close(&self) {
        self.0.fetch_and(ENTRY - 1, Ordering::Relaxed);
    }

    fn is_empty(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }
}

#[cfg(test)]
mod tests {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU64 as Modeled;
    use loom::thread;

    use super::*;

    number!(Modeled);

    /// A published number, and each helper's result; `loom` reports conflicting accesses.
    struct Shared {
        latch: Latch<Modeled>,
        published: UnsafeCell<u32>,
        results: [UnsafeCell<u32>; 2],
    }

    /// Calls of one caller, with one entry each, and helpers that read what it publishes.
    fn calls<const HELPERS: usize>(calls: u32) {
        let shared = Arc::new(Shared {
            latch: Latch(Modeled::new(0)),
            published: UnsafeCell::new(0),
            results: [UnsafeCell::new(0), UnsafeCell::new(0)],
        });
        let helpers: [_; HELPERS] = std::array::from_fn(|helper| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                if shared.latch.enter() {
                    // SAFETY: `loom` checks that no other thread writes to the one, or uses the other.
                    unsafe {
                        let read = shared.published.with(|number| *number);
                        assert_ne!(read, 0);
                        shared.results[helper].with_mut(|result| *result = read);
                    }
                    shared.latch.leave();
                }
            })
        });
        for call in 1..=calls {
            // SAFETY: as above.
            unsafe { shared.published.with_mut(|number| *number = call) };
            shared.latch.open(1);
            shared.latch.close();
            while !shared.latch.is_empty() {
                thread::yield_now();
            }
            // SAFETY: as above.
            let results =
                [0, 1].map(|helper| unsafe { shared.results[helper].with(|result| *result) });
            let entered = results.iter().filter(|result| **result == call).count();
            assert!(entered < 2, "two helpers entered on one entry");
        }
        for helper in helpers {
            helper.join().unwrap();
        }
    }

    #[test]
    fn helpers_read_what_was_published_and_leave_before_it_changes() {
        loom::model(|| calls::<1>(2));
        // All interleavings of three threads take half a minute.
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| calls::<2>(1));
    }
}
