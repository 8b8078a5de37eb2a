//! Runs the examples of `vmap` in their order, on all threads.

use std::mem;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

use crate::engine;
use crate::thread::Modes;
use autograd_kernels::{split, threads};

/// Gives each thread the next example to run, in the modes of the thread that made the schedule.
pub(super) struct Schedule {
    modes: Modes,
    caller: ThreadId,
    /// Whether the examples run on the calling thread alone.
    pub(super) ordered: bool,
}

impl Schedule {
    /// Runs examples one after the other if `ordered`, or if a mode of this thread needs it.
    #[inline]
    pub(super) fn new(ordered: bool) -> Self {
        Self {
            ordered: ordered || engine::is_ordered(),
            modes: engine::modes(),
            caller: thread::current().id(),
        }
    }

    /// Calls `work` with each of `examples`, in their order, and returns the error of the first example that fails.
    /// After an error or a panic, no further example starts.
    #[inline]
    pub(super) fn each<E: Send>(
        &self,
        examples: Range<usize>,
        work: &(dyn Fn(usize) -> Result<(), E> + Sync),
    ) -> Result<(), E> {
        let next = AtomicUsize::new(examples.start);
        let failed: Mutex<Option<(usize, E)>> = Mutex::default();
        let run_examples = || {
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
            run_examples();
        } else {
            let threads = threads().min(examples.len());
            split(threads, 1, |_| self.in_modes(run_examples));
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

/// An example that runs. Dropped, it is the last one that starts.
struct Unfinished<'a>(&'a AtomicUsize, usize);

impl Drop for Unfinished<'_> {
    #[inline]
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
            let result = Schedule::new(false).each(0..1000, &|example| {
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
    fn a_panic_stops_all_threads() {
        let begun = AtomicUsize::new(0);
        let schedule = Schedule::new(false);
        let panic = catch_unwind(AssertUnwindSafe(|| {
            schedule.each(0..100_000, &|example| {
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
