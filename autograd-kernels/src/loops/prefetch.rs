//! Memory that is asked for before it is needed.

use std::ops::Range;

/// Asks the processor for memory that is read or written soon: while a block is computed, the next one is on its way.
#[inline]
pub(crate) fn prefetch<T>(elements: &[T]) {
    for element in elements.iter().step_by(LINE / size_of::<T>()) {
        prefetch_line(element);
    }
}

/// Calls `run` for a page of elements after the other, with their indices, the first of which is `first`. The first line of
/// the next page is asked for before: at the end of a page the processor asks for no more by itself, and the address of
/// another one takes it as long as a line of memory. `run` does the same for what it reads, by [`prefetch_page`].
#[inline]
pub(crate) fn by_pages<T>(
    first: usize,
    mut elements: &mut [T],
    mut run: impl FnMut(Range<usize>, &mut [T]),
) {
    // An element may have no bytes, or more than a page has.
    let most = (PAGE / size_of::<T>().max(1)).max(1);
    let mut start = first;
    while !elements.is_empty() {
        let (page, rest) = elements.split_at_mut(elements.len().min(most));
        prefetch_page(rest);
        let end = start + page.len();
        run(start..end, page);
        (start, elements) = (end, rest);
    }
}

/// Asks the processor for the first line of the next page, if it is one of these elements.
#[inline]
pub(crate) fn prefetch_page<T>(elements: &[T]) {
    let until = elements.as_ptr().cast::<u8>().align_offset(PAGE);
    if let Some(element) = elements.get(until.div_ceil(size_of::<T>().max(1))) {
        prefetch_line(element);
    }
}

#[inline]
fn prefetch_line<T>(element: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: it reads nothing.
        #[expect(unsafe_code, reason = "see above")]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast());
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = element;
}

/// The bytes of a line of the cache.
const LINE: usize = 64;

/// The bytes of a page of memory.
const PAGE: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_no_bytes_and_of_many_are_visited() {
        let mut count = 0;
        by_pages(0, &mut [(); 5_000], |_, page| count += page.len());
        by_pages(0, &mut [[0_u8; 5_000]; 3], |_, page| count += page.len());
        assert_eq!(count, 5_003);
    }

    #[test]
    fn pages_are_all_elements_in_their_order() {
        for length in [0, 1, 512, 513, 2_000] {
            let mut elements = vec![0.0; length];
            by_pages(3, &mut elements, |range, page| {
                assert!(range.len() == page.len() && page.len() <= 512);
                for (element, index) in page.iter_mut().zip(range) {
                    *element = f64::from(u32::try_from(index).unwrap());
                }
            });
            assert!(
                elements
                    .iter()
                    .zip(3_u32..)
                    .all(|(&element, index)| element == f64::from(index))
            );
        }
    }
}
