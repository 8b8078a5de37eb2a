//! The node of a leaf, which accumulates its gradient.

use std::sync::Arc;

use crate::array::PackedShape;
use crate::error::Error;
use crate::tape::{Accumulated, BackwardCall, Edge, HookSlot, TapeNode};
use autograd_kernels::Shape;

/// Accumulates the gradient of one leaf. All clones of the leaf share it.
pub(crate) struct Leaf {
    output: [PackedShape; 1],
    grad: Arc<Accumulated>,
    hooks: HookSlot,
}

impl Leaf {
    pub(crate) fn new(shape: &Shape) -> Self {
        Self {
            output: [shape.into()],
            grad: Arc::default(),
            hooks: HookSlot::default(),
        }
    }
}

impl TapeNode for Leaf {
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
            self.grad.accumulate(grad);
        }
        Ok(())
    }

    fn free(&self) {}

    fn hook_slot(&self) -> Option<&HookSlot> {
        Some(&self.hooks)
    }

    fn accumulated(&self) -> Option<&Arc<Accumulated>> {
        Some(&self.grad)
    }
}
