//! An input that forward writes to.
//!
//! Storage is copied on write: what a node has saved, or another tensor shows, is never overwritten, so
//! a saved tensor cannot go stale. A buffer that only this tensor holds is written to directly.

use std::fmt;

use ndarray::{Array, ArrayViewMut, Dimension};

use crate::array::Buffer;
use crate::tape::Edge;
use crate::tensor::Tensor;
use autograd_kernels::Element;

/// A tensor that forward borrows to write to, until [`finish`](Self::finish).
///
/// If forward fails, or panics while others hold the memory too, the tensor is as it was before. After a
/// panic in memory of its own it holds what was written until then.
pub struct InPlace<'a, T, D> {
    tensor: &'a mut Tensor<T, D>,
    /// What is written to, if not the tensor's own memory.
    copy: Option<Array<T, D>>,
}

impl<'a, T: Element, D: Dimension> InPlace<'a, T, D> {
    /// Lends the input of this name. `may_fail`: whatever is written may have to be forgotten.
    ///
    /// # Panics
    /// If the tensor is a leaf that requires grad, and recording is enabled: its gradient would be that
    /// of a value which it no longer has.
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
        Self::lend(tensor, may_fail)
    }

    /// As [`new`](Self::new), for an input without a gradient: what is written has no history.
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
        Self::lend(tensor, may_fail)
    }

    fn lend(tensor: &'a mut Tensor<T, D>, may_fail: bool) -> Self {
        let is_own = own_view_mut(tensor).is_some();
        let copy = (may_fail || !is_own).then(|| tensor.to_array());
        Self { tensor, copy }
    }

    /// Returns what forward gets.
    #[expect(clippy::missing_panics_doc, reason = "it never does")]
    pub fn view(&mut self) -> ArrayViewMut<'_, T, D> {
        match &mut self.copy {
            Some(copy) => copy.view_mut(),
            // INVARIANT: without a copy the tensor's memory was found to be its own, and `self` has held it
            // exclusively since.
            None => own_view_mut(self.tensor).expect("memory of the tensor's own"),
        }
    }

    /// Lets the tensor have what was written. Its history is not touched.
    pub fn finish(self) {
        if let Some(copy) = self.copy {
            self.tensor.raw.buffer = Buffer::compact(copy);
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
