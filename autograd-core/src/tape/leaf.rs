//! The node of a leaf: where gradients end up.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::array::PackedShape;
use crate::error::Error;
use crate::tape::HookSlot;
use crate::tape::{AnyGradient, AnyLeaf, BackwardCall, Edge, Gradient, TapeNode, accumulate};
use autograd_kernels::Element;
use autograd_kernels::Shape;

/// Accumulates the gradient of one leaf. All clones of the leaf share it.
pub(crate) struct Leaf<T> {
    output: [PackedShape; 1],
    grad: Mutex<Option<Gradient<T>>>,
    hooks: HookSlot,
}

impl<T: Element> Leaf<T> {
    pub(crate) fn new(shape: &Shape) -> Self {
        Self {
            output: [shape.into()],
            grad: Mutex::new(None),
            hooks: HookSlot::default(),
        }
    }

    /// What was accumulated. Hold it for a few instructions only.
    pub(crate) fn grad(&self) -> MutexGuard<'_, Option<Gradient<T>>> {
        // Nothing panics while the lock is held but a failed allocation; the old value is then whole.
        self.grad.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Element> AnyLeaf for Leaf<T> {
    fn accumulate(&self, grad: AnyGradient) {
        let mut slot = self.grad();
        let mut sum = slot.take().map(AnyGradient::erase);
        accumulate(&mut sum, grad);
        *slot = sum.and_then(AnyGradient::recover);
    }

    fn accumulated(&self) -> Option<AnyGradient> {
        let mut slot = self.grad();
        let grad = slot.as_mut()?.share();
        Some(AnyGradient::erase(Gradient::from_tensor(grad)))
    }

    fn restore(&self, former: Option<AnyGradient>) {
        let replaced = std::mem::replace(&mut *self.grad(), former.and_then(AnyGradient::recover));
        drop(replaced);
    }
}

impl<T: Element> TapeNode for Leaf<T> {
    fn name(&self) -> &'static str {
        "AccumulateGrad"
    }

    fn input_name(&self, _edge: usize) -> String {
        "variable".to_owned()
    }

    fn edges(&self) -> &[Option<Edge>] {
        &[]
    }

    fn edges_mut(&mut self) -> &mut [Option<Edge>] {
        &mut []
    }

    fn outputs(&self) -> &[PackedShape] {
        &self.output
    }

    fn backward(&self, call: BackwardCall<'_>) -> Result<(), Error> {
        if let Some(grad) = call.grads[0].take() {
            self.accumulate(grad);
        }
        Ok(())
    }

    fn free(&self) {}

    fn hook_slot(&self) -> Option<&HookSlot> {
        Some(&self.hooks)
    }

    fn as_leaf(&self) -> Option<&dyn AnyLeaf> {
        Some(self)
    }
}
