//! The memory of large arrays, kept for the next ones of their size.
//!
//! Fresh memory costs more than most arithmetic on it: the system hands it out page by page, each zeroed,
//! on first touch. Built-in functions and [kernels](crate) therefore take the memory of large
//! arrays from what earlier ones have left, whichever thread they were on.
//!
//! Nothing has to be done for it. Read first [`set_limit`], if memory is short, and [`empty_cache`], to give it back.
//!
//! What is kept is bounded: by [`set_limit`], and by what was in use at one time, as only as much comes back
//! as was taken here. Small arrays are left to the allocator.
//!
//! ```
//! use autograd_kernels::memory;
//!
//! let x: Vec<f32> = memory::take(1 << 20); // as a tensor does,
//! memory::give_back(x); // and when it is dropped
//! assert!(memory::reserved() >= 4 << 20);
//! memory::empty_cache();
//! assert_eq!(memory::reserved(), 0);
//! ```

#![allow(unsafe_code, reason = "each block has its argument")]

use std::alloc::{Layout, dealloc};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The smallest arrays in bytes whose memory is kept: a few of the allocator's pages, below which it is
/// faster than a lock.
const SMALLEST: usize = 64 << 10;

/// The most sizes that are told apart.
const SIZES: usize = 64;

static KEPT: Mutex<Kept> = Mutex::new(Kept {
    sizes: Vec::new(),
    held: 0,
    limit: 256 << 20,
    clock: 0,
});

/// The most bytes that are kept from now on; 0 for none. 256 MiB unless said otherwise.
///
/// ```
/// use autograd_kernels::memory;
///
/// memory::set_limit(1 << 30);
/// ```
pub fn set_limit(bytes: usize) {
    let mut kept = kept();
    kept.limit = bytes;
    let surplus = kept.make_room();
    drop(kept);
    drop(surplus);
}

/// How many bytes are kept at the moment, which nobody uses.
///
/// ```
/// use autograd_kernels::memory;
///
/// memory::give_back(memory::take::<f64>(10)); // too small to be kept
/// assert_eq!(memory::reserved(), 0);
/// memory::give_back(memory::take::<f64>(100_000));
/// assert!(memory::reserved() >= 800_000);
/// ```
pub fn reserved() -> usize {
    kept().held
}

/// Frees all that is kept.
///
/// ```
/// use autograd_kernels::memory;
///
/// memory::give_back(memory::take::<f64>(100_000));
/// memory::empty_cache();
/// assert_eq!(memory::reserved(), 0);
/// ```
pub fn empty_cache() {
    let mut kept = kept();
    let sizes = std::mem::take(&mut kept.sizes);
    kept.held = 0;
    drop(kept);
    drop(sizes);
}

/// An empty vector with room for `length` elements.
#[inline]
#[doc(hidden)]
pub fn take<T>(length: usize) -> Vec<T> {
    if length.saturating_mul(size_of::<T>()) < SMALLEST {
        return Vec::with_capacity(length);
    }
    take_large(length)
}

fn take_large<T>(length: usize) -> Vec<T> {
    let former = Layout::array::<T>(length)
        .ok()
        .and_then(|layout| kept().take(layout));
    let Some(former) = former else {
        return Vec::with_capacity(length);
    };
    let start = ManuallyDrop::new(former).start;
    // SAFETY: the memory came from a vector of this very layout, through `give_back`, and is not used by
    // anybody else; none of its elements is taken for one.
    unsafe { Vec::from_raw_parts(start.as_ptr().cast(), 0, length) }
}

/// Keeps the memory of a vector, if it is large and came from here.
#[inline]
#[doc(hidden)]
pub fn give_back<T>(elements: Vec<T>) {
    let is_large = elements.capacity() * size_of::<T>() >= SMALLEST;
    if is_large && !std::mem::needs_drop::<T>() {
        keep(elements);
    }
}

fn keep<T>(elements: Vec<T>) {
    let Ok(layout) = Layout::array::<T>(elements.capacity()) else {
        return;
    };
    let mut elements = ManuallyDrop::new(elements);
    // A vector of some capacity has a pointer that is not null.
    let Some(start) = NonNull::new(elements.as_mut_ptr().cast()) else {
        return;
    };
    let surplus = kept().give_back(Large { start, layout });
    drop(surplus);
}

fn kept() -> MutexGuard<'static, Kept> {
    // Nothing panics while the lock is held but a failed allocation, which leaves what is kept whole.
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory that nobody uses; freed when dropped.
struct Large {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it is memory alone, which any thread may use or free.
unsafe impl Send for Large {}

impl Drop for Large {
    fn drop(&mut self) {
        // SAFETY: it was a vector's, allocated with this layout, and nobody uses it.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

struct Kept {
    sizes: Vec<Size>,
    held: usize,
    limit: usize,
    /// Counts what is taken.
    clock: u64,
}

/// The arrays of one size.
struct Size {
    layout: Layout,
    /// How many are in use.
    lent: usize,
    /// When the last was taken.
    taken: u64,
    unused: Vec<Large>,
}

impl Kept {
    fn take(&mut self, layout: Layout) -> Option<Large> {
        self.clock += 1;
        let place = self.sizes.iter().position(|size| size.layout == layout);
        let place = place.unwrap_or_else(|| self.add(layout));
        let size = &mut self.sizes[place];
        size.lent += 1;
        size.taken = self.clock;
        let former = size.unused.pop()?;
        self.held -= layout.size();
        Some(former)
    }

    /// Starts to tell a size apart, in place of the one that was not taken for longest if there are many.
    fn add(&mut self, layout: Layout) -> usize {
        let (lent, taken, unused) = (0, self.clock, Vec::new());
        let new = Size {
            layout,
            lent,
            taken,
            unused,
        };
        if self.sizes.len() < SIZES {
            self.sizes.push(new);
            return self.sizes.len() - 1;
        }
        let oldest = (0..SIZES)
            .min_by_key(|&place| self.sizes[place].taken)
            .unwrap_or(0);
        let former = std::mem::replace(&mut self.sizes[oldest], new);
        self.held -= former.unused.len() * former.layout.size();
        oldest
    }

    /// Takes memory back, and answers with what is to be freed for it.
    fn give_back(&mut self, large: Large) -> Vec<Large> {
        let layout = large.layout;
        let lent = |size: &&mut Size| size.layout == layout && size.lent > 0;
        let Some(size) = self.sizes.iter_mut().find(lent) else {
            return vec![large];
        };
        size.lent -= 1;
        if layout.size() > self.limit {
            return vec![large];
        }
        size.unused.push(large);
        self.held += layout.size();
        self.make_room()
    }

    /// What is to be freed so that no more than the limit is held: of the sizes that were not taken for
    /// longest.
    fn make_room(&mut self) -> Vec<Large> {
        let mut surplus = Vec::new();
        while self.held > self.limit {
            let sizes = self.sizes.iter_mut().filter(|size| !size.unused.is_empty());
            let Some(large) = sizes
                .min_by_key(|size| size.taken)
                .and_then(|size| size.unused.pop())
            else {
                break;
            };
            self.held -= large.layout.size();
            surplus.push(large);
        }
        surplus
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(limit: usize) -> Kept {
        let (sizes, held, clock) = (Vec::new(), 0, 0);
        Kept {
            sizes,
            held,
            limit,
            clock,
        }
    }

    fn layout(bytes: usize) -> Layout {
        Layout::array::<u8>(bytes).unwrap()
    }

    fn large(bytes: usize) -> Large {
        let mut elements = ManuallyDrop::new(Vec::<u8>::with_capacity(bytes));
        let start = NonNull::new(elements.as_mut_ptr()).unwrap();
        let layout = layout(elements.capacity());
        Large { start, layout }
    }

    #[test]
    fn memory_comes_back_to_who_asks_for_its_size() {
        let mut pool = pool(1000);
        assert!(pool.take(layout(100)).is_none());
        let memory = large(100);
        let start = memory.start;
        assert!(pool.give_back(memory).is_empty());
        assert_eq!(pool.held, 100);
        assert!(pool.take(layout(101)).is_none());
        assert!(
            pool.take(layout(100))
                .is_some_and(|again| again.start == start)
        );
        assert_eq!(pool.held, 0);
    }

    #[test]
    fn no_more_comes_back_than_was_taken() {
        let mut pool = pool(1000);
        assert_eq!(pool.give_back(large(100)).len(), 1);
        pool.take(layout(100));
        assert_eq!(pool.give_back(large(100)).len(), 0);
        assert_eq!(pool.give_back(large(100)).len(), 1);
        assert_eq!(pool.held, 100);
    }

    #[test]
    fn beyond_the_limit_what_was_not_used_for_longest_goes() {
        let mut pool = pool(250);
        for bytes in [100, 110, 120, 300] {
            pool.take(layout(bytes));
        }
        assert!(pool.give_back(large(100)).is_empty());
        assert!(pool.give_back(large(110)).is_empty());
        let surplus = pool.give_back(large(120));
        assert_eq!(
            surplus
                .iter()
                .map(|large| large.layout.size())
                .collect::<Vec<_>>(),
            [100]
        );
        assert_eq!(pool.give_back(large(300)).len(), 1);
        assert_eq!(pool.held, 230);
    }

    #[test]
    fn many_sizes_replace_each_other() {
        let mut pool = pool(1 << 20);
        for bytes in 1..=2 * SIZES {
            pool.take(layout(bytes));
            pool.give_back(large(bytes));
        }
        assert_eq!(pool.sizes.len(), SIZES);
        let held: usize = (SIZES + 1..=2 * SIZES).sum();
        assert_eq!(pool.held, held);
    }

    #[test]
    fn a_vector_is_empty_whatever_its_memory_held() {
        let mut first = take::<u64>(SMALLEST);
        first.extend((0..SMALLEST).map(|i| i as u64));
        give_back(first);
        let again = take::<u64>(SMALLEST);
        assert!(again.is_empty() && again.capacity() >= SMALLEST);
        give_back(again);
    }
}
