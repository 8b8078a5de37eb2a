//! The nodes of the graph of some tensors, in order.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use autograd_core::inspect::Edge;
use autograd_core::{Node, Shape};

/// The size of a graph: see [`crate::Graph::totals`].
///
/// ```
/// use pullback::Tensor;
/// use pullback::graph::Graph;
/// use pullback::ndarray::array;
///
/// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
/// let y = x.exp(); // its two numbers are saved
/// let totals = Graph::of(&y).totals();
/// assert_eq!((totals.nodes, totals.leaves, totals.bytes, totals.freed), (1, 1, 16, 0));
/// y.backward_with(array![1.0, 1.0])?;
/// let totals = Graph::of(&y).totals();
/// assert_eq!((totals.nodes, totals.bytes, totals.freed), (1, 0, 1));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The number of recorded uses of functions.
    pub nodes: usize,
    /// The number of leaves.
    pub leaves: usize,
    /// The bytes of memory of the values that nodes saved for their backward functions. Memory that several nodes
    /// share is counted once, and a view counts as the whole array. The memory of a leaf's value counts too, if a
    /// node saved it.
    pub bytes: usize,
    /// The number of nodes that a backward pass has freed.
    pub freed: usize,
}

/// A tensor whose graph is drawn.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    pub(crate) shape: Shape,
    /// `None` for a constant.
    pub(crate) edge: Option<Edge>,
}

impl Root {
    pub(crate) fn new(shape: &[usize], edge: Option<&Edge>) -> Self {
        Self {
            shape: shape.into(),
            edge: edge.cloned(),
        }
    }
}

/// The target of an edge of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// The index of the edge in its node.
    pub(crate) input: u32,
    pub(crate) to: u32,
    pub(crate) output_nr: u32,
}

/// All nodes of the graph of some roots: those of functions by falling sequence number, so that each is before
/// those that it leads to; then those of leaves.
pub(crate) struct Nodes<'g> {
    pub(crate) all: Vec<&'g Node>,
    /// The number of nodes of functions.
    pub(crate) functions: usize,
    links: Vec<Link>,
    /// The index where the links of each function begin, and where the last ends.
    starts: Vec<u32>,
    /// The target of each root; `None` for a constant.
    pub(crate) roots: Vec<Option<Link>>,
}

impl<'g> Nodes<'g> {
    pub(crate) fn behind(roots: &'g [Root]) -> Self {
        let mut pending: Vec<&'g Node> = roots
            .iter()
            .filter_map(|root| root.edge.as_ref().map(Edge::node))
            .collect();
        // The numbers are set when the order is known.
        let mut numbers: HashMap<&'g Node, u32> = HashMap::new();
        let (mut all, mut leaves) = (Vec::new(), Vec::new());
        while let Some(node) = pending.pop() {
            if numbers.insert(node, 0).is_some() {
                continue;
            }
            if node.is_leaf() {
                leaves.push(node);
                continue;
            }
            all.push(node);
            pending.extend(node.edges().iter().flatten().map(Edge::node));
        }
        all.sort_by_key(|node| Reverse(node.sequence_nr()));
        let functions = all.len();
        all.extend(leaves);
        for (number, node) in all.iter().enumerate() {
            numbers.insert(node, index(number));
        }
        let link = |input: usize, edge: &Edge| Link {
            input: index(input),
            to: numbers[edge.node()],
            output_nr: index(edge.output_nr()),
        };
        let (mut links, mut starts) = (Vec::new(), vec![0]);
        for node in &all[..functions] {
            for (input, edge) in node.edges().iter().enumerate() {
                links.extend(edge.as_ref().map(|edge| link(input, edge)));
            }
            starts.push(index(links.len()));
        }
        Self {
            roots: roots
                .iter()
                .map(|root| root.edge.as_ref().map(|edge| link(0, edge)))
                .collect(),
            all,
            functions,
            links,
            starts,
        }
    }

    /// Returns the edges of a function's node that lead to a node.
    pub(crate) fn links(&self, node: usize) -> &[Link] {
        &self.links[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    pub(crate) fn is_leaf(&self, node: u32) -> bool {
        node as usize >= self.functions
    }

    pub(crate) fn leaves(&self) -> Range<usize> {
        self.functions..self.all.len()
    }

    /// Returns the shape of one of a node's outputs.
    pub(crate) fn shape(&self, node: u32, output_nr: u32) -> Shape {
        self.all[node as usize]
            .output_shapes()
            .swap_remove(output_nr as usize)
    }

    pub(crate) fn totals(&self) -> Totals {
        let mut totals = Totals {
            nodes: self.functions,
            leaves: self.leaves().len(),
            ..Totals::default()
        };
        let mut shared = HashSet::new();
        for node in &self.all[..self.functions] {
            let Some(saved) = node.saved() else {
                totals.freed += 1;
                continue;
            };
            for saved in saved {
                totals.bytes += match saved.memory {
                    None => saved.bytes,
                    Some((address, bytes)) if shared.insert(address) => bytes,
                    Some(_) => 0,
                };
            }
        }
        totals
    }
}

pub(crate) fn index(number: usize) -> u32 {
    // Nodes take more than a hundred bytes each.
    u32::try_from(number).expect("fewer than 2^32 nodes and edges")
}
