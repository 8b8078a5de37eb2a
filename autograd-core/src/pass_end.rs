//! What is let go when a backward pass ends, whether it succeeds or not.

use std::cell::RefCell;

type End = Box<dyn FnOnce()>;

thread_local! {
    /// For each pass that runs on this thread, the innermost last.
    static PASSES: RefCell<Vec<Vec<End>>> = const { RefCell::new(Vec::new()) };
}

/// Runs `body`, a pass, then what it has left for its end.
pub(crate) fn pass<R>(body: impl FnOnce() -> R) -> R {
    /// Ends the pass, in a panic too.
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            let ends = PASSES.with_borrow_mut(Vec::pop);
            for end in ends.into_iter().flatten() {
                end();
            }
        }
    }
    // A thread that is ending has no list any more; then nothing is left for the end.
    let begun = PASSES.try_with(|passes| passes.borrow_mut().push(Vec::new()));
    let _guard = begun.map(|()| Guard);
    body()
}

/// Leaves `end` for the end of the innermost pass; at once if there is none.
pub(crate) fn at_end(end: impl FnOnce() + 'static) {
    let mut end: Option<End> = Some(Box::new(end));
    let _ = PASSES.try_with(|passes| {
        if let Some(innermost) = passes.borrow_mut().last_mut() {
            innermost.extend(end.take());
        }
    });
    if let Some(end) = end {
        end();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::rc::Rc;

    use super::*;

    #[test]
    fn ends_come_with_the_innermost_pass() {
        let count = Rc::new(Cell::new(0));
        let add = |n| {
            let count = Rc::clone(&count);
            at_end(move || count.set(count.get() + n));
        };
        add(1);
        assert_eq!(count.get(), 1);
        pass(|| {
            add(10);
            let inner = catch_unwind(AssertUnwindSafe(|| {
                pass(|| {
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
