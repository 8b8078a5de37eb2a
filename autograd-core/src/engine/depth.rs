//! Passes inside passes, to any depth.
//!
//! # Note [Depth]
//! A backward function may start a pass, whose backward functions may start passes. Each pass takes stack: some
//! kilobytes of the engine's, and the frames of user code. A pass that starts further than `ROOM` below the first on
//! its thread therefore runs on a new thread, with its own stack, while this thread blocks: deep recursion takes
//! memory, and never overflows a stack. The criterion is the stack in use, not the number of passes, so it includes the
//! user's frames. The new thread takes over the modes of this one.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::thread;

use crate::thread::Scoped;

/// A quarter of the smallest stack that threads have by default.
const ROOM: usize = 512 << 10;

thread_local! {
    /// The address of the stack at the start of this thread's first pass; 0 outside passes.
    static TOP: Cell<usize> = const { Cell::new(0) };
}

/// Runs `body`, a pass, on this thread, or on a new one if little of the stack is left.
pub(super) fn with_room<R: Send>(body: impl FnOnce() -> R + Send) -> R {
    let marker = 0_u8;
    let here = (&raw const marker).addr();
    let top = TOP.get();
    if top == 0 {
        let _scope = Scoped::set(&TOP, here);
        body()
    } else if top.abs_diff(here) < ROOM {
        body()
    } else {
        on_new_thread(body)
    }
}

fn on_new_thread<R: Send>(body: impl FnOnce() -> R + Send) -> R {
    let modes = super::modes();
    thread::scope(|scope| {
        let result = scope.spawn(|| modes.apply(body)).join();
        result.unwrap_or_else(|panic| resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::anomaly;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Nests passes, and adds the threads that they run on.
    fn nest(levels: usize, threads: &mut Vec<thread::ThreadId>) {
        let used = [1_u8; 10 << 10];
        let here = thread::current().id();
        if threads.last() != Some(&here) {
            threads.push(here);
        }
        if levels > 0 {
            with_room(|| nest(levels - 1, threads));
        }
        assert!(std::hint::black_box(used).iter().all(|byte| *byte == 1));
    }

    #[test]
    fn deep_recursion_goes_on_on_other_threads() {
        let mut threads = Vec::new();
        nest(10, &mut threads);
        assert_eq!(threads, [thread::current().id()]);
        nest(1000, &mut threads);
        assert!(threads.len() > 10, "{} threads", threads.len());
        assert_eq!(TOP.get(), 0);
    }

    #[test]
    fn panics_and_modes_cross_threads() {
        fn fall(levels: usize) {
            let used = [1_u8; 10 << 10];
            assert!(
                levels > 0,
                "at the bottom, watched: {}",
                anomaly::is_watching()
            );
            with_room(|| fall(levels - 1));
            assert!(std::hint::black_box(used).iter().all(|byte| *byte == 1));
        }
        let fallen = catch_unwind(AssertUnwindSafe(|| anomaly::detect_anomaly(|| fall(300))));
        let text = *fallen.unwrap_err().downcast::<String>().unwrap();
        assert_eq!(text, "at the bottom, watched: true");
        assert_eq!(TOP.get(), 0);
    }
}
