//! What is to be drawn, and how.

use std::collections::HashMap;

use ndarray::Dimension;

use super::nodes::{Nodes, Root};
use super::picture::Picture;
use super::{dot, html, svg};
use crate::erased::AnyTensor;
use crate::tape::Edge;
use crate::tensor::Tensor;
use autograd_kernels::Element;
use autograd_kernels::Shape;

/// The graph that led to one or several tensors, to be drawn.
///
/// It holds the tensors' histories, and reads them when it draws: a graph that a backward pass has freed
/// in between is drawn without what it had kept. However long a chain is, nothing here recurses along it.
///
/// ```
/// use autograd_core::ndarray::array;
/// use autograd_core::{Tensor, graph::Graph};
///
/// let w = Tensor::from(array![3.0, 4.0]).set_requires_grad(true);
/// let loss = (&w * &w).sum();
/// loss.backward()?;
/// let picture = Graph::of(&loss).name("weight", &w).name("loss", &loss).gradients(true).svg();
/// assert!(picture.contains("weight") && picture.contains("|grad| 10"));
/// # Ok::<(), autograd_core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is drawn before `svg`, `html` or `dot`"]
pub struct Graph {
    pub(super) roots: Vec<Root>,
    pub(super) names: Names,
    pub(super) gradients: bool,
    pub(super) fold: bool,
}

/// The names that were given, by the address of a node and the number of its output. The edges are held,
/// so no other node comes to have one of these addresses.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    by_place: HashMap<(usize, u32), String>,
    held: Vec<Edge>,
}

impl Names {
    fn insert(&mut self, name: String, edge: &Edge) {
        self.by_place.insert(place(edge), name);
        self.held.push(edge.clone());
    }

    pub(super) fn of(&self, edge: &Edge) -> Option<&str> {
        self.by_place.get(&place(edge)).map(String::as_str)
    }

    pub(super) fn at(&self, address: usize, output_nr: u32) -> Option<&str> {
        self.by_place.get(&(address, output_nr)).map(String::as_str)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_place.is_empty()
    }
}

fn place(edge: &Edge) -> (usize, u32) {
    (edge.node.0.address(), edge.output_nr)
}

/// What a graph consists of: see [`Graph::totals`].
///
/// ```
/// use autograd_core::{Tensor, graph::Graph};
/// use autograd_core::ndarray::array;
///
/// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
/// let y = x.exp(); // its two numbers are kept
/// let totals = Graph::of(&y).totals();
/// assert_eq!((totals.nodes, totals.leaves, totals.bytes, totals.freed), (1, 1, 16, 0));
/// y.backward_with(array![1.0, 1.0])?;
/// let totals = Graph::of(&y).totals();
/// assert_eq!((totals.nodes, totals.bytes, totals.freed), (1, 0, 1));
/// # Ok::<(), autograd_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// How many uses of functions were recorded.
    pub nodes: usize,
    /// How many leaves they lead to.
    pub leaves: usize,
    /// The bytes of memory that the nodes hold for their backward functions. Memory that several hold is
    /// counted once, and a view counts as the whole that it is a part of. Memory that a leaf's own value
    /// is in counts too, where a node keeps it.
    pub bytes: usize,
    /// How many nodes a backward pass has freed.
    pub freed: usize,
}

impl Graph {
    /// The graph that led to `root`. That of a constant is the constant alone.
    ///
    /// ```
    /// use autograd_core::{Tensor, graph::Graph};
    /// use autograd_core::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// assert_eq!(Graph::of(&x.exp().sum()).totals().nodes, 2);
    /// assert_eq!(Graph::of(&x.exp().detach()).totals().nodes, 0);
    /// ```
    pub fn of<T: Element, D: Dimension>(root: &Tensor<T, D>) -> Self {
        Self {
            roots: vec![Root::new(root.to_shape(), root.raw.edge.clone())],
            names: Names::default(),
            gradients: false,
            fold: true,
        }
    }

    /// The graph that led to several tensors, of either element type and any rank.
    ///
    /// ```
    /// use autograd_core::ndarray::array;
    /// use autograd_core::{AnyTensor, Tensor, graph::Graph};
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let roots: [AnyTensor; 2] = [x.exp().into(), x.sum().into()];
    /// assert_eq!(Graph::of_all(&roots).totals().nodes, 2);
    /// ```
    pub fn of_all(roots: &[AnyTensor]) -> Self {
        let root = |root: &AnyTensor| Root::new(Shape::from(root.shape()), root.edge().cloned());
        Self {
            roots: roots.iter().map(root).collect(),
            names: Names::default(),
            gradients: false,
            fold: true,
        }
    }

    /// Draws what led to `root` too.
    ///
    /// ```
    /// use autograd_core::ndarray::array;
    /// use autograd_core::{Tensor, graph::Graph};
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let (a, b) = (x.exp(), x.sum());
    /// assert_eq!(Graph::of(&a).and(&b).totals().nodes, 2);
    /// ```
    pub fn and<T: Element, D: Dimension>(mut self, root: &Tensor<T, D>) -> Self {
        let root = Root::new(root.to_shape(), root.raw.edge.clone());
        self.roots.push(root);
        self
    }

    /// Names a tensor of the graph: a leaf, an output, or one in between. Names of constants are not
    /// drawn, as constants are not. Of a name of more than 48 letters a drawing shows both ends, and all of
    /// it under the pointer.
    ///
    /// ```
    /// use autograd_core::{Tensor, graph::Graph};
    /// use autograd_core::ndarray::array;
    ///
    /// let w = Tensor::from(array![3.0]).set_requires_grad(true);
    /// let text = Graph::of(&w.exp()).name("weight", &w).dot();
    /// assert!(text.contains("weight"));
    /// ```
    pub fn name<T: Element, D: Dimension>(
        mut self,
        name: impl Into<String>,
        tensor: &Tensor<T, D>,
    ) -> Self {
        if let Some(edge) = &tensor.raw.edge {
            self.names.insert(name.into(), edge);
        }
        self
    }

    /// As [`name`](Self::name), of many tensors at once: a list of pairs, or, in the crate `pullback`, what a
    /// model answers, `model.named_parameters()`.
    ///
    /// ```
    /// use autograd_core::ndarray::array;
    /// use autograd_core::{Tensor, graph::Graph};
    ///
    /// let x = Tensor::from(array![1.0]).set_requires_grad(true);
    /// let w = Tensor::from(array![2.0]).set_requires_grad(true);
    /// let product = &x * &w;
    /// assert!(Graph::of(&product).names([("x", x), ("w", w)]).dot().contains("\"w\\n"));
    /// ```
    pub fn names<N: Into<String>, T: Into<AnyTensor>>(
        mut self,
        names: impl IntoIterator<Item = (N, T)>,
    ) -> Self {
        for (name, tensor) in names {
            if let Some(edge) = tensor.into().edge() {
                self.names.insert(name.into(), edge);
            }
        }
        self
    }

    /// Whether leaves are drawn with the Euclidean norm of the gradient that they have accumulated. Off
    /// by default.
    ///
    /// ```
    /// use autograd_core::{Tensor, graph::Graph};
    /// use autograd_core::ndarray::array;
    ///
    /// let w = Tensor::from(array![1.5, 2.0]).set_requires_grad(true);
    /// let loss = (&w * &w).sum();
    /// loss.backward()?;
    /// assert!(Graph::of(&loss).gradients(true).svg().contains("|grad| 5"));
    /// # Ok::<(), autograd_core::Error>(())
    /// ```
    pub fn gradients(self, gradients: bool) -> Self {
        Self { gradients, ..self }
    }

    /// Whether what is repeated is drawn once, with how often it occurs; on by default. Repeated is a node
    /// or a block of nodes that follows on itself: the same functions, applied at the same lines to tensors
    /// of the same shapes, joined in the same way, three times at least (blocks of six and more nodes:
    /// twice). A block may have such repetitions in it.
    ///
    /// A graph of more than 2,000 boxes is drawn without those in its middle, folded or not.
    ///
    /// ```
    /// use autograd_core::ndarray::array;
    /// use autograd_core::{Tensor, graph::Graph};
    ///
    /// let mut y = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// for _ in 0..10 {
    ///     y = y.relu();
    /// }
    /// let drawn = |fold| Graph::of(&y).fold(fold).dot().matches("Relu").count();
    /// assert_eq!((drawn(true), drawn(false)), (1, 10));
    /// ```
    pub fn fold(self, fold: bool) -> Self {
        Self { fold, ..self }
    }

    /// How many nodes there are, and what they keep.
    ///
    /// ```
    /// use autograd_core::ndarray::array;
    /// use autograd_core::{Tensor, graph::Graph};
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let y = x.exp();
    /// let graph = Graph::of(&y).and(&(&y * &y));
    /// // Both nodes keep `y`: its two numbers are there once.
    /// assert_eq!((graph.totals().nodes, graph.totals().bytes), (2, 16));
    /// ```
    pub fn totals(&self) -> Totals {
        Nodes::behind(&self.roots).totals()
    }

    /// The graph in the language of Graphviz, for `dot -Tpdf` and its kin. What is repeated is a
    /// cluster.
    ///
    /// ```
    /// use autograd_core::ndarray::array;
    /// use autograd_core::{Tensor, graph::Graph};
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let text = Graph::of(&x.exp()).name("x", &x).dot();
    /// assert!(text.contains("shape=ellipse") && text.contains("Exp"));
    /// ```
    pub fn dot(&self) -> String {
        dot::write(&Picture::of(self))
    }

    /// The graph drawn: an SVG image that stands alone, legible on a light and on a dark background as
    /// the viewer's settings ask for it. Functions are boxes, leaves are round, outputs have cut corners;
    /// what is repeated has a frame.
    ///
    /// ```
    /// use autograd_core::ndarray::array;
    /// use autograd_core::{Tensor, graph::Graph};
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let picture = Graph::of(&x.exp()).svg();
    /// assert!(picture.ends_with("</svg>\n"));
    /// ```
    pub fn svg(&self) -> String {
        svg::write(&Picture::of(self))
    }

    /// The drawing on a page of its own, which needs no network: what a node keeps is shown under the
    /// pointer, or for the box that Tab or the arrow keys led to, with the edges that lead to it and away
    /// from it. The drawing is zoomed with buttons, with `+`, `-`, `0` and `f`, or with Ctrl and the wheel,
    /// and moved with the mouse; it prints on a page's width.
    ///
    /// ```
    /// use autograd_core::ndarray::array;
    /// use autograd_core::{Tensor, graph::Graph};
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let path = std::env::temp_dir().join(format!("graph-{}.html", std::process::id()));
    /// std::fs::write(&path, Graph::of(&x.exp()).html())?; // to be opened in a browser
    /// assert!(std::fs::read_to_string(&path)?.starts_with("<!DOCTYPE html>"));
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn html(&self) -> String {
        html::write(&Picture::of(self))
    }
}
