//! A counted pointer for buffers.
//!
//! Note \[Counting\] in `count` compares it with `Arc`. Its memory is a block of the thread.

use std::alloc::Layout;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;

use super::blocks;
use super::count::Count;

/// A handle on a value, which is dropped with its last handle.
pub(crate) struct Counted<V> {
    block: NonNull<Block<V>>,
    owns: PhantomData<Block<V>>,
}

struct Block<V> {
    count: Count,
    value: V,
}

// SAFETY: handles on several threads give each `&V`, and the last one drops `V` wherever it is: as for
// `Arc`, both must be allowed.
unsafe impl<V: Send + Sync> Send for Counted<V> {}
// SAFETY: as above; a `&Counted<V>` can be cloned into a handle.
unsafe impl<V: Send + Sync> Sync for Counted<V> {}

impl<V> Counted<V> {
    /// The size of the value with its count.
    #[cfg(test)]
    pub(crate) const SIZE: usize = size_of::<Block<V>>();

    /// Makes the first handle.
    #[inline]
    pub(crate) fn new(value: V) -> Self {
        let block: NonNull<Block<V>> = blocks::take(Layout::new::<Block<V>>()).cast();
        let count = Count::one();
        // SAFETY: `take` gives memory for a new `Block<V>`.
        unsafe {
            block.write(Block { count, value });
        }
        Self {
            block,
            owns: PhantomData,
        }
    }

    /// Returns whether there is no other handle. Then there is none until this one is cloned.
    #[inline]
    pub(crate) fn is_only(&self) -> bool {
        self.block().count.is_one()
    }

    /// Returns whether both are handles on the same value.
    #[cfg(test)]
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.block == other.block
    }

    /// Returns the value for writing; `None` if there are other handles.
    #[inline]
    pub(crate) fn get_mut(&mut self) -> Option<&mut V> {
        if !self.is_only() {
            return None;
        }
        // SAFETY: this is the only handle, and it is borrowed exclusively for as long as the result.
        Some(unsafe { &mut self.block.as_mut().value })
    }

    /// Returns the value itself, or the handle if there are others.
    #[inline]
    pub(crate) fn into_inner(self) -> Result<V, Self> {
        if !self.is_only() {
            return Err(self);
        }
        let block = self.block;
        std::mem::forget(self);
        // SAFETY: the only handle was forgotten, so the block is this function's own: the value is moved out
        // once and the memory, which came from `take`, is given back once.
        unsafe {
            let Block { count: _, value } = block.read();
            blocks::give_back(block.cast(), Layout::new::<Block<V>>());
            Ok(value)
        }
    }

    #[inline]
    fn block(&self) -> &Block<V> {
        // SAFETY: the block lives as long as there are handles; only `get_mut` lends it exclusively, which
        // borrows the only handle.
        unsafe { self.block.as_ref() }
    }

    /// Drops the value, which has no handles.
    fn release(block: NonNull<Block<V>>) {
        // SAFETY: as in `into_inner`.
        unsafe {
            block.drop_in_place();
            blocks::give_back(block.cast(), Layout::new::<Block<V>>());
        }
    }
}

impl<V> Clone for Counted<V> {
    #[inline]
    fn clone(&self) -> Self {
        self.block().count.add();
        Self {
            block: self.block,
            owns: PhantomData,
        }
    }
}

impl<V> Drop for Counted<V> {
    #[inline]
    fn drop(&mut self) {
        if self.block().count.remove() {
            Self::release(self.block);
        }
    }
}

impl<V> Deref for Counted<V> {
    type Target = V;

    #[inline]
    fn deref(&self) -> &V {
        &self.block().value
    }
}

impl<V: fmt::Debug> fmt::Debug for Counted<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn the_last_handle_drops_the_value() {
        let watched = Arc::new(());
        let first = Counted::new(Arc::clone(&watched));
        let second = first.clone();
        assert!(!first.is_only());
        drop(first);
        assert_eq!(Arc::strong_count(&watched), 2);
        assert!(second.is_only());
        drop(second);
        assert_eq!(Arc::strong_count(&watched), 1);
    }

    #[test]
    fn only_the_only_handle_gives_the_value_away() {
        let mut first = Counted::new(vec![1]);
        let second = first.clone();
        assert!(first.get_mut().is_none());
        let first = first.into_inner().unwrap_err();
        assert!(first.is(&second));
        drop(first);
        assert_eq!(second.into_inner().ok(), Some(vec![1]));
    }

    #[test]
    fn threads_may_drop_the_last_two_handles_at_once() {
        let watched = Arc::new(());
        for _ in 0..200 {
            let here = Counted::new(Arc::clone(&watched));
            let there = here.clone();
            let other = std::thread::spawn(move || drop(there));
            drop(here);
            other.join().unwrap();
            assert_eq!(Arc::strong_count(&watched), 1);
        }
    }
}
