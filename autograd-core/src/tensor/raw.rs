//! Tensors as tape and engine know them.

use std::sync::Arc;

use crate::array::Buffer;
use crate::element::Element;
use crate::tape::Edge;

/// A tensor without its rank, as tape and engine know it.
#[derive(Debug)]
#[doc(hidden)]
pub struct RawTensor<T> {
    pub(crate) buffer: Arc<Buffer<T>>,
    /// The node that made it; a leaf's own node; `None` for a constant.
    pub(crate) edge: Option<Edge>,
}

impl<T: Element> RawTensor<T> {
    pub(crate) fn with_edge(self, edge: Option<Edge>) -> Self {
        Self {
            buffer: self.buffer,
            edge,
        }
    }
}

impl<T> Clone for RawTensor<T> {
    fn clone(&self) -> Self {
        Self {
            buffer: Arc::clone(&self.buffer),
            edge: self.edge.clone(),
        }
    }
}
