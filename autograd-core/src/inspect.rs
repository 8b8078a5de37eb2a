//! The nodes and edges of a graph, and traces of its passes, for tools that draw or measure it.
//!
//! Start with the edge of a result, [`Tensor::gradient_edge`], or its node, [`Tensor::grad_fn`]. A [`Node`] is
//! one use of a function; [`Node::edges`] lead to the nodes of its inputs, down to leaves. [`trace`] records
//! which nodes backward passes run, and when.
//!
//! ```
//! use pullback::ndarray::array;
//! use pullback::{Node, Tensor};
//!
//! fn depth(node: &Node) -> usize {
//!     let below = node.edges().iter().flatten().map(|edge| depth(edge.node()));
//!     1 + below.max().unwrap_or(0)
//! }
//!
//! let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
//! let y = (x.exp() * 2.0).sum();
//! assert_eq!(depth(&y.grad_fn().unwrap()), 4); // Sum, MulScalar, Exp and the leaf
//! ```

pub use crate::engine::{TraceEvent, trace};
pub use crate::tape::{Edge, SavedInfo};

use ndarray::Dimension;

use crate::array::PackedShape;
use crate::erased::AnyTensor;
use crate::tape::Node;
use crate::tensor::Tensor;
use autograd_kernels::{Element, Shape};

impl Node {
    /// Returns the edges to the nodes of the function's differentiable inputs, in their order; `None` for an
    /// input that requires no gradient. A list has an edge for each of its tensors.
    pub fn edges(&self) -> &[Option<Edge>] {
        self.0.edges()
    }

    /// Returns the name of the input at an edge, for errors and drawings; in a list with an index: `parts[2]`.
    ///
    /// # Panics
    /// If the node has no such edge.
    #[track_caller]
    pub fn input_name(&self, edge: usize) -> String {
        let edges = self.edges().len();
        assert!(edge < edges, "edge {edge} of a node that has {edges}");
        self.0.input_name(edge)
    }

    /// Returns the shapes of the function's differentiable outputs.
    pub fn output_shapes(&self) -> Vec<Shape> {
        self.0.outputs().iter().map(PackedShape::unpack).collect()
    }

    /// Returns whether the node accumulates the gradient of a leaf.
    pub fn is_leaf(&self) -> bool {
        self.header().is_leaf()
    }

    /// Returns the accumulated gradient of a leaf; `None` before the first pass, and for other nodes.
    pub fn accumulated_grad(&self) -> Option<AnyTensor> {
        let grad = self.0.accumulated()?.get()?;
        Some(AnyTensor::from_grad(grad))
    }

    /// Returns descriptions of the node's saved values, in the order of [`saved`](crate::Signature::saved) and without
    /// those that no gradient needs; `None` after a backward pass has freed them. Nodes of leaves save nothing.
    pub fn saved(&self) -> Option<Vec<SavedInfo>> {
        let mut all = Vec::new();
        let is_live = self.0.saved(&mut |saved, name, index| {
            let name = match index {
                Some(index) => format!("{name}[{index}]"),
                None => name.to_owned(),
            };
            all.push(SavedInfo { name, ..saved });
        });
        is_live.then_some(all)
    }
}

impl Edge {
    /// Returns the node.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Returns the number of the node's output.
    pub fn output_nr(&self) -> usize {
        self.output_nr as usize
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns the edge to the node that computed the tensor, or to the leaf's own node; `None` for a constant.
    pub fn gradient_edge(&self) -> Option<&Edge> {
        self.raw.edge.as_ref()
    }
}

impl AnyTensor {
    /// Returns the edge of the tensor: see [`Tensor::gradient_edge`].
    pub fn gradient_edge(&self) -> Option<&Edge> {
        self.edge()
    }
}
