//! What a thread is set to while something runs.

use std::cell::Cell;
use std::thread::LocalKey;

/// Brings the former value back when it is dropped, in a panic too.
#[derive(Debug)]
#[must_use = "the former value is back as soon as this is dropped"]
pub struct Former<T: Copy + 'static> {
    of: &'static LocalKey<Cell<T>>,
    value: T,
}

impl<T: Copy> Former<T> {
    /// Sets another value until this is dropped.
    #[inline]
    pub(crate) fn of(of: &'static LocalKey<Cell<T>>, value: T) -> Self {
        let value = of.replace(value);
        Self { of, value }
    }
}

impl<T: Copy> Drop for Former<T> {
    #[inline]
    fn drop(&mut self) {
        self.of.set(self.value);
    }
}
