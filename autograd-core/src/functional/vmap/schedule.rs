//! Examples one after the other, on all threads.

use std::mem;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

use crate::engine;
use crate::thread::Modes;
use autograd_kernels::{split, threads};

/// How the examples of a map are run: who takes the next one.
pub(super) struct Turns {
    modes: Modes,
    caller: ThreadId,
    /// Whether they run on the calling thread alone.
    pub(super) ordered: bool,
}

impl Turns {
    /// In the modes of this thread, which may ask for an order of their own.
    pub(super) fn new(ordered: bool) -> Self {
        Self {
            ordered: ordered || engine::is_ordered(),
            modes: engine::modes(),
            caller: thread::current().id(),
        }
    }

    /// Calls `work` with each of `examples`. They are begun in their order, so what is returned is the error of the
    /// first that has one; after an error or a panic no others are begun.
    pub(super) fn each<E: Send>(
        &self,
        examples: Range<usize>,
        work: impl Fn(usize) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        let next = AtomicUsize::new(examples.start);
        let failed: Mutex<Option<(usize, E)>> = Mutex::default();
        let take_turns = || {
            loop {
                let example = next.fetch_add(1, Ordering::Relaxed);
                if example >= examples.end {
                    return;
                }
                let unfinished = Unfinished(&next, examples.end);
                match work(example) {
                    Ok(()) => mem::forget(unfinished),
                    Err(error) => {
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        if failed.as_ref().is_none_or(|(first, _)| example < *first) {
                            *failed = Some((example, error));
                        }
                    }
                }
            }
        };
        if self.ordered {
            take_turns();
        } else {
            let threads = threads().min(examples.len());
            split(threads, 1, |_| self.in_modes(take_turns));
        }
        let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        failed.map_or(Ok(()), |(_, error)| Err(error))
    }

    fn in_modes(&self, body: impl FnOnce()) {
        if thread::current().id() == self.caller {
            body();
        } else {
            self.modes.apply(body);
        }
    }
}

/// An example that has begun. Dropped, it is the last one.
struct Unfinished<'a>(&'a AtomicUsize, usize);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.0.store(self.1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_error_of_the_first_example_that_has_one_is_returned() {
        for _ in 0..100 {
            let begun = AtomicUsize::new(0);
            let result = Turns::new(false).each(0..1000, |example| {
                begun.fetch_add(1, Ordering::Relaxed);
                if example % 10 == 7 {
                    Err(example)
                } else {
                    Ok(())
                }
            });
            assert_eq!(result, Err(7));
            assert!(begun.into_inner() < 1000);
        }
    }

    #[test]
    fn a_panic_ends_the_turns_of_all_threads() {
        let begun = AtomicUsize::new(0);
        let turns = Turns::new(false);
        let panic = catch_unwind(AssertUnwindSafe(|| {
            turns.each(0..100_000, |example| {
                begun.fetch_add(1, Ordering::Relaxed);
                assert!(example != 3, "in example 3");
                // The others take longer than a panic that prints where it was.
                thread::sleep(Duration::from_millis(1));
                Ok::<_, ()>(())
            })
        }));
        assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"in example 3"));
        assert!(begun.into_inner() < 100_000);
    }
}
