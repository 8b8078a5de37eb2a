//! An allocator that counts, for each thread by itself.

#![allow(unsafe_code, reason = "an allocator can only be written so")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, with an eye on it.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Notes that the thread's memory has grown by so many bytes.
fn grown(bytes: isize) {
    LIVE.set(LIVE.get() + bytes);
    PEAK.set(PEAK.get().max(LIVE.get()));
}

pub fn signed(bytes: usize) -> isize {
    isize::try_from(bytes).unwrap_or(isize::MAX)
}

// SAFETY: every call goes to the system's allocator as it came in. What is done besides allocates nothing: the
// thread-local cells are constants at first and have no destructors.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        grown(signed(layout.size()));
        // SAFETY: see above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        grown(-signed(layout.size()));
        // SAFETY: see above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        grown(signed(size) - signed(layout.size()));
        // SAFETY: see above.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// The bytes that this thread has allocated and not freed.
pub fn live() -> isize {
    LIVE.get()
}

/// Returns the number of allocations of `body` on this thread, and its result.
pub fn allocations<R>(body: impl FnOnce() -> R) -> (usize, R) {
    let before = ALLOCATIONS.get();
    let result = body();
    (ALLOCATIONS.get() - before, result)
}

/// Returns the bytes that `body` leaves allocated, the largest number during `body`, and its result.
pub fn bytes<R>(body: impl FnOnce() -> R) -> (isize, isize, R) {
    let before = LIVE.get();
    PEAK.set(before);
    let result = body();
    (LIVE.get() - before, PEAK.get() - before, result)
}
