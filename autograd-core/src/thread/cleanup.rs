//! Cleanup at the end of a backward pass, also after a failure.

use std::cell::Cell;

use super::scoped::Scoped;

/// The cleanup of one pass, which runs when this is dropped.
#[derive(Default)]
struct Cleanup(Vec<Box<dyn FnOnce()>>);

impl Drop for Cleanup {
    fn drop(&mut self) {
        for task in self.0.drain(..) {
            task();
        }
    }
}

thread_local! {
    /// The cleanup of the innermost pass that runs on this thread.
    static CLEANUP: Cell<Option<Cleanup>> = const { Cell::new(None) };
}

/// Runs `body`, a pass, then its cleanup, in a panic too.
pub(crate) fn run_pass<R>(body: impl FnOnce() -> R) -> R {
    let _scope = Scoped::set(&CLEANUP, Some(Cleanup::default()));
    body()
}

/// Leaves `task` to the end of the innermost pass; runs it at once if there is none.
pub(crate) fn defer(task: impl FnOnce() + 'static) {
    let mut task = Some(task);
    // A thread that is ending has no cleanup any more.
    let _ = CLEANUP.try_with(|cell| {
        let mut cleanup = cell.take();
        if let Some(Cleanup(tasks)) = &mut cleanup {
            tasks.extend(task.take().map(|task| Box::new(task) as Box<dyn FnOnce()>));
        }
        cell.set(cleanup);
    });
    if let Some(task) = task {
        task();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::rc::Rc;

    use super::*;

    #[test]
    fn cleanup_runs_at_the_end_of_the_innermost_pass() {
        let count = Rc::new(Cell::new(0));
        let add = |n| {
            let count = Rc::clone(&count);
            defer(move || count.set(count.get() + n));
        };
        add(1);
        assert_eq!(count.get(), 1);
        run_pass(|| {
            add(10);
            let inner = catch_unwind(AssertUnwindSafe(|| {
                run_pass(|| {
                    add(100);
                    assert_eq!(count.get(), 1);
                    panic!("a pass that fails");
                });
            }));
            assert!(inner.is_err());
            assert_eq!(count.get(), 101);
        });
        assert_eq!(count.get(), 111);
    }
}
