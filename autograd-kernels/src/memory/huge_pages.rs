//! Large pages for large arrays.
//!
//! The system allocates fresh memory page by page, on first touch. With pages of 2 MiB, instead of 4 KiB, that happens
//! 512 times less often. Linux uses them where a program asks for it.

#![allow(unsafe_code, reason = "the block has its argument")]

use std::mem::MaybeUninit;

/// The size of a large page on most processors.
#[cfg(any(test, all(target_os = "linux", not(miri))))]
const PAGE: usize = 2 << 20;

/// Asks the system to use large pages for `memory`, where it covers whole ones. The contents do not change.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn advise<T>(memory: &mut [MaybeUninit<T>]) {
    use std::ffi::{c_int, c_void};

    /// `MADV_HUGEPAGE` of `linux/mman.h`.
    const HUGE_PAGES: c_int = 14;

    unsafe extern "C" {
        fn madvise(start: *mut c_void, length: usize, advice: c_int) -> c_int;
    }

    let start = memory.as_mut_ptr().cast::<u8>();
    let before = start.align_offset(PAGE);
    let length = size_of_val(memory).saturating_sub(before) / PAGE * PAGE;
    if length > 0 {
        // SAFETY: the range lies within `memory`, and the advice changes neither its contents nor who may use it. It
        // may be refused; then pages are small.
        unsafe { madvise(start.wrapping_add(before).cast(), length, HUGE_PAGES) };
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) fn advise<T>(_: &mut [MaybeUninit<T>]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_as_before_whatever_it_covers() {
        for length in [0, 1, PAGE - 1, PAGE, 2 * PAGE + 1] {
            for start in [0, 1, 5] {
                let mut memory: Vec<MaybeUninit<u8>> = vec![MaybeUninit::new(7); start + length];
                advise(&mut memory[start..]);
                // SAFETY: all were written.
                let held = memory.iter().all(|byte| unsafe { byte.assume_init() } == 7);
                assert!(held, "{length} bytes from {start}");
            }
        }
    }
}
