//! Pictures of graphs, and traces of backward passes.
//!
//! [`svg`] draws the graph of a tensor, [`html`] writes a page with the drawing and the details of each node, and
//! [`dot`] writes the graph for Graphviz, which the other two do not need. [`Graph`] has the options: names, several
//! outputs, gradients. [`trace`] records when each node of a backward pass ran, as a table or for a viewer of traces.
//!
//! A drawing shows, for each node: the function's name, the shapes of its outputs, the line that applied it, the values
//! that it saved for backward and their memory. Data flows down; gradients flow up. A repeated block, such as a layer
//! that a loop applies, is drawn once, with the number of repetitions: see [`Graph::fold`].
//!
//! Read [`Graph`] first, then [`Trace`].
//!
//! ```
//! use pullback::ndarray::array;
//! use pullback::{Tensor, graph};
//!
//! let x = Tensor::from(array![[1.0, 2.0]]);
//! let w = Tensor::from(array![[0.5], [0.25]]).set_requires_grad(true);
//! let loss = x.matmul(&w).tanh().sum();
//! let picture = graph::svg(&loss);
//! assert!(picture.starts_with("<svg") && picture.contains("Tanh"));
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "catalogue")]
pub mod catalogue;
mod dot;
mod draw;
mod fold;
mod functions;
mod html;
mod layout;
mod leaves;
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

/// Writes the graph of `root` for Graphviz: [`Graph::dot`] without options.
pub fn dot<T: Element, D: Dimension>(root: &Tensor<T, D>) -> String {
    Graph::of(root).dot()
}

/// Draws the graph of `root` as an SVG image: [`Graph::svg`] without options.
pub fn svg<T: Element, D: Dimension>(root: &Tensor<T, D>) -> String {
    Graph::of(root).svg()
}

/// Writes a page with the graph of `root`: [`Graph::html`] without options.
pub fn html<T: Element, D: Dimension>(root: &Tensor<T, D>) -> String {
    Graph::of(root).html()
}
