//! What is drawn: boxes, the arcs between them and frames around them, before anything has a place.

use crate::nodes::Totals;

/// What a box stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Function,
    Leaf,
    Output,
    /// An output that nothing was recorded for.
    Constant,
    /// Nodes that are not drawn, for there are too many.
    Elided,
}

/// A box.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) kind: Kind,
    pub(crate) title: String,
    /// How often it follows on itself.
    pub(crate) times: usize,
    pub(crate) lines: Vec<String>,
    /// More to read, a line each.
    pub(crate) hover: Vec<String>,
    /// The innermost frame that it is in.
    pub(crate) group: Option<usize>,
}

/// An arrow: from what gives a tensor to what takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arc {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) label: String,
}

/// A frame around what is repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) parent: Option<usize>,
    pub(crate) times: usize,
}

/// All that is drawn. A box stands behind those that take what it gives, and those of a frame stand side
/// by side.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    pub(crate) boxes: Vec<Shown>,
    pub(crate) arcs: Vec<Arc>,
    pub(crate) groups: Vec<Group>,
    pub(crate) totals: Totals,
    /// How many nodes are not drawn.
    pub(crate) elided: usize,
}

/// Which boxes an arc is between, before all of them have numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    Function,
    Leaf,
    Output,
}

/// The box of this number among those of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct End(pub(crate) Part, pub(crate) usize);

/// An arc, before all boxes have numbers.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) from: End,
    pub(crate) to: End,
    pub(crate) label: String,
}

/// A box, and the box of a function that it stands beside.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) shown: Shown,
    pub(crate) beside: Option<usize>,
}
