//! The storage of the hooks of leaves and of internal nodes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::tape::Hooks;

/// The hooks of a node that does not store them otherwise.
#[derive(Default)]
pub(crate) struct HookSlot {
    /// Whether there may be hooks: read by every pass.
    any: AtomicBool,
    hooks: Mutex<Option<Arc<Hooks>>>,
}

/// Whether any slot has ever had a hook: most programs register none.
static IN_USE: AtomicBool = AtomicBool::new(false);

impl HookSlot {
    /// Returns whether any slot may have hooks.
    #[inline]
    pub(crate) fn any_in_use() -> bool {
        IN_USE.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn get(&self) -> Option<Arc<Hooks>> {
        // A pass may or may not call hooks that are registered on another thread while it runs.
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        self.lock().clone()
    }

    pub(crate) fn change(&self, change: &mut dyn FnMut(&mut Hooks)) {
        IN_USE.store(true, Ordering::Release);
        self.any.store(true, Ordering::Release);
        let mut slot = self.lock();
        let mut hooks = slot.as_deref().cloned().unwrap_or_default();
        change(&mut hooks);
        let former = slot.replace(Arc::new(hooks));
        drop(slot);
        // After the lock is released: dropping a hook may run user code.
        drop(former);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Hooks>>> {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
