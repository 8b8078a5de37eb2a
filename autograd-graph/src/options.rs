//! What is to be drawn, and how.

use std::collections::HashMap;

use autograd_core::ndarray::Dimension;

use crate::nodes::{Nodes, Root, Totals};
use autograd_core::inspect::Edge;
use autograd_core::{AnyTensor, Element, Node, Tensor};

/// The graph that led to one or several tensors, to be drawn.
///
/// It holds the tensors' histories, and reads them when it draws: a graph that a backward pass has freed
/// in between is drawn without what it had kept. However long a chain is, nothing here recurses along it.
///
/// ```
/// use autograd_core::ndarray::array;
/// use autograd_core::Tensor;
/// use autograd_graph::Graph;
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
    pub(crate) roots: Vec<Root>,
    pub(crate) names: Names,
    pub(crate) gradients: bool,
    pub(crate) fold: bool,
}

/// The names that were given.
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
    /// The graph that led to `root`. That of a constant is the constant alone.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_graph::Graph;
    /// use autograd_core::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// assert_eq!(Graph::of(&x.exp().sum()).totals().nodes, 2);
    /// assert_eq!(Graph::of(&x.exp().detach()).totals().nodes, 0);
    /// ```
    pub fn of<T: Element, D: Dimension>(root: &Tensor<T, D>) -> Self {
        Self {
            roots: vec![Root::new(root.shape(), root.gradient_edge())],
            names: Names::default(),
            gradients: false,
            fold: true,
        }
    }

    /// The graph that led to several tensors, of either element type and any rank.
    ///
    /// ```
    /// use autograd_core::ndarray::array;
    /// use autograd_core::{AnyTensor, Tensor};
    /// use autograd_graph::Graph;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let roots: [AnyTensor; 2] = [x.exp().into(), x.sum().into()];
    /// assert_eq!(Graph::of_all(&roots).totals().nodes, 2);
    /// ```
    pub fn of_all(roots: &[AnyTensor]) -> Self {
        let root = |root: &AnyTensor| Root::new(root.shape(), root.gradient_edge());
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
    /// use autograd_core::Tensor;
    /// use autograd_graph::Graph;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let (a, b) = (x.exp(), x.sum());
    /// assert_eq!(Graph::of(&a).and(&b).totals().nodes, 2);
    /// ```
    pub fn and<T: Element, D: Dimension>(mut self, root: &Tensor<T, D>) -> Self {
        let root = Root::new(root.shape(), root.gradient_edge());
        self.roots.push(root);
        self
    }

    /// Names a tensor of the graph: a leaf, an output, or one in between. Names of constants are not
    /// drawn, as constants are not. Of a name of more than 48 letters a drawing shows both ends, and all of
    /// it under the pointer.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_graph::Graph;
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
        if let Some(edge) = tensor.gradient_edge() {
            self.names.insert(edge, name.into());
        }
        self
    }

    /// As [`name`](Self::name), of many tensors at once: a list of pairs, or, in the crate `pullback`, what a
    /// model answers, `model.named_parameters()`.
    ///
    /// ```
    /// use autograd_core::ndarray::array;
    /// use autograd_core::Tensor;
    /// use autograd_graph::Graph;
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
            if let Some(edge) = tensor.into().gradient_edge() {
                self.names.insert(edge, name.into());
            }
        }
        self
    }

    /// Whether leaves are drawn with the Euclidean norm of the gradient that they have accumulated. Off
    /// by default.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_graph::Graph;
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
    /// use autograd_core::Tensor;
    /// use autograd_graph::Graph;
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
    /// use autograd_core::Tensor;
    /// use autograd_graph::Graph;
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
}
