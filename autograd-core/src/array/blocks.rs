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

/// The blocks of one thread. Without a destructor of its own, which would be asked for on each access.
struct Blocks {
    first: Cell<Option<NonNull<Unused>>>,
    /// How many more are kept; none before there is an `AtExit`, and after.
    room: Cell<usize>,
}

thread_local! {
    static BLOCKS: Blocks = const { Blocks { first: Cell::new(None), room: Cell::new(0) } };
    static AT_EXIT: AtExit = const { AtExit };
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
        BLOCKS.with(Blocks::pop)
    } else {
        None
    };
    match kept {
        Some(block) => block.cast(),
        None => allocate(size_of::<B>(), align_of::<B>()).cast(),
    }
}

/// Takes the memory back.
///
/// # Safety
/// It came from `take::<B>`, on whatever thread, and nobody uses it any more.
#[inline]
pub(super) unsafe fn give_back<B>(block: NonNull<B>) {
    // SAFETY: by this function's own contract; the layout is `KEPT` where it is said to be.
    unsafe {
        if is_kept::<B>() {
            BLOCKS.with(|blocks| blocks.push(block.cast()));
        } else {
            dealloc(block.as_ptr().cast(), Layout::new::<B>());
        }
    }
}

/// Of a size that is not 0. It aborts rather than unwinds, as C functions do: callers then need not keep
/// in memory what they would drop.
#[inline(never)]
extern "C" fn allocate(size: usize, align: usize) -> NonNull<Unused> {
    let layout = Layout::from_size_align(size, align).expect("the layout of a type");
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
        self.room.set(self.room.get() + 1);
        Some(first)
    }

    /// Keeps the block, or frees it if there are enough.
    ///
    /// # Safety
    /// The block was allocated with the layout `KEPT`, and nobody uses it any more.
    #[inline]
    unsafe fn push(&self, block: NonNull<Unused>) {
        let room = self.room.get();
        if room == 0 {
            // SAFETY: by this function's own contract.
            return unsafe { self.push_without_room(block) };
        }
        let next = self.first.get();
        // SAFETY: the block is as large and as aligned as an `Unused`, and nobody else's.
        unsafe { block.write(Unused { next }) };
        self.first.set(Some(block));
        self.room.set(room - 1);
    }

    /// Without room there are enough blocks, or none yet, or the thread ends.
    #[cold]
    unsafe fn push_without_room(&self, block: NonNull<Unused>) {
        if self.first.get().is_none() && AT_EXIT.try_with(|_| ()).is_ok() {
            self.room.set(MOST);
            // SAFETY: by this function's own contract; there is room now.
            return unsafe { self.push(block) };
        }
        // SAFETY: by this function's own contract.
        unsafe { dealloc(block.as_ptr().cast(), KEPT) };
    }
}

/// Frees a thread's blocks when the thread ends.
struct AtExit;

impl Drop for AtExit {
    fn drop(&mut self) {
        BLOCKS.with(|blocks| {
            while let Some(block) = blocks.pop() {
                // SAFETY: every block of the list was allocated with this layout.
                unsafe { dealloc(block.as_ptr().cast(), KEPT) };
            }
            blocks.room.set(0);
        });
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
        assert_eq!(BLOCKS.with(|blocks| blocks.room.get()), 0);
        let again = take::<Kept>();
        assert_eq!(again, blocks[MOST - 1]);
        // SAFETY: as above.
        unsafe { give_back(again) };
    }
}
