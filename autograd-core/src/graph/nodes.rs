//! The nodes behind some tensors, in an order that can be walked.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::builder::Totals;
use crate::tape::{Edge, Node};
use autograd_kernels::Shape;

/// A tensor whose history is drawn.
#[derive(Clone, Debug)]
pub(super) struct Root {
    pub(super) shape: Shape,
    /// `None` for a constant.
    pub(super) edge: Option<Edge>,
}

impl Root {
    pub(super) fn new(shape: Shape, edge: Option<Edge>) -> Self {
        Self { shape, edge }
    }
}

/// Where an edge of a node leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// Which of the node's edges it is.
    pub(super) input: u32,
    pub(super) to: u32,
    pub(super) output_nr: u32,
}

/// All nodes behind some roots: those of functions by falling sequence number, so that each stands before
/// those that it leads to; then those of leaves.
pub(super) struct Nodes<'g> {
    pub(super) all: Vec<&'g Node>,
    /// How many of them are functions'.
    pub(super) functions: usize,
    links: Vec<Link>,
    /// Where the links of each function begin, and where the last ends.
    starts: Vec<u32>,
    /// Where each root leads; `None` for a constant.
    pub(super) roots: Vec<Option<Link>>,
}

impl<'g> Nodes<'g> {
    pub(super) fn behind(roots: &'g [Root]) -> Self {
        let edges = roots.iter().filter_map(|root| root.edge.as_ref());
        let mut pending: Vec<&'g Node> = edges.map(|edge| &edge.node).collect();
        // By address; the numbers follow when the order is known.
        let mut numbers: HashMap<usize, u32> = HashMap::new();
        let (mut all, mut leaves) = (Vec::new(), Vec::new());
        while let Some(node) = pending.pop() {
            if numbers.insert(node.0.address(), 0).is_some() {
                continue;
            }
            if node.header().is_leaf() {
                leaves.push(node);
                continue;
            }
            all.push(node);
            pending.extend(node.0.edges().iter().flatten().map(|edge| &edge.node));
        }
        all.sort_by_key(|node| Reverse(node.sequence_nr()));
        let functions = all.len();
        all.extend(leaves);
        for (number, node) in all.iter().enumerate() {
            numbers.insert(node.0.address(), index(number));
        }
        let link = |input: usize, edge: &Edge| Link {
            input: index(input),
            to: numbers[&edge.node.0.address()],
            output_nr: edge.output_nr,
        };
        let (mut links, mut starts) = (Vec::new(), vec![0]);
        for node in &all[..functions] {
            for (input, edge) in node.0.edges().iter().enumerate() {
                links.extend(edge.as_ref().map(|edge| link(input, edge)));
            }
            starts.push(index(links.len()));
        }
        let roots = roots.iter();
        let roots = roots.map(|root| root.edge.as_ref().map(|edge| link(0, edge)));
        Self {
            roots: roots.collect(),
            all,
            functions,
            links,
            starts,
        }
    }

    /// The edges of a function's node that lead somewhere.
    pub(super) fn links(&self, node: usize) -> &[Link] {
        &self.links[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    pub(super) fn is_leaf(&self, node: u32) -> bool {
        node as usize >= self.functions
    }

    pub(super) fn leaves(&self) -> Range<usize> {
        self.functions..self.all.len()
    }

    /// The shape of one of a node's outputs.
    pub(super) fn shape(&self, node: u32, output_nr: u32) -> Shape {
        self.all[node as usize].0.outputs()[output_nr as usize].unpack()
    }

    pub(super) fn totals(&self) -> Totals {
        let mut totals = Totals {
            nodes: self.functions,
            leaves: self.leaves().len(),
            ..Totals::default()
        };
        let mut shared = HashSet::new();
        for node in &self.all[..self.functions] {
            let is_live = node.0.kept(node, &mut |kept, _, _| {
                totals.bytes += match kept.memory {
                    None => kept.bytes,
                    Some((address, bytes)) if shared.insert(address) => bytes,
                    Some(_) => 0,
                };
            });
            totals.freed += usize::from(!is_live);
        }
        totals
    }
}

pub(super) fn index(number: usize) -> u32 {
    // Nodes take more than a hundred bytes each.
    u32::try_from(number).expect("fewer than 2^32 nodes and edges")
}
