//! A handle on what several nodes share.

use std::ops::Deref;
use std::sync::Arc;

use super::drop_held;

/// A handle on something that has values of a user's types. The last one drops it as nodes drop what they hold.
pub(crate) struct Shared<X: ?Sized + 'static>(
    /// There until the handle is dropped.
    Option<Arc<X>>,
);

impl<X: ?Sized> Shared<X> {
    pub(crate) fn of(held: Arc<X>) -> Self {
        Self(Some(held))
    }
}

impl<X: ?Sized> Clone for Shared<X> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<X: ?Sized> Deref for Shared<X> {
    type Target = X;

    fn deref(&self) -> &X {
        // INVARIANT: taken in `drop` alone.
        self.0.as_ref().expect("there until it is dropped")
    }
}

impl<X: ?Sized> Drop for Shared<X> {
    fn drop(&mut self) {
        if let Some(held) = self.0.take_if(|held| Arc::strong_count(held) == 1) {
            drop_held(held);
        }
    }
}
