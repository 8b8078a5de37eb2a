//! Where the hooks of leaves and of the tape's own nodes are.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::tape::Hooks;

/// The hooks of a node that has no better place for them.
#[derive(Default)]
pub(crate) struct HookSlot {
    /// Whether there may be any: what every pass reads.
    any: AtomicBool,
    hooks: Mutex<Option<Arc<Hooks>>>,
}

/// Whether there has ever been a hook in a slot: most programs register none.
static IN_USE: AtomicBool = AtomicBool::new(false);

impl HookSlot {
    /// Whether any of the slots may have hooks.
    #[inline]
    pub(crate) fn any_in_use() -> bool {
        IN_USE.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn get(&self) -> Option<Arc<Hooks>> {
        // Hooks that are registered while a pass runs on another thread are seen by that pass or not.
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
        // Only now: a hook that goes may run user code when it is dropped.
        drop(former);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Hooks>>> {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
