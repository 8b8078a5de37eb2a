//! Pictures of graphs, and traces of backward passes.
//!
//! [`svg`] draws what led to a tensor, [`html`] puts the drawing on a page with more to read under the
//! pointer, [`dot`] writes it for Graphviz. None of them needs anything but this crate. [`Graph`] has
//! their options: names of leaves, several outputs, gradients. [`trace`] says what each node of a
//! backward pass did when, for a viewer of traces or as a table.
//!
//! A drawing shows, for each node: the function's name, the shapes of its outputs, the line that applied
//! it, what it keeps for its backward and how much memory that takes. Data flows down; gradients flow up.
//! What is repeated, such as the layers of a network that a loop applies, is drawn once, with how often it
//! occurs: see [`Graph::fold`].
//!
//! Read [`Graph`] first, then [`Trace`].
//!
//! ```
//! use autograd_core::ndarray::array;
//! use autograd_core::Tensor;
//! use autograd_graph as graph;
//!
//! let x = Tensor::from(array![[1.0, 2.0]]);
//! let w = Tensor::from(array![[0.5], [0.25]]).set_requires_grad(true);
//! let loss = x.matmul(&w).tanh().sum();
//! let picture = graph::svg(&loss);
//! assert!(picture.starts_with("<svg") && picture.contains("Tanh"));
//! ```

#[cfg(feature = "catalogue")]
pub mod catalogue;
mod dot;
mod draw;
mod fold;
mod functions;
mod html;
mod layout;
mod leaves;
mod markup;
mod nodes;
mod options;
mod picture;
mod roots;
mod runs;
mod style;
mod svg;
mod table;
mod text;
mod trace;

pub use nodes::Totals;
pub use options::Graph;
pub use table::{TraceRow, TraceTable};
pub use trace::{Trace, trace};

use autograd_core::ndarray::Dimension;
use autograd_core::{Element, Tensor};

/// The graph that led to `root`, in the language of Graphviz: what [`Graph::dot`] writes without options.
///
/// ```
/// use autograd_core::ndarray::array;
/// use autograd_core::Tensor;
/// use autograd_graph as graph;
///
/// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
/// assert!(graph::dot(&x.exp().sum()).starts_with("digraph"));
/// ```
pub fn dot<T: Element, D: Dimension>(root: &Tensor<T, D>) -> String {
    Graph::of(root).dot()
}

/// The graph that led to `root`, drawn: what [`Graph::svg`] draws without options.
///
/// ```
/// use autograd_core::ndarray::array;
/// use autograd_core::Tensor;
/// use autograd_graph as graph;
///
/// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
/// let mut y = x.clone();
/// for _ in 0..1000 {
///     y = y.relu();
/// }
/// assert!(graph::svg(&y).contains("× 1,000"));
/// ```
pub fn svg<T: Element, D: Dimension>(root: &Tensor<T, D>) -> String {
    Graph::of(root).svg()
}

/// The graph that led to `root`, as a page: what [`Graph::html`] writes without options.
///
/// ```
/// use autograd_core::ndarray::array;
/// use autograd_core::Tensor;
/// use autograd_graph as graph;
///
/// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
/// assert!(graph::html(&x.exp().sum()).starts_with("<!DOCTYPE html>"));
/// ```
pub fn html<T: Element, D: Dimension>(root: &Tensor<T, D>) -> String {
    Graph::of(root).html()
}
