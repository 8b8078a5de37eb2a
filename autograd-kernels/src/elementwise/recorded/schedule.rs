//! The order in which a program computes the operations of a trace, and which of them together.
//!
//! An operation is at the *level* after those of its operands. Equal operations of a level are a group, whatever their
//! place in the formula: those of the rounds of a loop over a row are. A sum of many terms would be a level for each: it
//! is a *chain* instead, an operation with all terms as operands, and without results in between. Products that are only
//! added, each to one sum, are not operations either: the sum has their factors as operands.

use std::collections::BTreeMap;

use super::trace::{Kind, Node};
use crate::element::Element;

/// The fewest sums of a chain: fewer are groups with those of other chains.
const FEWEST: usize = 4;

/// The operations that some nodes need, in groups.
pub(super) struct Schedule {
    /// Whether a node is needed.
    pub(super) is_used: Vec<bool>,
    /// The operands along which the slopes of a function are needed: a bit for each.
    pub(super) variables: Vec<usize>,
    /// Whether a sum is one in the middle of a chain.
    is_inner: Vec<bool>,
    /// Whether a product is a term of a sum that has its factors as operands.
    is_term: Vec<bool>,
    /// The operations, of chains the last sum.
    pub(super) groups: Vec<Vec<usize>>,
}

/// What equal operations have in common.
type Key = [usize; 4];

impl Schedule {
    /// Returns the schedule of what the nodes `needed` depend on.
    pub(super) fn of<T: Element>(nodes: &[Node<T>], needed: impl Iterator<Item = usize>) -> Self {
        let mut uses = vec![0_usize; nodes.len()];
        let mut variables = vec![0; nodes.len()];
        for node in needed {
            uses[node] += 1;
        }
        for (index, node) in nodes.iter().enumerate().rev() {
            if uses[index] == 0 {
                continue;
            }
            for &operand in node.operands() {
                uses[operand] += 1;
            }
            if let Kind::Slope(variable) = node.kind {
                variables[node.operands[0]] |= 1 << variable;
            }
        }
        let mut schedule = Self {
            is_used: uses.iter().map(|uses| *uses > 0).collect(),
            variables,
            is_inner: inner_sums(nodes, &uses),
            is_term: vec![false; nodes.len()],
            groups: Vec::new(),
        };
        schedule.find_terms(nodes, &uses);
        schedule.groups = schedule.groups(nodes);
        schedule
    }

    /// Returns the operands of an operation; of a chain those of all terms, and of products that are terms their factors.
    pub(super) fn operands<T>(&self, nodes: &[Node<T>], node: usize) -> Vec<usize> {
        let terms = self.terms(nodes, node);
        if !self.has_factors(nodes, node) {
            return terms;
        }
        let mut operands = Vec::new();
        // The only term that may be another is the first, or one of two: as many roundings of the same numbers.
        let plain = terms.iter().filter(|term| !self.is_term[**term]);
        operands.extend(plain);
        for term in terms.iter().filter(|term| self.is_term[**term]) {
            operands.extend(nodes[*term].operands());
        }
        operands
    }

    /// Returns whether products are terms of an operation.
    pub(super) fn has_factors<T>(&self, nodes: &[Node<T>], node: usize) -> bool {
        self.terms(nodes, node)
            .iter()
            .any(|term| self.is_term[*term])
    }

    /// Finds the products that are terms: of sums whose other terms are such products too, but for one at most.
    fn find_terms<T>(&mut self, nodes: &[Node<T>], uses: &[usize]) {
        for index in 0..nodes.len() {
            let is_sum = matches!(nodes[index].kind, Kind::Sum);
            if !is_sum || uses[index] == 0 || self.is_inner[index] {
                continue;
            }
            let terms = self.terms(nodes, index);
            let is_product =
                |term: &usize| matches!(nodes[*term].kind, Kind::Product) && uses[*term] == 1;
            let are_all = terms.iter().skip(1).all(is_product);
            if are_all || terms.len() == 2 && is_product(&terms[0]) {
                for term in terms.into_iter().filter(is_product) {
                    self.is_term[term] = true;
                }
            }
        }
    }

    /// Returns the operands of an operation; of a chain, all terms.
    fn terms<T>(&self, nodes: &[Node<T>], node: usize) -> Vec<usize> {
        let mut last = node;
        let mut operands = Vec::new();
        while let [first, terms @ ..] = nodes[last].operands() {
            operands.extend(terms.iter().rev());
            if !self.is_inner[*first] {
                operands.push(*first);
                break;
            }
            last = *first;
        }
        operands.reverse();
        operands
    }

    pub(super) fn is_chain<T>(&self, nodes: &[Node<T>], node: usize) -> bool {
        let operands = nodes[node].operands();
        operands.first().is_some_and(|first| self.is_inner[*first])
    }

    fn groups<T: Element>(&self, nodes: &[Node<T>]) -> Vec<Vec<usize>> {
        let mut levels = vec![0; nodes.len()];
        let mut groups: BTreeMap<(usize, Key), Vec<usize>> = BTreeMap::new();
        for (index, node) in nodes.iter().enumerate() {
            if !self.is_used[index] {
                continue;
            }
            let after = node.operands().iter().map(|operand| levels[*operand]).max();
            let Some(after) = after else {
                continue;
            };
            let is_part = self.is_inner[index] || self.is_term[index];
            let has_own_level = !is_part && !matches!(node.kind, Kind::Slope(_));
            levels[index] = after + usize::from(has_own_level);
            if has_own_level {
                let key = self.key(nodes, index);
                groups.entry((levels[index], key)).or_default().push(index);
            }
        }
        groups.into_values().collect()
    }

    fn key<T: Element>(&self, nodes: &[Node<T>], index: usize) -> Key {
        match nodes[index].kind {
            // Each chain is an instruction.
            _ if self.is_chain(nodes, index) => [0, index, 0, 0],
            Kind::Negative => [1, 0, 0, 0],
            Kind::Sum => [2, self.operands(nodes, index).len(), 0, 0],
            Kind::Difference => [3, 0, 0, 0],
            Kind::Product => [4, 0, 0, 0],
            Kind::Pulled => [5, 0, 0, 0],
            Kind::PulledSum => [6, 0, 0, 0],
            Kind::OfOne(function) | Kind::OfTwo(function) => {
                let variables = self.variables[index];
                let [run, parameter] = function.key(variables);
                [7, run, parameter, variables]
            }
            Kind::Input | Kind::Kept | Kind::Constant(_) | Kind::Slope(_) => {
                unreachable!("operations alone are in groups")
            }
        }
    }
}

/// Returns whether each node is a sum that is only added to, so often that it is in a chain.
fn inner_sums<T>(nodes: &[Node<T>], uses: &[usize]) -> Vec<bool> {
    let continued = |index: usize| {
        let node = &nodes[index];
        let first = node.operands[0];
        let is_continued = uses[index] > 0
            && uses[first] == 1
            && matches!(
                (&node.kind, &nodes[first].kind),
                (Kind::Sum, Kind::Sum) | (Kind::PulledSum, Kind::PulledSum)
            );
        is_continued.then_some(first)
    };
    // The number of sums of a chain that ends at a node.
    let mut lengths = vec![1_usize; nodes.len()];
    let mut is_inner = vec![false; nodes.len()];
    for index in 0..nodes.len() {
        if let Some(first) = continued(index) {
            lengths[index] = lengths[first] + 1;
        }
    }
    for index in (0..nodes.len()).rev() {
        if let Some(first) = continued(index) {
            is_inner[first] = is_inner[index] || lengths[index] >= FEWEST;
        }
    }
    is_inner
}
