//! The operations of several recordings as one list, in which those that they have in common are there once.

use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};

use super::trace::{Kind, Node};
use crate::element::Element;

type Key<T> = (Discriminant<Kind<T>>, [usize; 3]);

/// The operations of recordings of one formula.
pub(super) struct Merge<T> {
    pub(super) nodes: Vec<Node<T>>,
    inputs: Vec<usize>,
    /// The nodes of each kind with the same operands.
    known: HashMap<Key<T>, Vec<usize>>,
}

impl<T: Element> Merge<T> {
    pub(super) fn new() -> Self {
        Self {
            nodes: Vec::new(),
            inputs: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// Adds a recording, and returns the place of each of its nodes.
    pub(super) fn add(&mut self, nodes: &[Node<T>]) -> Vec<usize> {
        let mut places: Vec<usize> = Vec::with_capacity(nodes.len());
        let mut inputs = 0;
        for node in nodes {
            let place = if matches!(node.kind, Kind::Input) {
                // Each is one of its own.
                inputs += 1;
                if inputs > self.inputs.len() {
                    self.inputs.push(self.nodes.len());
                    self.nodes.push(*node);
                }
                self.inputs[inputs - 1]
            } else {
                let mut node = *node;
                let count = node.operands().len();
                for operand in &mut node.operands[..count] {
                    *operand = places[*operand];
                }
                self.place(node)
            };
            places.push(place);
        }
        places
    }

    fn place(&mut self, node: Node<T>) -> usize {
        let known = self.known.entry((discriminant(&node.kind), node.operands));
        let known = known.or_default();
        if let Some(place) = known.iter().find(|place| self.nodes[**place] == node) {
            return *place;
        }
        known.push(self.nodes.len());
        self.nodes.push(node);
        self.nodes.len() - 1
    }
}
