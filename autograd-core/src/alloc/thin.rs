//! A counted pointer of one word to a trait object.
//!
//! Nodes of the tape are such objects. An `Arc<dyn Trait>` takes two words in each edge, counts weak handles too, and
//! needs a virtual call for everything; here the *head*, which all objects have, is read directly, and dropping the
//! last handle takes a load.

use std::alloc::Layout;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::AtomicBool;

use super::blocks;
use super::count::Count;

/// A handle on a value of any type, as the trait object `T`, with its head.
pub(crate) struct Thin<H, T: ?Sized> {
    start: NonNull<Start<H, T>>,
    owns: PhantomData<(H, T)>,
}

/// The start of every block.
struct Start<H, T: ?Sized> {
    count: Count,
    flag: AtomicBool,
    /// A pointer to the value of this block.
    value: NonNull<T>,
    head: H,
}

#[repr(C)]
struct Block<H, T: ?Sized, V> {
    start: Start<H, T>,
    value: V,
}

// SAFETY: handles on several threads give each `&H` and `&T`, and the last one drops both wherever it is:
// as for `Arc`, both must be allowed.
unsafe impl<H: Send + Sync, T: ?Sized + Send + Sync> Send for Thin<H, T> {}
// SAFETY: as above; a `&Thin` can be cloned into a handle.
unsafe impl<H: Send + Sync, T: ?Sized + Send + Sync> Sync for Thin<H, T> {}

impl<H, T: ?Sized> Thin<H, T> {
    /// Makes the first handle on `value`, which `as_dyn` converts to a `T`.
    #[inline]
    pub(crate) fn new<V>(head: H, value: V, as_dyn: impl FnOnce(&mut V) -> &mut T) -> Self {
        let layout = Layout::new::<Block<H, T, V>>();
        let block: NonNull<Block<H, T, V>> = blocks::take(layout).cast();
        // SAFETY: the memory is new and has the layout of a `Block`; each field is written once before it is
        // read. If `as_dyn` panics, the memory is leaked and nothing else.
        unsafe {
            let slot = &raw mut (*block.as_ptr()).value;
            slot.write(value);
            let shown = as_dyn(&mut *slot);
            let is_whole =
                size_of_val(shown) == size_of::<V>() && align_of_val(shown) == align_of::<V>();
            let shown: *mut T = shown;
            // `as_dyn` is safe code, but may return another reference: to a part of the value, or to another value.
            if !(is_whole && std::ptr::addr_eq(shown, slot)) {
                slot.drop_in_place();
                blocks::give_back(block.cast(), layout);
                panic!("`as_dyn` must return the whole value");
            }
            let start = &raw mut (*block.as_ptr()).start;
            start.write(Start {
                count: Count::one(),
                flag: AtomicBool::new(false),
                value: NonNull::new_unchecked(shown),
                head,
            });
        }
        Self {
            start: block.cast(),
            owns: PhantomData,
        }
    }

    /// The size of a value with its count and head.
    #[cfg(test)]
    pub(crate) const fn size_of<V>() -> usize {
        size_of::<Block<H, T, V>>()
    }

    #[inline]
    pub(crate) fn head(&self) -> &H {
        &self.start().head
    }

    /// Returns a flag that all handles share, false at first.
    #[inline]
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.start().flag
    }

    /// Returns whether there is no other handle. Then there is none until this one is cloned.
    #[inline]
    pub(crate) fn is_only(&self) -> bool {
        self.start().count.is_one()
    }

    /// Returns the value for writing; `None` if there are other handles.
    #[inline]
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        if !self.is_only() {
            return None;
        }
        let mut value = self.start().value;
        // SAFETY: this is the only handle, and it is borrowed exclusively for as long as the result.
        Some(unsafe { value.as_mut() })
    }

    /// Returns the address of the value, which is that of no other value at the same time.
    #[inline]
    pub(crate) fn address(&self) -> usize {
        self.start.addr().get()
    }

    #[inline]
    fn start(&self) -> &Start<H, T> {
        // SAFETY: the block lives as long as there are handles, and nothing borrows its start exclusively.
        unsafe { self.start.as_ref() }
    }

    /// Frees a block without handles.
    fn release(start: NonNull<Start<H, T>>) {
        // SAFETY: the caller had the last handle, so the block is this function's own. The value is that of a
        // `Block` that `new` allocated, with the layout that its fields have one after the other.
        unsafe {
            let value = start.as_ref().value;
            let (layout, _) = Layout::new::<Start<H, T>>()
                .extend(Layout::for_value(value.as_ref()))
                .unwrap_unchecked();
            value.drop_in_place();
            start.drop_in_place();
            blocks::give_back(start.cast(), layout.pad_to_align());
        }
    }
}

impl<H, T: ?Sized> Clone for Thin<H, T> {
    #[inline]
    fn clone(&self) -> Self {
        self.start().count.add();
        Self {
            start: self.start,
            owns: PhantomData,
        }
    }
}

impl<H, T: ?Sized> Drop for Thin<H, T> {
    #[inline]
    fn drop(&mut self) {
        if self.start().count.remove() {
            Self::release(self.start);
        }
    }
}

impl<H, T: ?Sized> Deref for Thin<H, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the value lives as long as there are handles; only `get_mut` lends it exclusively, which
        // borrows the only handle.
        unsafe { self.start().value.as_ref() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Debug;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    type Any = Thin<u32, dyn Debug + Send + Sync>;

    fn thin<V: Debug + Send + Sync + 'static>(value: V) -> Any {
        Thin::new(7, value, |value: &mut V| {
            value as &mut (dyn Debug + Send + Sync)
        })
    }

    #[test]
    fn values_of_any_size_and_alignment_are_kept_and_dropped() {
        #[derive(Debug)]
        #[repr(align(64))]
        struct Aligned(#[expect(dead_code, reason = "read by `Debug`")] u8);

        let watched = Arc::new(());
        for value in [
            thin(()),
            thin([1_u8; 3]),
            thin(Aligned(5)),
            thin(vec![1, 2]),
        ] {
            assert_eq!(*value.head(), 7);
            assert!(!format!("{:?}", &*value).is_empty());
        }
        let first = thin((Arc::clone(&watched), 1_u8));
        let second = first.clone();
        assert_eq!(first.address(), second.address());
        assert!(!first.is_only());
        drop(first);
        assert_eq!(Arc::strong_count(&watched), 2);
        assert!(second.is_only());
        drop(second);
        assert_eq!(Arc::strong_count(&watched), 1);
    }

    #[test]
    fn only_the_only_handle_lends_the_value_to_write_to() {
        let mut first: Thin<(), [i32]> =
            Thin::new((), [1, 2], |value: &mut [i32; 2]| value as &mut [i32]);
        let second = first.clone();
        assert!(first.get_mut().is_none());
        drop(second);
        first.get_mut().unwrap()[0] = 5;
        assert_eq!(*first, [5, 2]);
    }

    #[test]
    fn what_is_no_view_of_the_whole_value_is_refused() {
        let part = || Thin::<(), [i32]>::new((), [1, 2], |value| &mut value[1..]);
        assert!(catch_unwind(AssertUnwindSafe(part)).is_err());
        let other = || Thin::<(), [i32]>::new((), [1, 2], |_| &mut []);
        assert!(catch_unwind(AssertUnwindSafe(other)).is_err());
    }

    #[test]
    fn threads_may_drop_the_last_two_handles_at_once() {
        let watched = Arc::new(());
        for _ in 0..200 {
            let here = thin(Arc::clone(&watched));
            let there = here.clone();
            let other = std::thread::spawn(move || drop(there));
            drop(here);
            other.join().unwrap();
            assert_eq!(Arc::strong_count(&watched), 1);
        }
    }
}
