//! A lock for a few instructions.
//!
//! The contents of a node are locked twice in every pass, nearly always without a second thread, and no user code runs
//! meanwhile. `Mutex` takes two atomic exchanges: releasing it has to look for sleeping threads. Here nobody sleeps, so
//! releasing it is a store, and a thread that finds it taken lets others run.

use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::yield_now;

/// The atomic flag: std's, or the test's.
pub(crate) trait Flag {
    /// Sets the flag, and returns whether this call did.
    fn set(&self) -> bool;

    fn is_set(&self) -> bool;

    fn clear(&self);

    /// Lets other threads run.
    fn wait(&self);
}

impl Flag for AtomicBool {
    #[inline]
    fn set(&self) -> bool {
        self.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    #[inline]
    fn is_set(&self) -> bool {
        self.load(Ordering::Relaxed)
    }

    #[inline]
    fn clear(&self) {
        self.store(false, Ordering::Release);
    }

    #[cold]
    fn wait(&self) {
        // Usually the other thread needs a few instructions more; but it may be suspended.
        for _ in 0..32 {
            if !self.is_set() {
                return;
            }
            spin_loop();
        }
        yield_now();
    }
}

/// A value that one thread at a time uses.
#[derive(Default)]
pub(crate) struct Brief<V, F = AtomicBool> {
    taken: F,
    value: UnsafeCell<V>,
}

// SAFETY: a shared `Brief` gives `&mut V` to one thread at a time, as a `Mutex` does.
unsafe impl<V: Send, F: Sync> Sync for Brief<V, F> {}

impl<V> Brief<V> {
    #[inline]
    pub(crate) fn new(value: V) -> Self {
        Self {
            taken: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }
}

impl<V, F: Flag> Brief<V, F> {
    /// Calls `body` with the value. It runs no code of users, and does not use the same lock again.
    #[inline]
    pub(crate) fn with<R>(&self, body: impl FnOnce(&mut V) -> R) -> R {
        while !self.taken.set() {
            self.taken.wait();
        }
        let _taken = Taken(&self.taken);
        // SAFETY: this thread set the flag, which is cleared after the borrow: no other has a reference.
        body(unsafe { &mut *self.value.get() })
    }
}

/// Clears the flag, also after a panic.
struct Taken<'a, F: Flag>(&'a F);

impl<F: Flag> Drop for Taken<'_, F> {
    #[inline]
    fn drop(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicBool as Modeled;
    use loom::thread;

    use super::*;

    impl Flag for Modeled {
        fn set(&self) -> bool {
            self.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        }

        fn is_set(&self) -> bool {
            self.load(Ordering::Relaxed)
        }

        fn clear(&self) {
            self.store(false, Ordering::Release);
        }

        fn wait(&self) {
            thread::yield_now();
        }
    }

    /// Adds one in two steps; `loom` panics if another thread is between them.
    fn add(number: &loom::cell::UnsafeCell<u32>) {
        // SAFETY: `loom` checks that no other thread reads or writes.
        number.with_mut(|number| unsafe { *number += 1 });
    }

    #[test]
    fn one_thread_at_a_time_has_the_value() {
        loom::model(|| {
            let shared = Arc::new(Brief {
                taken: Modeled::new(false),
                value: UnsafeCell::new(loom::cell::UnsafeCell::new(0)),
            });
            let other = {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.with(|number| add(number)))
            };
            shared.with(|number| add(number));
            other.join().unwrap();
            // SAFETY: the other thread has ended.
            let sum = shared.with(|number| number.with(|number| unsafe { *number }));
            assert_eq!(sum, 2);
        });
    }

    #[test]
    fn threads_take_turns() {
        let sum = Brief::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| sum.with(|sum| *sum += 1)));
            }
        });
        assert_eq!(sum.with(|sum| *sum), 40_000);
    }

    #[test]
    fn a_panic_releases_the_value() {
        let value = Brief::new(1);
        let panicking = std::panic::AssertUnwindSafe(|| value.with(|_| panic!("inside")));
        assert!(std::panic::catch_unwind(panicking).is_err());
        assert_eq!(value.with(|value| *value), 1);
    }
}
