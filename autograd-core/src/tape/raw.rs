//! Tensors as tape and engine know them.

use std::sync::Arc;

use crate::array::Buffer;
use crate::tape::{DualTensor, Edge};
use autograd_kernels::Element;

/// A tensor without its rank, as tape and engine know it.
#[derive(Debug)]
#[doc(hidden)]
pub struct RawTensor<T> {
    pub(crate) buffer: Buffer<T>,
    /// The node that made it; a leaf's own node; `None` for a constant.
    pub(crate) edge: Option<Edge>,
    /// What forward mode knows of it.
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

    /// Whether it is a value alone, without a history or a tangent.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.edge.is_none() && self.dual.is_none()
    }

    /// The same tensor with another history, in forward mode that of the tensors beneath too.
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
