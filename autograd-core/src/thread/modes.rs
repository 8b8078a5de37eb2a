//! The modes of a thread, to apply on helper threads.

use std::any::Any;
use std::cell::Cell;
use std::thread::LocalKey;

use super::scoped::{Scoped, current};

/// A thread-local value that a helper thread takes over, such as whether functions are recorded.
pub(crate) trait Mode: Sync {
    /// Copies the value of this thread.
    fn capture(&'static self) -> Box<dyn Captured>;
}

/// The value of a mode on another thread.
pub(crate) trait Captured: Send + Sync {
    /// Sets the value until the result is dropped.
    fn enter(&self) -> Box<dyn Any>;
}

impl<T: Clone + Default + Send + Sync> Mode for LocalKey<Cell<T>> {
    fn capture(&'static self) -> Box<dyn Captured> {
        Box::new((self, current(self)))
    }
}

impl<T: Clone + Send + Sync> Captured for (&'static LocalKey<Cell<T>>, T) {
    fn enter(&self) -> Box<dyn Any> {
        Box::new(Scoped::set(self.0, self.1.clone()))
    }
}

/// The values of some modes on the thread that made this.
pub(crate) struct Modes(Vec<Box<dyn Captured>>);

impl Modes {
    /// Copies the values of this thread.
    pub(crate) fn capture(modes: &[&'static dyn Mode]) -> Self {
        Self(modes.iter().map(|mode| mode.capture()).collect())
    }

    /// Runs `body` on a helper thread in these modes.
    pub(crate) fn apply<R>(&self, body: impl FnOnce() -> R) -> R {
        let _scopes: Vec<Box<dyn Any>> = self.0.iter().map(|mode| mode.enter()).collect();
        body()
    }
}
