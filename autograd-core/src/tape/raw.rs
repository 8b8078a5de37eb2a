//! Tensors without a rank in their type, for tape and engine.

use std::sync::Arc;

use crate::array::Buffer;
use crate::tape::{DualTensor, Edge};
use autograd_kernels::Element;

/// A tensor without a rank in its type.
#[derive(Debug)]
#[doc(hidden)]
pub struct RawTensor<T> {
    pub(crate) buffer: Buffer<T>,
    /// The edge to the node that computed the tensor, or to the leaf's own node; `None` for a constant.
    pub(crate) edge: Option<Edge>,
    /// The tangents of forward mode.
    pub(crate) dual: Option<Arc<DualTensor<T>>>,
}

impl<T: Element> RawTensor<T> {
    pub(crate) fn new(buffer: Buffer<T>, edge: Option<Edge>) -> Self {
        Self {
            buffer,
            edge,
            dual: None,
        }
    }

    /// Returns whether the tensor has neither a history nor a tangent.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.edge.is_none() && self.dual.is_none()
    }

    /// Replaces the history, in forward mode that of the primals too.
    #[inline]
    pub(crate) fn with_edge(mut self, edge: Option<Edge>) -> Self {
        if let Some(dual) = &self.dual {
            self.dual = Some(dual.with_edge(edge.as_ref()));
        }
        self.edge = edge;
        self
    }
}

impl<T> Clone for RawTensor<T> {
    fn clone(&self) -> Self {
        Self {
            buffer: self.buffer.clone(),
            edge: self.edge.clone(),
            dual: self.dual.clone(),
        }
    }
}
