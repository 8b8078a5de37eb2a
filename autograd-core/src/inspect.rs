//! What a graph consists of and what its passes do, for tools that draw or measure it.
//!
//! Start with the edge of a result, [`Tensor::gradient_edge`], or its node, [`Tensor::grad_fn`]. A [`Node`] is
//! one use of a function; [`Node::edges`] lead to the nodes of its inputs, down to leaves. [`trace`] records
//! which nodes backward passes ran, and when.
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
    /// input that requires no gradient. A list has one for each of its tensors.
    pub fn edges(&self) -> &[Option<Edge>] {
        self.0.edges()
    }

    /// Returns the name that errors and drawings give to what an edge leads to: the input's name, in a list
    /// with its place.
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

    /// Returns the gradient that has been accumulated for a leaf; `None` before the first, and for other nodes.
    pub fn accumulated_grad(&self) -> Option<AnyTensor> {
        let grad = self.0.accumulated()?.get()?;
        Some(AnyTensor::from_grad(grad))
    }

    /// Returns what the node saved for its backward, in the order of the function's
    /// [`saved`](crate::Signature::saved): only what some input's gradient needs. `None` once a backward
    /// pass has freed it. Nodes of leaves save nothing.
    pub fn saved(&self) -> Option<Vec<SavedInfo>> {
        let mut all = Vec::new();
        let is_live = self.0.saved(&mut |saved, name, place| {
            let name = match place {
                Some(place) => format!("{name}[{place}]"),
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

    /// Returns which of the node's outputs the gradient is of.
    pub fn output_nr(&self) -> usize {
        self.output_nr as usize
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns where a gradient of this tensor goes: the node that made it, or the leaf's own; `None` for a
    /// constant.
    pub fn gradient_edge(&self) -> Option<&Edge> {
        self.raw.edge.as_ref()
    }
}

impl AnyTensor {
    /// Returns where a gradient of this tensor goes: see [`Tensor::gradient_edge`].
    pub fn gradient_edge(&self) -> Option<&Edge> {
        self.edge()
    }
}
