//! What is drawn: boxes, the arcs between them and frames around them, before anything has a place.

use std::collections::HashMap;

use super::builder::{Graph, Totals};
use super::fold::runs;
use super::functions::Functions;
use super::leaves::leaf_boxes;
use super::nodes::Nodes;
use super::roots::root_boxes;

/// What a box stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
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
pub(super) struct Shown {
    pub(super) kind: Kind,
    pub(super) title: String,
    /// How often it follows on itself.
    pub(super) times: usize,
    pub(super) lines: Vec<String>,
    /// More to read, a line each.
    pub(super) hover: Vec<String>,
    /// The innermost frame that it is in.
    pub(super) group: Option<usize>,
}

/// An arrow: from what gives a tensor to what takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arc {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) label: String,
}

/// A frame around what is repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) parent: Option<usize>,
    pub(super) times: usize,
}

/// All that is drawn. A box stands behind those that take what it gives, and those of a frame stand side
/// by side.
#[derive(Clone, Debug)]
pub(super) struct Picture {
    pub(super) boxes: Vec<Shown>,
    pub(super) arcs: Vec<Arc>,
    pub(super) groups: Vec<Group>,
    pub(super) totals: Totals,
    /// How many nodes are not drawn.
    pub(super) elided: usize,
}

/// Which boxes an arc is between, before all of them have numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    Function,
    Leaf,
    Output,
}

/// The box of this number among those of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct End(pub(super) Part, pub(super) usize);

/// An arc, before all boxes have numbers.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) from: End,
    pub(super) to: End,
    pub(super) label: String,
}

/// A box, and the box of a function that it stands beside.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) shown: Shown,
    pub(super) beside: Option<usize>,
}

impl Picture {
    pub(super) fn of(graph: &Graph) -> Self {
        let nodes = Nodes::behind(&graph.roots);
        let runs = if graph.fold { runs(&nodes) } else { Vec::new() };
        let functions = Functions::new(&nodes, &graph.names, &runs);
        let (mut arcs, uses) = functions.arcs();
        let leaves = leaf_boxes(&functions, uses, graph);
        let (outputs, output_arcs) = root_boxes(&functions, &leaves.numbers, graph);
        arcs.extend(leaves.arcs);
        arcs.extend(output_arcs);
        let (boxes, numbers) = in_order(&functions, leaves.boxes, outputs);
        let arcs = arcs.into_iter().map(|arc| Arc {
            from: numbers[&arc.from],
            to: numbers[&arc.to],
            label: arc.label,
        });
        Self {
            arcs: arcs.collect(),
            boxes,
            elided: functions.not_drawn(),
            groups: functions.frames,
            totals: nodes.totals(),
        }
    }
}

/// All boxes in order: outputs before what gives them, leaves behind the last that takes them. One that is
/// in fewer frames than its neighbour stands outside of those that it is not in.
fn in_order(
    functions: &Functions<'_, '_>,
    leaves: Vec<Placed>,
    outputs: Vec<Placed>,
) -> (Vec<Shown>, HashMap<End, usize>) {
    let mut before: HashMap<Option<usize>, Vec<(End, Shown)>> = HashMap::new();
    for (number, Placed { shown, beside }) in outputs.into_iter().enumerate() {
        let beside = beside.map(|place| functions.outside(place, shown.group, true));
        let entry = before.entry(beside).or_default();
        entry.push((End(Part::Output, number), shown));
    }
    let mut behind: HashMap<Option<usize>, Vec<(End, Shown)>> = HashMap::new();
    for (number, Placed { shown, beside }) in leaves.into_iter().enumerate() {
        let beside = beside.map(|place| functions.outside(place, shown.group, false));
        let entry = behind.entry(beside).or_default();
        entry.push((End(Part::Leaf, number), shown));
    }
    let mut all = before.remove(&None).unwrap_or_default();
    all.extend(behind.remove(&None).unwrap_or_default());
    for (place, shown) in functions.boxes().into_iter().enumerate() {
        all.extend(before.remove(&Some(place)).unwrap_or_default());
        all.push((End(Part::Function, place), shown));
        all.extend(behind.remove(&Some(place)).unwrap_or_default());
    }
    let numbers = all.iter().enumerate();
    let numbers = numbers.map(|(number, (end, _))| (*end, number)).collect();
    (all.into_iter().map(|(_, shown)| shown).collect(), numbers)
}
