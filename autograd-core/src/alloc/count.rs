//! The number of handles on a shared value.
//!
//! # Note [Counting]
//! Without weak handles, a handle with a count of one is the only one, and no other can be made: checking that takes a
//! load, and so does dropping it. `Arc` needs a compare-exchange for the first and two subtractions for the second.
//!
//! Accesses by other handles must happen before the last one drops the value, or writes to it. Dropping a handle is
//! therefore a release, and reading a count of one an acquire, as in `Arc`. The test below tries every interleaving of
//! three handles.

use std::process::abort;
use std::sync::atomic::{AtomicU32, Ordering};

/// The atomic number: std's, or the test's.
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
    /// Returns a count of one.
    #[inline]
    pub(super) fn one() -> Self {
        Self(N::one())
    }

    /// Returns whether there is no other handle. Then there is none until this one is cloned.
    #[inline]
    pub(super) fn is_one(&self) -> bool {
        self.0.load(Ordering::Acquire) == 1
    }

    /// Adds a handle.
    #[inline]
    pub(super) fn add(&self) {
        // Relaxed, as in `Arc`: a handle may be cloned.
        if self.0.fetch_add(Ordering::Relaxed) > u32::MAX / 2 {
            // With two billion handles, some of them leaked, the count could wrap.
            abort();
        }
    }

    /// Removes a handle, and returns whether it was the last: then only this thread uses the value.
    #[inline]
    pub(super) fn remove(&self) -> bool {
        if self.is_one() {
            return true;
        }
        if self.0.fetch_sub(Ordering::Release) != 1 {
            return false;
        }
        // The other handles were dropped meanwhile: this load synchronizes with them.
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

    /// A value and its number of handles; `loom` panics if it is written to while others read it.
    struct Shared {
        count: Count<Modeled>,
        value: UnsafeCell<u32>,
    }

    /// Reads the value, and drops it if this handle was the last.
    fn read_and_drop(shared: &Shared, drops: &AtomicU32) {
        // SAFETY: there is a handle; `loom` checks that no thread writes.
        let value = shared.value.with(|value| unsafe { *value });
        assert_eq!(value, 7);
        if shared.count.remove() {
            // SAFETY: it was the last one; `loom` checks that no thread reads.
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
                    thread::spawn(move || read_and_drop(&shared, &drops))
                })
                .collect();
            read_and_drop(&shared, &drops);
            for other in others {
                other.join().unwrap();
            }
            assert_eq!(drops.load(Ordering::Relaxed), 1);
        });
    }

    #[test]
    fn the_only_handle_may_write() {
        loom::model(|| {
            let shared = Arc::new(Shared {
                count: Count::one(),
                value: UnsafeCell::new(7),
            });
            shared.count.add();
            let drops = std::sync::Arc::new(AtomicU32::new(0));
            let other = {
                let (shared, drops) = (Arc::clone(&shared), std::sync::Arc::clone(&drops));
                thread::spawn(move || read_and_drop(&shared, &drops))
            };
            if shared.count.is_one() {
                // SAFETY: the other handle is gone; `loom` checks that no thread reads.
                shared.value.with_mut(|value| unsafe { *value = 7 });
            }
            read_and_drop(&shared, &drops);
            other.join().unwrap();
            assert_eq!(drops.load(Ordering::Relaxed), 1);
        });
    }
}
