//! Accumulated gradients: of leaves, and of computed tensors that retain theirs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::tape::{AnyGradient, accumulate, drop_held};

/// The gradient that passes have accumulated for one tensor.
///
/// No lock is held while a gradient with a history is dropped: its nodes hold values of users. A gradient is in memory of
/// its own, as it is added under the lock: see [`AnyGradient::own_memory`].
#[derive(Default)]
pub(crate) struct Accumulated(Mutex<Sum>);

#[derive(Default)]
struct Sum {
    grad: Option<AnyGradient>,
    /// `Some` while a pass that added a gradient may still fail.
    unsettled: Option<Box<Unsettled>>,
}

/// The parts of the gradient, so that a pass that fails can remove its own part.
struct Unsettled {
    /// The gradient before the first of the passes.
    before: Option<AnyGradient>,
    added: Vec<Added>,
    /// The number of passes.
    passes: u64,
}

struct Added {
    grad: AnyGradient,
    /// The number of a pass that may still fail.
    unsettled: Option<u64>,
}

impl Accumulated {
    fn lock(&self) -> MutexGuard<'_, Sum> {
        // Only a failed allocation panics while the lock is held; the old value is then complete.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a handle on the gradient.
    pub(crate) fn get(&self) -> Option<AnyGradient> {
        self.lock().grad.clone()
    }

    /// Replaces the gradient, and returns the former.
    pub(crate) fn replace(&self, grad: Option<AnyGradient>) -> Option<AnyGradient> {
        std::mem::replace(&mut self.lock().grad, grad)
    }

    /// Adds the gradient of a pass that has succeeded.
    pub(crate) fn accumulate(&self, mut grad: AnyGradient) {
        let mut sum = self.lock();
        if let Some(unsettled) = &mut sum.unsettled {
            let grad = grad.share();
            unsettled.added.push(Added {
                grad,
                unsettled: None,
            });
        }
        add(sum, grad);
    }

    /// Adds a gradient that was taken out by [`replace`](Self::replace).
    pub(crate) fn give_back(&self, grad: AnyGradient) {
        add(self.lock(), grad);
    }

    /// Adds the gradient of a pass that may still fail: the result removes it when dropped unsettled.
    pub(crate) fn accumulate_unsettled(self: &Arc<Self>, mut grad: AnyGradient) -> Undo {
        let mut sum = self.lock();
        let Sum {
            grad: total,
            unsettled,
        } = &mut *sum;
        let unsettled = unsettled.get_or_insert_with(|| {
            Box::new(Unsettled {
                before: total.clone(),
                added: Vec::new(),
                passes: 0,
            })
        });
        unsettled.passes += 1;
        let pass = unsettled.passes;
        unsettled.added.push(Added {
            grad: grad.share(),
            unsettled: Some(pass),
        });
        add(sum, grad);
        Undo {
            accumulated: Arc::clone(self),
            pass,
            settled: false,
        }
    }
}

/// Adds `grad`, and releases the lock before anything with a history is dropped.
fn add(mut sum: MutexGuard<'_, Sum>, grad: AnyGradient) {
    let histories = [sum.grad.as_ref(), Some(&grad)].map(|grad| grad?.history());
    accumulate(&mut sum.grad, grad);
    drop(sum);
    drop(histories);
}

impl Drop for Accumulated {
    fn drop(&mut self) {
        let sum = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Its history may end in another accumulated gradient.
        if let Some(grad) = sum.grad.take_if(|grad| grad.history().is_some()) {
            drop_held(grad);
        }
    }
}

/// Removes the gradient of a pass when it is dropped, unless it was settled.
pub(crate) struct Undo {
    accumulated: Arc<Accumulated>,
    pass: u64,
    settled: bool,
}

impl Undo {
    /// Keeps the gradient: the pass has succeeded.
    pub(crate) fn settle(mut self) {
        self.settled = true;
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        let mut sum = self.accumulated.lock();
        // INVARIANT: it is `Some` as long as there is an `Undo`.
        let Some(mut unsettled) = sum.unsettled.take() else {
            return;
        };
        let mut former = None;
        if self.settled {
            let mut added = unsettled.added.iter_mut();
            if let Some(own) = added.find(|added| added.unsettled == Some(self.pass)) {
                own.unsettled = None;
            }
        } else {
            let own = |added: &mut Added| added.unsettled == Some(self.pass);
            let own = unsettled.added.extract_if(.., own).next();
            let mut grad = unsettled.before.clone();
            for added in &unsettled.added {
                accumulate(&mut grad, added.grad.clone());
            }
            former = Some((own, std::mem::replace(&mut sum.grad, grad)));
        }
        let others = unsettled
            .added
            .iter()
            .any(|added| added.unsettled.is_some());
        let done = if others {
            sum.unsettled = Some(unsettled);
            None
        } else {
            Some(unsettled)
        };
        drop(sum);
        // After the lock is released: dropping a history may run user code.
        drop((former, done));
    }
}
