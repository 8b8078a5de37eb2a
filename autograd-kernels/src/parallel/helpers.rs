//! Threads that help a caller, and wait for the next.
//!
//! Starting a thread takes longer than a product of small matrices, and so does waking one that sleeps. Helpers
//! are therefore kept, and stay awake for a moment after each call: the products of one training step follow each
//! other within it. The caller never waits for a helper that has not come yet, so a busy machine does not slow it
//! down; and it does not wait for the helpers of another caller, but works alone.
//!
//! # Note [Lent work]
//! Helpers call a closure in the stack frame of the caller. A helper does so only between coming in through the
//! [`Door`] and leaving. The caller opens the door after it has put down where the closure is; before its frame goes,
//! also by a panic, it closes the door, through which nobody comes in then, and waits until those inside have left. So
//! the closure is there while it is called, and where it is is written only while nobody is inside to read it.
//!
//! Who comes in sees what was put down before the door was opened; the caller sees what was done inside, as leaving is
//! a release, and seeing that all have left an acquire. The test below has every interleaving of a caller and a helper
//! tried.

#![allow(unsafe_code, reason = "each block has its argument")]

use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long a helper stays awake for the next call: longer than what a training step does between two products.
const AWAKE: Duration = Duration::from_micros(200);

/// How often somebody looks before the clock is asked, or the processor is left to others.
const LOOKS: usize = 256;

static POOL: Pool = Pool {
    helpers: Mutex::new(Vec::new()),
    door: Door(AtomicU64::new(0)),
    work: UnsafeCell::new(Work {
        closure: ptr::null(),
        call: |_| (),
    }),
};

struct Pool {
    /// Held by the one caller that is helped.
    helpers: Mutex<Vec<Helper>>,
    door: Door,
    work: UnsafeCell<Work>,
}

// SAFETY: `work` is written by the one caller that holds `helpers`, while nobody is inside, and read by those inside;
// the closure is `Sync`. See Note [Lent work].
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
    /// The closure must be there.
    call: unsafe fn(*const ()),
}

/// Whether a helper is awake, and nobody is being helped.
pub(super) fn is_awake() -> bool {
    let awake = |helper: &Helper| !helper.is_asleep.load(Ordering::Relaxed);
    POOL.helpers
        .try_lock()
        .is_ok_and(|helpers| helpers.iter().any(awake))
}

/// Calls `work` on this thread, and on up to `helpers` others while it runs here.
pub(super) fn call<F: Fn() + Sync>(helpers: usize, work: &F) {
    /// # Safety
    /// `closure` must point to an `F`.
    unsafe fn call<F: Fn()>(closure: *const ()) {
        // SAFETY: as the caller guarantees.
        unsafe { (*closure.cast::<F>())() }
    }

    let mut held = match POOL.helpers.try_lock() {
        Ok(held) => held,
        // The list is whole whatever panicked.
        Err(TryLockError::Poisoned(held)) => held.into_inner(),
        // Somebody else is being helped.
        Err(TryLockError::WouldBlock) => return work(),
    };
    while held.len() < helpers {
        match start() {
            Some(helper) => held.push(helper),
            // The caller does what no helper does.
            None => break,
        }
    }
    // SAFETY: `helpers` is held, and nobody is inside, as the last caller has seen: see Note [Lent work].
    unsafe {
        *POOL.work.get() = Work {
            closure: ptr::from_ref(work).cast(),
            call: call::<F>,
        };
    }
    POOL.door.open(helpers);
    let _closed = Closed;
    for helper in held.iter().take(helpers) {
        if helper.is_asleep.swap(false, Ordering::SeqCst) {
            helper.thread.unpark();
        }
    }
    work();
}

/// Closes the door and waits until all have left, as it is dropped.
struct Closed;

impl Drop for Closed {
    fn drop(&mut self) {
        POOL.door.close();
        for look in 0_usize.. {
            if POOL.door.is_empty() {
                return;
            }
            if look < LOOKS {
                spin_loop();
            } else {
                thread::yield_now();
            }
        }
    }
}

/// Starts a helper, if the system gives us a thread.
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

/// What a helper does all its life.
fn help(is_asleep: &AtomicBool) {
    loop {
        come_in(is_asleep);
        let _inside = Inside;
        // SAFETY: we are inside: see Note [Lent work].
        unsafe {
            let work = *POOL.work.get();
            (work.call)(work.closure);
        }
    }
}

/// Leaves as it is dropped.
struct Inside;

impl Drop for Inside {
    fn drop(&mut self) {
        POOL.door.leave();
    }
}

/// Waits at the door until it is open: awake for a while, then asleep.
fn come_in(is_asleep: &AtomicBool) {
    let mut since = Instant::now();
    loop {
        for _ in 0..LOOKS {
            if POOL.door.enter() {
                return;
            }
            spin_loop();
        }
        if since.elapsed() < AWAKE {
            // On a busy machine the caller may be waiting for this very processor.
            thread::yield_now();
            continue;
        }
        // Of this and a look at the door here, opening it and a look at this there, one comes first for all: either
        // we see an open door, or the caller sees us asleep.
        is_asleep.store(true, Ordering::SeqCst);
        if !POOL.door.has_seats() {
            thread::park();
        }
        is_asleep.store(false, Ordering::SeqCst);
        since = Instant::now();
    }
}

/// How many more may come in, in the upper half of a number, and how many are inside.
struct Door<N = AtomicU64>(N);

const SEAT: u64 = 1 << 32;

/// What a door is made of: an atomic number, of std but for the test.
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

impl<N: Number> Door<N> {
    fn open(&self, seats: usize) {
        // In one order with who is asleep, and after what was put down.
        self.0.store(seats as u64 * SEAT, Ordering::SeqCst);
    }

    fn has_seats(&self) -> bool {
        self.0.load(Ordering::SeqCst) >= SEAT
    }

    /// Takes a seat, if there is one.
    fn enter(&self) -> bool {
        let mut state = self.0.load(Ordering::Relaxed);
        while state >= SEAT {
            let inside = state - SEAT + 1;
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
        self.0.fetch_and(SEAT - 1, Ordering::Relaxed);
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

    /// What is lent, and what each helper makes of it; `loom` says if one is touched while another has it.
    struct Shared {
        door: Door<Modeled>,
        lent: UnsafeCell<u32>,
        made: [UnsafeCell<u32>; 2],
    }

    /// One caller's calls with a seat each, and what helpers make of what it lends.
    fn calls<const HELPERS: usize>(calls: u32) {
        let shared = Arc::new(Shared {
            door: Door(Modeled::new(0)),
            lent: UnsafeCell::new(0),
            made: [UnsafeCell::new(0), UnsafeCell::new(0)],
        });
        let helpers: [_; HELPERS] = std::array::from_fn(|helper| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                if shared.door.enter() {
                    // SAFETY: `loom` checks that nobody writes to the one, or is at the other.
                    unsafe {
                        let lent = shared.lent.with(|lent| *lent);
                        assert_ne!(lent, 0);
                        shared.made[helper].with_mut(|made| *made = lent);
                    }
                    shared.door.leave();
                }
            })
        });
        for call in 1..=calls {
            // SAFETY: as above.
            unsafe { shared.lent.with_mut(|lent| *lent = call) };
            shared.door.open(1);
            shared.door.close();
            while !shared.door.is_empty() {
                thread::yield_now();
            }
            // SAFETY: as above.
            let made = [0, 1].map(|helper| unsafe { shared.made[helper].with(|made| *made) });
            let here = made.iter().filter(|made| **made == call).count();
            assert!(here < 2, "two came in on one seat");
        }
        for helper in helpers {
            helper.join().unwrap();
        }
    }

    #[test]
    fn what_is_lent_is_seen_whole_and_comes_back_before_it_is_taken_away() {
        loom::model(|| calls::<1>(2));
        // All interleavings of three threads take half a minute.
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| calls::<2>(1));
    }
}
