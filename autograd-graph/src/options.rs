//! The options of a drawing.

use std::collections::HashMap;

use autograd_core::ndarray::Dimension;

use crate::nodes::{Nodes, Root, Totals};
use autograd_core::inspect::Edge;
use autograd_core::{AnyTensor, Element, Node, Tensor};

/// A drawing of the graph of one or several tensors.
///
/// A `Graph` keeps the nodes alive, and reads them when it draws: a graph that a backward pass has freed in between is
/// drawn without its saved values. Chains of any length can be drawn: drawing does not recurse.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::Tensor;
/// use pullback::graph::Graph;
///
/// let w = Tensor::from(array![3.0, 4.0]).set_requires_grad(true);
/// let loss = (&w * &w).sum();
/// loss.backward()?;
/// let picture = Graph::of(&loss).name("weight", &w).name("loss", &loss).gradients(true).svg();
/// assert!(picture.contains("weight") && picture.contains("|grad| 10"));
///
/// // A second output, and names for many tensors at once.
/// let mut y = w.clone();
/// for _ in 0..10 {
///     y = y.relu();
/// }
/// let graph = Graph::of(&loss).and(&y).names([("weight", w), ("y", y.clone())]);
/// assert_eq!(graph.totals().nodes, 12);
/// assert_eq!(graph.dot().matches("Relu").count(), 1);
/// assert_eq!(graph.fold(false).dot().matches("Relu").count(), 10);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is drawn before `svg`, `html` or `dot`"]
pub struct Graph {
    pub(crate) roots: Vec<Root>,
    pub(crate) names: Names,
    pub(crate) gradients: bool,
    pub(crate) fold: bool,
}

/// The names of tensors, by node and output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(HashMap<(Node, usize), String>);

impl Names {
    fn insert(&mut self, edge: &Edge, name: String) {
        self.0.insert((edge.node().clone(), edge.output_nr()), name);
    }

    pub(crate) fn of(&self, node: &Node, output_nr: usize) -> Option<&str> {
        self.0.get(&(node.clone(), output_nr)).map(String::as_str)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Graph {
    /// Returns the graph of `root`. The graph of a constant has no nodes.
    pub fn of<T: Element, D: Dimension>(root: &Tensor<T, D>) -> Self {
        Self::of_all(&[]).and(root)
    }

    /// Returns the graph of several tensors, of either element type and any rank.
    pub fn of_all(roots: &[AnyTensor]) -> Self {
        let root = |root: &AnyTensor| Root::new(root.shape(), root.gradient_edge());
        Self {
            roots: roots.iter().map(root).collect(),
            names: Names::default(),
            gradients: false,
            fold: true,
        }
    }

    /// Adds the graph of `root`.
    pub fn and<T: Element, D: Dimension>(mut self, root: &Tensor<T, D>) -> Self {
        let root = Root::new(root.shape(), root.gradient_edge());
        self.roots.push(root);
        self
    }

    /// Names a tensor of the graph: a leaf, an output, or an intermediate tensor. Constants and their names are not
    /// drawn. A name of more than 48 letters is shortened in its middle, and shown whole under the pointer.
    pub fn name<T: Element, D: Dimension>(
        mut self,
        name: impl Into<String>,
        tensor: &Tensor<T, D>,
    ) -> Self {
        if let Some(edge) = tensor.gradient_edge() {
            self.names.insert(edge, name.into());
        }
        self
    }

    /// Names many tensors at once, given as pairs: see [`name`](Self::name). `model.named_parameters()` is such a list.
    pub fn names<N: Into<String>, T: Into<AnyTensor>>(
        mut self,
        names: impl IntoIterator<Item = (N, T)>,
    ) -> Self {
        for (name, tensor) in names {
            if let Some(edge) = tensor.into().gradient_edge() {
                self.names.insert(edge, name.into());
            }
        }
        self
    }

    /// Sets whether leaves are drawn with the Euclidean norm of their accumulated gradient. The default is `false`.
    pub fn gradients(self, gradients: bool) -> Self {
        Self { gradients, ..self }
    }

    /// Sets whether adjacent repetitions of a node or of a block of nodes are drawn once, with their number. The
    /// default is `true`. A repetition has the same functions, applied at the same lines to tensors of the same shapes
    /// and connected in the same way, at least three times (at least twice for blocks of six or more nodes). A block
    /// may contain repetitions.
    ///
    /// In either case, a graph of more than 2,000 boxes is drawn without those in its middle.
    pub fn fold(self, fold: bool) -> Self {
        Self { fold, ..self }
    }

    /// Returns the number of nodes, and the memory of their saved values.
    pub fn totals(&self) -> Totals {
        Nodes::behind(&self.roots).totals()
    }
}
