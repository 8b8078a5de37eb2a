//! Blocks of memory for nodes and for the counted part of buffers, which each thread reuses.
//!
//! A recorded operation allocates one block of each kind, and dropping its node frees them: the general allocator would
//! take more time than the rest of the operation.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::NonNull;

/// The sizes of the blocks, each with the smallest size that it is used for: buffers of either element type, nodes of
/// one input, or of two of which none is saved, and nodes of two or three that are saved. With the allocator's share
/// they take 80, 128 and 176 bytes.
const SIZES: [(usize, usize); 3] = [(72, 56), (120, 96), (168, 128)];

const ALIGN: usize = align_of::<usize>();

/// The most free blocks of each size that a thread keeps: enough for a few thousand tensors.
const MOST: usize = 4096;

/// The memory of a free block, with the address of the next one.
struct Unused {
    next: Option<NonNull<Unused>>,
}

/// The blocks of one size of one thread. It has no destructor, which each access would check for.
struct Blocks {
    layout: Layout,
    first: Cell<Option<NonNull<Unused>>>,
    /// The number of blocks that can be added; 0 before `AtExit` is set, and after.
    room: Cell<usize>,
}

thread_local! {
    static BLOCKS: [Blocks; SIZES.len()] = const { [Blocks::of(0), Blocks::of(1), Blocks::of(2)] };
    static AT_EXIT: AtExit = const { AtExit };
}

/// Returns the kind of blocks for this layout, if there is one.
#[inline]
const fn kind(layout: Layout) -> Option<usize> {
    let mut kind = 0;
    while kind < SIZES.len() {
        let (largest, smallest) = SIZES[kind];
        if smallest <= layout.size() && layout.size() <= largest && layout.align() <= ALIGN {
            return Some(kind);
        }
        kind += 1;
    }
    None
}

/// Returns uninitialized memory for a value of this layout, whose size is not 0.
#[inline]
pub(super) fn take(layout: Layout) -> NonNull<u8> {
    debug_assert!(layout.size() > 0);
    let Some(kind) = kind(layout) else {
        return allocate(layout.size(), layout.align()).cast();
    };
    let kept = BLOCKS.with(|blocks| blocks[kind].pop());
    kept.unwrap_or_else(|| allocate(SIZES[kind].0, ALIGN))
        .cast()
}

/// Frees memory.
///
/// # Safety
/// The memory came from `take` of this layout, on any thread, and is no longer used.
#[inline]
pub(super) unsafe fn give_back(block: NonNull<u8>, layout: Layout) {
    // SAFETY: by this function's own contract; blocks of a kind have its layout.
    unsafe {
        match kind(layout) {
            Some(kind) => BLOCKS.with(|blocks| blocks[kind].push(block.cast())),
            None => dealloc(block.as_ptr(), layout),
        }
    }
}

/// Allocates memory, of a size that is not 0. It aborts instead of unwinding, as C functions do: callers then need no
/// code to drop values.
#[inline(never)]
extern "C" fn allocate(size: usize, align: usize) -> NonNull<Unused> {
    let layout = Layout::from_size_align(size, align).expect("the layout of a type");
    // SAFETY: the size is not 0, as `take` requires.
    let memory = unsafe { alloc(layout) };
    NonNull::new(memory.cast()).unwrap_or_else(|| handle_alloc_error(layout))
}

impl Blocks {
    const fn of(kind: usize) -> Self {
        assert!(SIZES[kind].1 >= size_of::<Unused>());
        let Ok(layout) = Layout::from_size_align(SIZES[kind].0, ALIGN) else {
            panic!("a size and an alignment")
        };
        Self {
            layout,
            first: Cell::new(None),
            room: Cell::new(0),
        }
    }

    #[inline]
    fn pop(&self) -> Option<NonNull<Unused>> {
        let first = self.first.get()?;
        // SAFETY: `push` wrote it, and only this thread's list refers to it.
        self.first.set(unsafe { first.read() }.next);
        self.room.set(self.room.get() + 1);
        Some(first)
    }

    /// Adds the block, or frees it if there are enough.
    ///
    /// # Safety
    /// The block was allocated with this layout, and it is no longer used.
    #[inline]
    unsafe fn push(&self, block: NonNull<Unused>) {
        let room = self.room.get();
        if room == 0 {
            // SAFETY: by this function's own contract.
            return unsafe { self.push_without_room(block) };
        }
        let next = self.first.get();
        // SAFETY: the block is as large and as aligned as an `Unused`, and not used elsewhere.
        unsafe { block.write(Unused { next }) };
        self.first.set(Some(block));
        self.room.set(room - 1);
    }

    /// Adds the first block, or frees it if there are enough or the thread is ending.
    #[cold]
    unsafe fn push_without_room(&self, block: NonNull<Unused>) {
        if self.first.get().is_none() && AT_EXIT.try_with(|_| ()).is_ok() {
            self.room.set(MOST);
            // SAFETY: by this function's own contract; there is room now.
            return unsafe { self.push(block) };
        }
        // SAFETY: by this function's own contract.
        unsafe { dealloc(block.as_ptr().cast(), self.layout) };
    }
}

/// Frees a thread's blocks when the thread ends.
struct AtExit;

impl Drop for AtExit {
    fn drop(&mut self) {
        // If thread-locals are keys of the system, the list may be destroyed before this.
        let _ = BLOCKS.try_with(|blocks| {
            for blocks in blocks {
                while let Some(block) = blocks.pop() {
                    // SAFETY: every block of the list was allocated with this layout.
                    unsafe { dealloc(block.as_ptr().cast(), blocks.layout) };
                }
                blocks.room.set(0);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_reused_last_first_and_their_number_is_limited() {
        for (kind, (size, smallest)) in SIZES.into_iter().enumerate() {
            let layout = Layout::from_size_align(size, ALIGN).unwrap();
            let blocks: Vec<NonNull<u8>> = (0..MOST + 10).map(|_| take(layout)).collect();
            for &block in &blocks {
                // SAFETY: taken above, given back once.
                unsafe { give_back(block, layout) };
            }
            assert_eq!(BLOCKS.with(|blocks| blocks[kind].room.get()), 0);
            let smaller = Layout::from_size_align(smallest, 4).unwrap();
            let again = take(smaller);
            assert_eq!(again, blocks[MOST - 1]);
            // SAFETY: as above.
            unsafe { give_back(again, smaller) };
        }
    }

    #[test]
    fn other_layouts_go_to_the_allocator() {
        for (size, align) in [
            (1, 1),
            (40, 8),
            (80, 8),
            (121, 8),
            (169, 8),
            (72, 16),
            (4096, 64),
        ] {
            let layout = Layout::from_size_align(size, align).unwrap();
            assert_eq!(kind(layout), None);
            let block = take(layout);
            assert_eq!(block.addr().get() % align, 0);
            // SAFETY: taken above, given back once.
            unsafe { give_back(block, layout) };
        }
    }
}
