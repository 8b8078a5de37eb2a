//! The operations of a pass backward, appended to those of a formula.

use super::functions::Slope;
use super::trace::{Kind, Trace};
use crate::element::Element;

/// A part of the gradient of a node.
#[derive(Clone, Copy)]
enum Term {
    Gradient(usize),
    Negative(usize),
    /// A gradient times a constant.
    Scaled(usize, usize),
    /// A gradient times a slope.
    Pulled(usize, usize),
}

impl<T: Element> Trace<T> {
    /// Appends the gradients of the sum of the results, each times the input that follows all those of the formula: one for
    /// each result. Returns the nodes of the gradients with respect to the inputs that are wanted.
    pub(super) fn reverse(&mut self, wanted: &[bool]) -> Vec<Option<usize>> {
        let count = self.nodes.len();
        let is_live = self.live(wanted);
        let mut gradients: Vec<Option<usize>> = vec![None; count];
        for result in 0..self.results.len() {
            let seed = self.append(Kind::Input, []);
            let node = self.results[result];
            if is_live[node] {
                self.add_term(&mut gradients[node], Term::Gradient(seed));
            }
        }
        for node in (self.inputs..count).rev() {
            let Some(gradient) = gradients[node] else {
                continue;
            };
            let of = self.nodes[node];
            for (index, &operand) in of.operands().iter().enumerate() {
                if is_live[operand] {
                    let term = self.term(node, index, gradient);
                    self.add_term(&mut gradients[operand], term);
                }
            }
        }
        let zero = self.append(Kind::Constant(T::zero()), []);
        let of_inputs = gradients.iter().zip(wanted);
        of_inputs
            .map(|(gradient, is_wanted)| is_wanted.then(|| gradient.unwrap_or(zero)))
            .collect()
    }

    /// Returns the functions and slopes that some nodes need, which a pass forward keeps for them: a function takes as long
    /// as many other operations.
    pub(super) fn kept(&self, needed: &[Option<usize>]) -> Vec<usize> {
        let mut is_needed = vec![false; self.nodes.len()];
        for &node in needed.iter().flatten() {
            is_needed[node] = true;
        }
        let mut kept = Vec::new();
        for (index, node) in self.nodes.iter().enumerate().rev() {
            if !is_needed[index] {
                continue;
            }
            if let Kind::OfOne(_) | Kind::OfTwo(_) | Kind::Slope(_) = node.kind {
                kept.push(index);
                continue;
            }
            for operand in node.operands() {
                is_needed[*operand] = true;
            }
        }
        kept.reverse();
        kept
    }

    /// Returns whether gradients pass through each node, to the inputs that are wanted.
    fn live(&self, wanted: &[bool]) -> Vec<bool> {
        let mut is_live = Vec::with_capacity(self.nodes.len());
        for (index, node) in self.nodes.iter().enumerate() {
            let passes = match node.kind {
                Kind::Input => wanted[index],
                Kind::OfOne(function) if function.slope == Slope::Zero => false,
                _ => node.operands().iter().any(|operand| is_live[*operand]),
            };
            is_live.push(passes);
        }
        is_live
    }

    /// Returns the gradients in the lane itself, given those of the results; of inputs that are not wanted zeros.
    pub(super) fn gradients(&self, of_results: &[T], wanted: &[bool]) -> Vec<T> {
        let is_live = self.live(wanted);
        let mut gradients = vec![T::zero(); self.nodes.len()];
        for (result, gradient) in self.results.iter().zip(of_results) {
            if is_live[*result] {
                gradients[*result] += *gradient;
            }
        }
        for node in (self.inputs..self.nodes.len()).rev() {
            let gradient = gradients[node];
            if gradient == T::zero() {
                continue;
            }
            let slopes = self.slopes(node);
            for (&operand, slope) in self.nodes[node].operands().iter().zip(slopes) {
                if is_live[operand] {
                    gradients[operand] += gradient * slope;
                }
            }
        }
        gradients.truncate(self.inputs);
        gradients
    }

    /// Returns the slopes of an operation in the lane, along each operand.
    fn slopes(&self, node: usize) -> [T; 2] {
        let (one, zero) = (T::one(), T::zero());
        let operation = self.nodes[node];
        let [x, y] = [0, 1].map(|index| self.value_of(operation.operands[index]));
        match operation.kind {
            Kind::Sum => [one, one],
            Kind::Difference => [one, -one],
            Kind::Negative => [-one, zero],
            Kind::Product | Kind::Pulled => [y, x],
            Kind::OfOne(function) => {
                let [of_x] = function.slopes([x]);
                [of_x, zero]
            }
            Kind::OfTwo(function) => function.slopes([x, y]),
            Kind::Input | Kind::Constant(_) => [zero; 2],
            Kind::Kept | Kind::PulledSum | Kind::Slope(_) => {
                unreachable!("parts of a pass backward")
            }
        }
    }

    /// Returns what the gradient of a node adds to that of an operand.
    fn term(&mut self, node: usize, index: usize, gradient: usize) -> Term {
        let operation = self.nodes[node];
        match operation.kind {
            Kind::Sum => Term::Gradient(gradient),
            Kind::Difference if index == 0 => Term::Gradient(gradient),
            Kind::Difference | Kind::Negative => Term::Negative(gradient),
            Kind::Product | Kind::Pulled => {
                let factor = operation.operands[1 - index];
                match self.nodes[factor].kind {
                    Kind::Constant(_) => Term::Scaled(gradient, factor),
                    _ => Term::Pulled(gradient, factor),
                }
            }
            Kind::OfOne(function) if function.slope == Slope::Itself => {
                Term::Pulled(gradient, node)
            }
            _ => Term::Pulled(gradient, self.append(Kind::Slope(index), [node])),
        }
    }

    /// Adds a term to a gradient, if there is one already.
    fn add_term(&mut self, gradient: &mut Option<usize>, term: Term) {
        let sum = match (*gradient, term) {
            (None, Term::Gradient(term)) => term,
            (None, Term::Negative(term)) => self.append(Kind::Negative, [term]),
            (None, Term::Pulled(term, slope)) => self.append(Kind::Pulled, [term, slope]),
            (None, Term::Scaled(term, factor)) => self.append(Kind::Product, [term, factor]),
            (Some(sum), Term::Gradient(term)) => self.append(Kind::Sum, [sum, term]),
            (Some(sum), Term::Negative(term)) => self.append(Kind::Difference, [sum, term]),
            (Some(sum), Term::Pulled(term, slope)) => {
                self.append(Kind::PulledSum, [sum, term, slope])
            }
            (Some(sum), Term::Scaled(term, factor)) => {
                let product = self.append(Kind::Product, [term, factor]);
                self.append(Kind::Sum, [sum, product])
            }
        };
        *gradient = Some(sum);
    }
}
