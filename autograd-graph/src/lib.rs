//! Pictures of graphs, and traces of backward passes.
//!
//! [`svg`] draws the graph of a tensor, [`html`] puts the drawing on a page with details under the pointer, and
//! [`dot`] writes it for Graphviz. They need only this crate. [`Graph`] has their options: names of leaves,
//! several outputs, gradients. [`trace`] records when each node of a backward pass ran, for a viewer of traces or
//! as a table.
//!
//! A drawing shows, for each node: the function's name, the shapes of its outputs, the line that applied
//! it, the values that it saved for its backward and how much memory they take. Data flows down; gradients flow up.
//! Repeated blocks, such as the layers of a network that a loop applies, are drawn once, with the number of
//! repetitions: see [`Graph::fold`].
//!
//! Read [`Graph`] first, then [`Trace`].
//!
//! ```
//! use pullback::ndarray::array;
//! use pullback::Tensor;
//! use pullback::graph as graph;
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

/// Writes the graph of `root` in the language of Graphviz, as [`Graph::dot`] does without options.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::Tensor;
/// use pullback::graph as graph;
///
/// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
/// assert!(graph::dot(&x.exp().sum()).starts_with("digraph"));
/// ```
pub fn dot<T: Element, D: Dimension>(root: &Tensor<T, D>) -> String {
    Graph::of(root).dot()
}

/// Draws the graph of `root`, as [`Graph::svg`] does without options.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::Tensor;
/// use pullback::graph as graph;
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

/// Writes the graph of `root` as a page, as [`Graph::html`] does without options.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::Tensor;
/// use pullback::graph as graph;
///
/// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
/// assert!(graph::html(&x.exp().sum()).starts_with("<!DOCTYPE html>"));
/// ```
pub fn html<T: Element, D: Dimension>(root: &Tensor<T, D>) -> String {
    Graph::of(root).html()
}
