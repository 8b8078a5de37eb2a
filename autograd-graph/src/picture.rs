//! The contents of a drawing, before the layout: boxes, arcs between them and frames around them.

use crate::nodes::Totals;

/// The kind of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Function,
    Leaf,
    Output,
    /// An output that nothing was recorded for.
    Constant,
    /// Nodes that are not drawn because there are too many.
    Elided,
}

/// A box.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) kind: Kind,
    pub(crate) title: String,
    /// The number of adjacent nodes that the box represents.
    pub(crate) times: usize,
    pub(crate) lines: Vec<String>,
    /// Details, a line each.
    pub(crate) hover: Vec<String>,
    /// The innermost frame around it.
    pub(crate) group: Option<usize>,
}

/// An arrow, from the box that computes a tensor to the box that uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arc {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) label: String,
}

/// A frame around a repeated block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) parent: Option<usize>,
    pub(crate) times: usize,
}

/// Returns `group` and the frames around it, the innermost first.
pub(crate) fn ancestors(groups: &[Group], group: Option<usize>) -> impl Iterator<Item = usize> {
    std::iter::successors(group, |group| groups[*group].parent)
}

/// The contents of a drawing. A box is listed after those that use its outputs, and the boxes of a frame are
/// adjacent.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    pub(crate) boxes: Vec<Shown>,
    pub(crate) arcs: Vec<Arc>,
    pub(crate) groups: Vec<Group>,
    pub(crate) totals: Totals,
    /// The number of nodes that are not drawn.
    pub(crate) elided: usize,
}

/// A box, by its number among those of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum BoxId {
    Function(usize),
    Leaf(usize),
    Output(usize),
}

/// An arc, before the order of all boxes is known.
#[derive(Clone, Debug)]
pub(crate) struct DraftArc {
    pub(crate) from: BoxId,
    pub(crate) to: BoxId,
    pub(crate) label: String,
}

/// A box, and the box of a function that it belongs next to.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) shown: Shown,
    pub(crate) beside: Option<usize>,
}
