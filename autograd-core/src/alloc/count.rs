//! How many handles there are on something that they share.
//!
//! # Note [Counting]
//! Without weak handles, a count of one is the only handle, and no other can be made: to
//! see that takes a load, and so does letting go of it. `Arc` needs a compare-exchange for the first and
//! subtracts twice for the second.
//!
//! What others did with the value before they let go must be over when the last one drops it, or writes to
//! it. Letting go is therefore a release, and seeing oneself alone an acquire, as in `Arc`. The test below
//! has every interleaving of three handles tried.

use std::process::abort;
use std::sync::atomic::{AtomicU32, Ordering};

/// What is counted with: an atomic number, of std but for the test.
pub(super) trait Number {
    fn one() -> Self;

    fn load(&self, order: Ordering) -> u32;

    fn fetch_add(&self, order: Ordering) -> u32;

    fn fetch_sub(&self, order: Ordering) -> u32;
}

impl Number for AtomicU32 {
    #[inline]
    fn one() -> Self {
        Self::new(1)
    }

    #[inline]
    fn load(&self, order: Ordering) -> u32 {
        self.load(order)
    }

    #[inline]
    fn fetch_add(&self, order: Ordering) -> u32 {
        self.fetch_add(1, order)
    }

    #[inline]
    fn fetch_sub(&self, order: Ordering) -> u32 {
        self.fetch_sub(1, order)
    }
}

/// A number of handles. See Note [Counting].
pub(super) struct Count<N = AtomicU32>(N);

impl<N: Number> Count<N> {
    /// The first handle.
    #[inline]
    pub(super) fn one() -> Self {
        Self(N::one())
    }

    /// Whether there is no other handle. Then there will be none until this one is cloned.
    #[inline]
    pub(super) fn is_one(&self) -> bool {
        self.0.load(Ordering::Acquire) == 1
    }

    /// One more handle.
    #[inline]
    pub(super) fn add(&self) {
        // Relaxed, as in `Arc`: a handle may be cloned.
        if self.0.fetch_add(Ordering::Relaxed) > u32::MAX / 2 {
            // Two thousand million handles, or as many that were forgotten: the count would wrap.
            abort();
        }
    }

    /// One handle less; whether it was the last, and the value is this thread's alone.
    #[inline]
    pub(super) fn remove(&self) -> bool {
        if self.is_one() {
            return true;
        }
        if self.0.fetch_sub(Ordering::Release) != 1 {
            return false;
        }
        // The others went in the meantime, and are done with the value: this load sees what they did.
        self.0.load(Ordering::Acquire);
        true
    }
}

#[cfg(test)]
mod tests {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU32 as Modeled;
    use loom::thread;

    use super::*;

    impl Number for Modeled {
        fn one() -> Self {
            Self::new(1)
        }

        fn load(&self, order: Ordering) -> u32 {
            self.load(order)
        }

        fn fetch_add(&self, order: Ordering) -> u32 {
            self.fetch_add(1, order)
        }

        fn fetch_sub(&self, order: Ordering) -> u32 {
            self.fetch_sub(1, order)
        }
    }

    /// A value and how many handles it has; `loom` says if it is written to while others read it.
    struct Shared {
        count: Count<Modeled>,
        value: UnsafeCell<u32>,
    }

    /// What the thread with one handle does: reads, and drops the value if its handle was the last.
    fn read_and_let_go(shared: &Shared, drops: &AtomicU32) {
        // SAFETY: the handle is there; `loom` checks that nobody writes.
        let value = shared.value.with(|value| unsafe { *value });
        assert_eq!(value, 7);
        if shared.count.remove() {
            // SAFETY: it was the last one; `loom` checks that nobody reads any more.
            shared.value.with_mut(|value| unsafe { *value = 0 });
            drops.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn the_last_of_three_handles_drops_the_value_after_all_have_read_it() {
        loom::model(|| {
            let shared = Arc::new(Shared {
                count: Count::one(),
                value: UnsafeCell::new(7),
            });
            let drops = std::sync::Arc::new(AtomicU32::new(0));
            let others: Vec<_> = (0..2)
                .map(|_| {
                    shared.count.add();
                    let (shared, drops) = (Arc::clone(&shared), std::sync::Arc::clone(&drops));
                    thread::spawn(move || read_and_let_go(&shared, &drops))
                })
                .collect();
            read_and_let_go(&shared, &drops);
            for other in others {
                other.join().unwrap();
            }
            assert_eq!(drops.load(Ordering::Relaxed), 1);
        });
    }

    #[test]
    fn whoever_is_alone_may_write() {
        loom::model(|| {
            let shared = Arc::new(Shared {
                count: Count::one(),
                value: UnsafeCell::new(7),
            });
            shared.count.add();
            let drops = std::sync::Arc::new(AtomicU32::new(0));
            let other = {
                let (shared, drops) = (Arc::clone(&shared), std::sync::Arc::clone(&drops));
                thread::spawn(move || read_and_let_go(&shared, &drops))
            };
            if shared.count.is_one() {
                // SAFETY: the other handle is gone; `loom` checks that nobody reads any more.
                shared.value.with_mut(|value| unsafe { *value = 7 });
            }
            read_and_let_go(&shared, &drops);
            other.join().unwrap();
            assert_eq!(drops.load(Ordering::Relaxed), 1);
        });
    }
}
