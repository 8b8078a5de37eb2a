//! Memory for the counted part of buffers, kept by each thread for its next ones.
//!
//! A recorded operation makes one such block and the end of its node frees it: an allocator's general
//! way there and back costs more than the rest of what a buffer does.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::NonNull;

/// The size of the blocks that are kept: that of a buffer of either element type.
const SIZE: usize = 72;

/// The most blocks that a thread keeps, of 80 bytes each with the allocator's share: enough for a few
/// thousand tensors that come and go.
const MOST: usize = 4096;

/// The place of the next block, in the memory of a block that nobody uses.
struct Unused {
    next: Option<NonNull<Unused>>,
}

struct Blocks {
    first: Cell<Option<NonNull<Unused>>>,
    count: Cell<usize>,
}

thread_local! {
    static BLOCKS: Blocks = const { Blocks { first: Cell::new(None), count: Cell::new(0) } };
}

const KEPT: Layout = {
    assert!(SIZE >= size_of::<Unused>());
    match Layout::from_size_align(SIZE, align_of::<Unused>()) {
        Ok(layout) => layout,
        Err(_) => panic!("a size and an alignment"),
    }
};

/// Whether blocks for a `B` are kept.
const fn is_kept<B>() -> bool {
    size_of::<B>() == KEPT.size() && align_of::<B>() == KEPT.align()
}

/// Memory for a `B`, of which every byte may be anything.
#[inline]
pub(super) fn take<B>() -> NonNull<B> {
    const { assert!(size_of::<B>() > 0) };
    let kept = if is_kept::<B>() {
        BLOCKS.try_with(Blocks::pop).ok().flatten()
    } else {
        None
    };
    kept.unwrap_or_else(|| allocate(Layout::new::<B>())).cast()
}

/// Takes the memory back.
///
/// # Safety
/// It came from `take::<B>`, on whatever thread, and nobody uses it any more.
#[inline]
pub(super) unsafe fn give_back<B>(block: NonNull<B>) {
    if is_kept::<B>() {
        // SAFETY: by this function's own contract; the layout is `KEPT`.
        let kept = BLOCKS.try_with(|blocks| unsafe { blocks.push(block.cast()) });
        if kept.unwrap_or(false) {
            return;
        }
    }
    // SAFETY: `take::<B>` allocated it with the layout of `B`.
    unsafe { dealloc(block.as_ptr().cast(), Layout::new::<B>()) };
}

#[cold]
fn allocate(layout: Layout) -> NonNull<Unused> {
    // SAFETY: the size is not 0: `take` has asserted it.
    let memory = unsafe { alloc(layout) };
    NonNull::new(memory.cast()).unwrap_or_else(|| handle_alloc_error(layout))
}

impl Blocks {
    #[inline]
    fn pop(&self) -> Option<NonNull<Unused>> {
        let first = self.first.get()?;
        // SAFETY: what `push` wrote, in memory that only this thread's list refers to.
        self.first.set(unsafe { first.read() }.next);
        self.count.set(self.count.get() - 1);
        Some(first)
    }

    /// Whether the block is kept: not if there are enough.
    ///
    /// # Safety
    /// The block was allocated with the layout `KEPT`, and nobody uses it any more.
    #[inline]
    unsafe fn push(&self, block: NonNull<Unused>) -> bool {
        if self.count.get() == MOST {
            return false;
        }
        let next = self.first.get();
        // SAFETY: the block is as large and as aligned as an `Unused`, and nobody else's.
        unsafe { block.write(Unused { next }) };
        self.first.set(Some(block));
        self.count.set(self.count.get() + 1);
        true
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        while let Some(block) = self.pop() {
            // SAFETY: every block of the list was allocated with this layout.
            unsafe {
                dealloc(block.as_ptr().cast(), KEPT);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Kept = [usize; SIZE / size_of::<usize>()];

    #[test]
    fn blocks_come_back_last_first_and_no_more_than_enough_are_kept() {
        let blocks: Vec<NonNull<Kept>> = (0..MOST + 10).map(|_| take()).collect();
        for &block in &blocks {
            // SAFETY: taken above, given back once.
            unsafe { give_back(block) };
        }
        assert_eq!(BLOCKS.with(|blocks| blocks.count.get()), MOST);
        let again = take::<Kept>();
        assert_eq!(again, blocks[MOST - 1]);
        // SAFETY: as above.
        unsafe { give_back(again) };
    }
}
