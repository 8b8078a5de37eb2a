//! Thread-local values set for a scope.

use std::cell::Cell;
use std::fmt;
use std::thread::LocalKey;

/// A thread-local value for a scope: dropped, in a panic too, it sets the former value again, and then drops its own.
#[must_use = "the former value is set again when this is dropped"]
pub struct Scoped<T: 'static> {
    key: &'static LocalKey<Cell<T>>,
    /// `None` on a thread that is ending and has no such value any more.
    former: Option<T>,
}

impl<T> Scoped<T> {
    /// Sets a value until this is dropped.
    #[inline]
    pub(crate) fn set(key: &'static LocalKey<Cell<T>>, value: T) -> Self {
        let former = key.try_with(|cell| cell.replace(value)).ok();
        Self { key, former }
    }
}

impl<T> Drop for Scoped<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(former) = self.former.take() {
            // Dropped last: it may run user code, which reads the value.
            let own = self.key.try_with(|cell| cell.replace(former));
            drop(own);
        }
    }
}

impl<T> fmt::Debug for Scoped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scoped")
    }
}

/// Returns a copy of a thread-local value; the default one on a thread that is ending.
pub(crate) fn current<T: Clone + Default>(key: &'static LocalKey<Cell<T>>) -> T {
    let copy = key.try_with(|cell| {
        let value = cell.take();
        let copy = value.clone();
        cell.set(value);
        copy
    });
    copy.unwrap_or_default()
}
