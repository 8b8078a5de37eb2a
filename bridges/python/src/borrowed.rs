//! Elements in memory of a framework, which tensors share.

#![allow(unsafe_code, reason = "each block has its argument")]

use std::slice;

/// Elements that something else owns.
pub(crate) struct Borrowed<T, O> {
    first: *const T,
    length: usize,
    _owner: O,
}

// SAFETY: the memory is only read; the owner may be sent.
unsafe impl<T: Sync, O: Send> Send for Borrowed<T, O> {}
// SAFETY: as above; the owner may be shared.
unsafe impl<T: Sync, O: Sync> Sync for Borrowed<T, O> {}

impl<T, O> Borrowed<T, O> {
    /// Elements at an address.
    ///
    /// # Safety
    /// There are so many aligned elements there whenever this is read. `owner`, which is dropped with it, may be what keeps
    /// them alive.
    pub(crate) const unsafe fn new(first: *const T, length: usize, owner: O) -> Self {
        Self {
            first,
            length,
            _owner: owner,
        }
    }
}

impl<T, O> AsRef<[T]> for Borrowed<T, O> {
    fn as_ref(&self) -> &[T] {
        // SAFETY: as `new` requires. A thread of Python that writes to the memory meanwhile has a data race, as with every
        // library that reads buffers.
        unsafe { slice::from_raw_parts(self.first, self.length) }
    }
}
