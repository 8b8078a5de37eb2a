//! Inputs that forward writes to.
//!
//! Storage is copied on write: memory that a node or another tensor holds is never overwritten, so saved tensors keep
//! their values. A buffer that only this tensor holds is written to directly.

use std::fmt;

use ndarray::{Array, ArrayViewMut, Dimension};

use crate::array::Buffer;
use crate::tape::Edge;
use crate::tensor::Tensor;
use autograd_kernels::{Element, Shape};

/// A tensor that forward borrows to write to, until [`finish`](Self::finish).
///
/// If forward returns an error, the tensor is unchanged. If forward panics, the tensor is unchanged too, except if only
/// this tensor holds the memory: it may then be partly written, and all elements become NaN.
pub struct InPlace<'a, T: Element, D: Dimension> {
    tensor: &'a mut Tensor<T, D>,
    /// The copy to write to, if the tensor's memory is shared or may be needed again.
    copy: Option<Array<T, D>>,
    /// Whether forward may have begun to write.
    is_lent: bool,
}

impl<'a, T: Element, D: Dimension> InPlace<'a, T, D> {
    /// Borrows an input for writing; with `may_fail`, the write can be undone.
    ///
    /// # Panics
    /// If the tensor is a leaf that requires grad, and recording is enabled: its gradient would be
    /// that of its former value.
    #[track_caller]
    pub fn new(
        tensor: &'a mut Tensor<T, D>,
        function: &'static str,
        input: &'static str,
        may_fail: bool,
    ) -> Self {
        let is_leaf = |edge: &Edge| edge.node.header().is_leaf();
        assert!(
            !tensor.recorded_edge().as_ref().is_some_and(is_leaf),
            "`{function}` writes to `{input}`, a leaf that requires grad: apply it inside `no_grad`, or to a \
             result of the leaf"
        );
        Self::borrow(tensor, may_fail)
    }

    /// Borrows an input without a gradient for writing, like [`new`](Self::new); the new value has no history.
    ///
    /// # Panics
    /// If the tensor requires grad, and recording is enabled.
    #[track_caller]
    pub fn exempt(
        tensor: &'a mut Tensor<T, D>,
        function: &'static str,
        input: &'static str,
        may_fail: bool,
    ) -> Self {
        assert!(
            tensor.recorded_edge().is_none(),
            "`{function}` writes to `{input}` without a gradient, but the tensor requires grad: apply it inside \
             `no_grad`, or to a detached tensor"
        );
        Self::borrow(tensor, may_fail)
    }

    fn borrow(tensor: &'a mut Tensor<T, D>, may_fail: bool) -> Self {
        let is_own = own_view_mut(tensor).is_some();
        let copy = (may_fail || !is_own).then(|| tensor.to_array());
        Self {
            tensor,
            copy,
            is_lent: false,
        }
    }

    /// Returns the view for forward.
    #[expect(clippy::missing_panics_doc, reason = "it never does")]
    pub fn view(&mut self) -> ArrayViewMut<'_, T, D> {
        self.is_lent = true;
        match &mut self.copy {
            Some(copy) => copy.view_mut(),
            // INVARIANT: without a copy, only this tensor holds its memory, and `self` borrows it exclusively.
            None => own_view_mut(self.tensor).expect("memory of the tensor's own"),
        }
    }

    /// Returns the shape, for a message.
    pub fn shapes(&self) -> Vec<Shape> {
        vec![self.tensor.to_shape()]
    }

    /// Sets the tensor's value to the written one. Its history is unchanged.
    pub fn finish(mut self) {
        self.is_lent = false;
        if let Some(copy) = self.copy.take() {
            self.tensor.raw.buffer = Buffer::compact(copy);
        }
    }
}

impl<T: Element, D: Dimension> Drop for InPlace<'_, T, D> {
    // The history is that of the former value, which is lost.
    fn drop(&mut self) {
        if !self.is_lent || self.copy.is_some() {
            return;
        }
        if let Some(mut written) = own_view_mut(self.tensor) {
            written.fill(T::nan());
        }
    }
}

fn own_view_mut<T: Element, D: Dimension>(
    tensor: &mut Tensor<T, D>,
) -> Option<ArrayViewMut<'_, T, D>> {
    tensor.raw.buffer.own_view_mut()
}

impl<T: Element, D: Dimension> fmt::Debug for InPlace<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InPlace")
            .field("tensor", self.tensor)
            .finish_non_exhaustive()
    }
}
