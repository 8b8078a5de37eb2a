//! The operations of a formula, as one lane computes them.

use std::cell::RefCell;
use std::mem;
use std::thread::LocalKey;

use super::functions::Function;
use crate::element::{Element, Family, of_type};

/// The most operations that are replayed: a loop in a formula may have more.
const MOST: usize = 1 << 16;

/// A number of a formula that is recorded: a constant, or the node of the thread's trace that computes it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Recorded<T> {
    Constant(T),
    Node(usize),
}

/// The operations of a formula in their order, and the branches that it took.
#[derive(Clone, Debug)]
pub(crate) struct Trace<T> {
    /// The inputs first.
    pub(super) nodes: Vec<Node<T>>,
    pub(super) inputs: usize,
    pub(super) branches: Vec<Branch>,
    /// The results of the formula.
    pub(super) results: Vec<usize>,
    /// The number of each node in the lane.
    values: Vec<T>,
    constants: Vec<usize>,
    /// Whether the formula has numbers that it computes beside the operations.
    has_escaped: bool,
}

/// An operation on the results of earlier ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node<T> {
    pub(super) kind: Kind<T>,
    /// As many as the kind has, and zeros.
    pub(super) operands: [usize; 3],
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind<T> {
    Input,
    /// What a pass forward has computed, and is read in a pass backward.
    Kept,
    Constant(T),
    Negative,
    Sum,
    Difference,
    Product,
    /// A gradient times a slope, 0 where the gradient is 0: a lane may be there that a maximum did not choose, with a slope
    /// that is infinite.
    Pulled,
    /// A sum, plus such a product of the second and the third operand.
    PulledSum,
    OfOne(Function<T>),
    OfTwo(Function<T>),
    /// The slope of a function, which is the operand, along one of its own operands.
    Slope(usize),
}

impl<T: Element> PartialEq for Node<T> {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.operands == other.operands
    }
}

impl<T: Element> PartialEq for Kind<T> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Constant(x), Self::Constant(y)) => bits(*x) == bits(*y),
            (Self::OfOne(f), Self::OfOne(g)) | (Self::OfTwo(f), Self::OfTwo(g)) => f.is_same(g),
            (Self::Slope(x), Self::Slope(y)) => x == y,
            _ => mem::discriminant(self) == mem::discriminant(other),
        }
    }
}

impl<T> Node<T> {
    /// Returns the operands that there are.
    pub(super) fn operands(&self) -> &[usize] {
        let count = match self.kind {
            Kind::Input | Kind::Kept | Kind::Constant(_) => 0,
            Kind::Negative | Kind::OfOne(_) | Kind::Slope(_) => 1,
            Kind::Sum | Kind::Difference | Kind::Product | Kind::Pulled | Kind::OfTwo(_) => 2,
            Kind::PulledSum => 3,
        };
        &self.operands[..count]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
}

impl Comparison {
    #[cfg_attr(optimized, inline(always))]
    pub(super) fn holds<T: PartialOrd>(self, x: T, y: T) -> bool {
        match self {
            Self::Less => x < y,
            Self::LessOrEqual => x <= y,
            Self::Greater => x > y,
            Self::GreaterOrEqual => x >= y,
            Self::Equal => x == y,
        }
    }
}

/// A comparison of two nodes, and its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Branch {
    pub(super) comparison: Comparison,
    pub(super) nodes: [usize; 2],
    pub(super) holds: bool,
}

impl<T> Trace<T> {
    const fn new() -> Self {
        Self {
            nodes: Vec::new(),
            inputs: 0,
            branches: Vec::new(),
            results: Vec::new(),
            values: Vec::new(),
            constants: Vec::new(),
            has_escaped: false,
        }
    }
}

impl<T: Element> Trace<T> {
    /// Records a formula with the inputs of a lane. `call` computes it of the first nodes, which are the inputs.
    pub(crate) fn of<Results: IntoIterator<Item = Recorded<T>>>(
        inputs: &[T],
        call: impl FnOnce() -> Results,
    ) -> Self {
        trace().with_borrow_mut(|trace: &mut Self| {
            *trace = Self::new();
            trace.inputs = inputs.len();
            for &value in inputs {
                trace.push(Kind::Input, [0; 3], value);
            }
        });
        let results = call();
        let mut trace = trace().with_borrow_mut(|trace: &mut Self| {
            let new = Self::new();
            mem::replace(trace, new)
        });
        trace.results = results
            .into_iter()
            .map(|result| trace.node(result))
            .collect();
        trace
    }

    /// Returns whether it stands for other lanes too, as far as they take the same branches: there are not too many
    /// operations, and no numbers beside them.
    pub(super) fn is_of_all_lanes(&self) -> bool {
        self.nodes.len() <= MOST && !self.has_escaped
    }

    /// Returns the results in the lane.
    pub(super) fn results(&self) -> impl Iterator<Item = T> {
        self.results.iter().map(|result| self.values[*result])
    }

    /// Returns the number of a node in the lane.
    pub(super) fn value_of(&self, node: usize) -> T {
        self.values[node]
    }

    /// Adds an operation on some numbers, with its result in the lane.
    pub(super) fn add<const N: usize>(
        &mut self,
        kind: Kind<T>,
        numbers: [Recorded<T>; N],
        value: T,
    ) -> Recorded<T> {
        let mut operands = [0; 3];
        for (operand, number) in operands.iter_mut().zip(numbers) {
            *operand = self.node(number);
        }
        Recorded::Node(self.push(kind, operands, value))
    }

    /// Adds an operation of a pass backward.
    pub(super) fn append<const N: usize>(&mut self, kind: Kind<T>, of: [usize; N]) -> usize {
        let mut operands = [0; 3];
        operands[..N].copy_from_slice(&of);
        self.nodes.push(Node { kind, operands });
        self.nodes.len() - 1
    }

    fn push(&mut self, kind: Kind<T>, operands: [usize; 3], value: T) -> usize {
        self.nodes.push(Node { kind, operands });
        self.values.push(value);
        self.nodes.len() - 1
    }

    /// Returns the node of a number. Equal constants have one.
    fn node(&mut self, number: Recorded<T>) -> usize {
        let value = match number {
            Recorded::Node(node) => return node,
            Recorded::Constant(value) => value,
        };
        let mut known = self.constants.iter();
        if let Some(&node) = known.find(|node| bits(self.values[**node]) == bits(value)) {
            return node;
        }
        let node = self.push(Kind::Constant(value), [0; 3], value);
        self.constants.push(node);
        node
    }

    /// Returns a number in the lane.
    pub(super) fn value(&self, number: Recorded<T>) -> T {
        match number {
            Recorded::Constant(value) => value,
            Recorded::Node(node) => self.values[node],
        }
    }

    /// Compares two numbers of the lane, on which the rest of the formula may depend.
    pub(super) fn compare(&mut self, comparison: Comparison, [x, y]: [Recorded<T>; 2]) -> bool {
        let holds = comparison.holds(self.value(x), self.value(y));
        if let (Recorded::Constant(_), Recorded::Constant(_)) = (x, y) {
            return holds;
        }
        let nodes = [self.node(x), self.node(y)];
        let branch = Branch {
            comparison,
            nodes,
            holds,
        };
        // A maximum by comparisons has the same one over and over.
        if self.branches.last() != Some(&branch) {
            self.branches.push(branch);
        }
        holds
    }

    /// Returns a number for computations that are not recorded.
    pub(super) fn escape(&mut self, number: Recorded<T>) -> T {
        self.has_escaped |= matches!(number, Recorded::Node(_));
        self.value(number)
    }
}

/// Returns the bits of a number: as numbers, 0 and -0 are equal.
pub(super) fn bits<T: Element>(value: T) -> u64 {
    value.as_f64().to_bits()
}

thread_local! {
    static SINGLE: RefCell<Trace<f32>> = const { RefCell::new(Trace::new()) };
    static DOUBLE: RefCell<Trace<f64>> = const { RefCell::new(Trace::new()) };
}

/// The traces of both element types.
struct Traces;

impl Family for Traces {
    type Of<T: Element> = &'static LocalKey<RefCell<Trace<T>>>;
}

/// Returns the thread's trace of an element type, which the operators of numbers add to.
pub(super) fn trace<T: Element>() -> &'static LocalKey<RefCell<Trace<T>>> {
    of_type::<T, Traces>(&SINGLE, &DOUBLE)
}
