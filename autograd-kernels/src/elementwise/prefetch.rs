//! Memory that is asked for before it is needed.

/// Asks the processor for memory that is read or written soon: while a block is computed, the next one is on its way.
#[inline]
pub(super) fn prefetch<T>(elements: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for element in elements.iter().step_by(LINE / size_of::<T>()) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: it reads nothing.
        #[expect(unsafe_code, reason = "see above")]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = elements;
}

/// The bytes of a line of the cache.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;
