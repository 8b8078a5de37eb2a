//! The memory of large arrays, reused for later arrays of their size.
//!
//! Fresh memory costs more than most arithmetic on it: the system allocates it page by page, each zeroed, on first
//! touch. Built-in functions and [kernels](crate) therefore reuse the memory of large arrays that were dropped, on
//! any thread.
//!
//! This needs no setup. Read first [`set_limit`], if memory is short, and [`empty_cache`], which frees the memory.
//!
//! The cache is bounded: by [`set_limit`], and by the memory that was in use at one time, as only memory that was
//! taken here is returned here. Small arrays are left to the allocator. If there is no memory for a large array, there
//! is a panic with the number of its elements, which can be caught; of operators that broadcast, with their shapes.
//!
//! ```
//! use pullback::kernels::memory;
//!
//! memory::set_limit(256 << 20);
//! memory::empty_cache();
//! assert_eq!(memory::reserved(), 0);
//! ```

#![allow(unsafe_code, reason = "each block has its argument")]

mod huge_pages;

use std::alloc::{Layout, dealloc};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The size in bytes from which on memory is reused. Below it, the allocator is faster than a lock.
const SMALLEST: usize = 64 << 10;

/// The most sizes of arrays that are distinguished.
const SIZES: usize = 64;

/// The size in bytes from which on [`has_room`] asks.
const LARGE: usize = 1 << 30;

static CACHE: Mutex<Cache> = Mutex::new(Cache {
    sizes: Vec::new(),
    held: 0,
    limit: 1 << 30,
    clock: 0,
});

/// Sets the most bytes that the cache holds; 1 GiB by default. With 0, nothing is cached.
pub fn set_limit(bytes: usize) {
    let mut cache = cache();
    cache.limit = bytes;
    let surplus = cache.make_room();
    drop(cache);
    drop(surplus);
}

/// Returns the number of bytes in the cache, which no array uses.
pub fn reserved() -> usize {
    cache().held
}

/// Frees all memory in the cache.
pub fn empty_cache() {
    let mut cache = cache();
    let sizes = std::mem::take(&mut cache.sizes);
    cache.held = 0;
    drop(cache);
    drop(sizes);
}

/// Returns whether there is memory for `length` elements. Asked for large arrays alone: others are taken.
#[doc(hidden)]
pub fn has_room<T>(length: usize) -> bool {
    length.saturating_mul(size_of::<T>()) < LARGE
        || Vec::<T>::new().try_reserve_exact(length).is_ok()
}

/// Checks that there is memory for `length` elements, before code of others allocates it: the allocator would end the
/// program.
///
/// # Panics
/// If there is none.
#[track_caller]
pub(crate) fn require<T>(length: usize) {
    assert!(has_room::<T>(length), "{}", no_memory::<T>(length));
}

/// Returns an empty vector with room for `length` elements.
#[inline]
#[track_caller]
#[doc(hidden)]
pub fn take<T>(length: usize) -> Vec<T> {
    if length.saturating_mul(size_of::<T>()) < SMALLEST {
        return Vec::with_capacity(length);
    }
    take_large(length)
}

/// The message of a panic.
#[cold]
fn no_memory<T>(length: usize) -> String {
    let element = std::any::type_name::<T>();
    format!("there is no memory for {length} elements of {element}")
}

#[track_caller]
fn take_large<T>(length: usize) -> Vec<T> {
    let former = Layout::array::<T>(length)
        .ok()
        .and_then(|layout| cache().take(layout));
    let Some(former) = former else {
        let mut fresh = Vec::new();
        // The shape may be a mistake: a panic, where the allocator would end the program.
        let reserved = fresh.try_reserve_exact(length);
        assert!(reserved.is_ok(), "{}", no_memory::<T>(length));
        huge_pages::advise(fresh.spare_capacity_mut());
        return fresh;
    };
    let start = ManuallyDrop::new(former).start;
    // SAFETY: the memory came from a vector of this layout, through `give_back`, and is not used elsewhere; the new
    // vector has no elements.
    unsafe { Vec::from_raw_parts(start.as_ptr().cast(), 0, length) }
}

/// Puts the memory of a vector into the cache, if it is large and was taken here.
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
    let surplus = cache().give_back(Large { start, layout });
    drop(surplus);
}

fn cache() -> MutexGuard<'static, Cache> {
    // Only a failed allocation panics while the lock is held, and it leaves the cache consistent.
    CACHE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory that is not in use; freed when dropped.
struct Large {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it is only memory, which any thread may use or free.
unsafe impl Send for Large {}

impl Drop for Large {
    fn drop(&mut self) {
        // SAFETY: a vector allocated it with this layout, and it is not in use.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

struct Cache {
    sizes: Vec<Size>,
    held: usize,
    limit: usize,
    /// The number of times that memory was taken.
    clock: u64,
}

/// The arrays of one size.
struct Size {
    layout: Layout,
    /// The number of arrays in use.
    in_use: usize,
    /// The clock when the last array was taken.
    taken: u64,
    unused: Vec<Large>,
}

impl Cache {
    fn take(&mut self, layout: Layout) -> Option<Large> {
        self.clock += 1;
        let known = self.sizes.iter().position(|size| size.layout == layout);
        let index = known.unwrap_or_else(|| self.add(layout));
        let size = &mut self.sizes[index];
        size.in_use += 1;
        size.taken = self.clock;
        let former = size.unused.pop()?;
        self.held -= layout.size();
        Some(former)
    }

    /// Adds a size and returns its index. If there are many, it replaces the one that was not taken for longest.
    fn add(&mut self, layout: Layout) -> usize {
        let new = Size {
            layout,
            in_use: 0,
            taken: self.clock,
            unused: Vec::new(),
        };
        if self.sizes.len() < SIZES {
            self.sizes.push(new);
            return self.sizes.len() - 1;
        }
        let oldest = (0..SIZES)
            .min_by_key(|&index| self.sizes[index].taken)
            .unwrap_or(0);
        let former = std::mem::replace(&mut self.sizes[oldest], new);
        self.held -= former.unused.len() * former.layout.size();
        oldest
    }

    /// Takes memory back, and returns the memory that has to be freed.
    fn give_back(&mut self, large: Large) -> Vec<Large> {
        let layout = large.layout;
        let is_known = |size: &&mut Size| size.layout == layout && size.in_use > 0;
        let Some(size) = self.sizes.iter_mut().find(is_known) else {
            return vec![large];
        };
        size.in_use -= 1;
        if layout.size() > self.limit {
            return vec![large];
        }
        size.unused.push(large);
        self.held += layout.size();
        self.make_room()
    }

    /// Returns the memory that has to be freed so that no more than the limit is held: first of the sizes that were
    /// not taken for longest.
    fn make_room(&mut self) -> Vec<Large> {
        let mut surplus = Vec::new();
        while self.held > self.limit {
            let Some(large) = self
                .sizes
                .iter_mut()
                .filter(|size| !size.unused.is_empty())
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

    fn pool(limit: usize) -> Cache {
        Cache {
            sizes: Vec::new(),
            held: 0,
            limit,
            clock: 0,
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
    #[should_panic(expected = "there is no memory for 1152921504606846976 elements of f64")]
    fn memory_that_there_is_not_is_a_panic() {
        let _ = take::<f64>(1 << 60);
    }

    #[test]
    fn memory_is_reused_for_its_size() {
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
    fn no_more_is_cached_than_was_taken() {
        let mut pool = pool(1000);
        assert_eq!(pool.give_back(large(100)).len(), 1);
        pool.take(layout(100));
        assert_eq!(pool.give_back(large(100)).len(), 0);
        assert_eq!(pool.give_back(large(100)).len(), 1);
        assert_eq!(pool.held, 100);
    }

    #[test]
    fn beyond_the_limit_the_least_recently_taken_is_freed() {
        let mut pool = pool(250);
        for bytes in [100, 110, 120, 300] {
            pool.take(layout(bytes));
        }
        assert!(pool.give_back(large(100)).is_empty());
        assert!(pool.give_back(large(110)).is_empty());
        let surplus = pool.give_back(large(120));
        let sizes: Vec<_> = surplus.iter().map(|large| large.layout.size()).collect();
        assert_eq!(sizes, [100]);
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
