//! From the options of a [`Graph`] to a [`Picture`], and to its formats.

use std::collections::HashMap;

use crate::dot::write_dot;
use crate::fold::runs;
use crate::functions::Functions;
use crate::html::write_html;
use crate::leaves::leaf_boxes;
use crate::nodes::Nodes;
use crate::options::Graph;
use crate::picture::{Arc, BoxId, DraftArc, Picture, Placed, Shown};
use crate::roots::root_boxes;
use crate::svg::draw_svg;

impl Graph {
    /// Writes the graph in the language of Graphviz, for commands such as `dot -Tpdf`. A repeated block is a cluster.
    pub fn dot(&self) -> String {
        write_dot(&Picture::of(self))
    }

    /// Draws the graph as a self-contained SVG image, with light or dark colors as in the viewer's settings. Functions
    /// are boxes, leaves are round, outputs have cut corners; a repeated block has a frame.
    pub fn svg(&self) -> String {
        draw_svg(&Picture::of(self), true)
    }

    /// Writes the drawing as a self-contained page, which does not use the network. The saved values of a node are
    /// shown under the pointer, or for the box that was selected with Tab or the arrow keys, and its edges are
    /// highlighted. The drawing is zoomed with buttons, with `+`, `-`, `0` and `f`, or with Ctrl and the wheel, and
    /// moved with the mouse; printed, it has the width of the paper.
    pub fn html(&self) -> String {
        write_html(&Picture::of(self))
    }
}

impl Picture {
    pub(crate) fn of(graph: &Graph) -> Self {
        let nodes = Nodes::behind(&graph.roots);
        let runs = if graph.fold { runs(&nodes) } else { Vec::new() };
        let functions = Functions::new(&nodes, &graph.names, &runs);
        let (mut arcs, uses) = functions.arcs();
        let leaves = leaf_boxes(&functions, uses, graph);
        let (outputs, output_arcs) = root_boxes(&functions, &leaves.numbers, graph);
        arcs.extend(leaves.arcs);
        arcs.extend(output_arcs);
        let (boxes, numbers) = in_order(&functions, leaves.boxes, outputs);
        let arc = |arc: DraftArc| Arc {
            from: numbers[&arc.from],
            to: numbers[&arc.to],
            label: arc.label,
        };
        Self {
            arcs: arcs.into_iter().map(arc).collect(),
            boxes,
            elided: functions.not_drawn(),
            groups: functions.frames,
            totals: nodes.totals(),
        }
    }
}

/// Returns all boxes in order: outputs before their functions, leaves after the last box that uses them. A box that is
/// in fewer frames than its neighbor is outside of the other frames.
fn in_order(
    functions: &Functions<'_, '_>,
    leaves: Vec<Placed>,
    outputs: Vec<Placed>,
) -> (Vec<Shown>, HashMap<BoxId, usize>) {
    let mut before: HashMap<Option<usize>, Vec<(BoxId, Shown)>> = HashMap::new();
    for (number, Placed { shown, beside }) in outputs.into_iter().enumerate() {
        let beside = beside.map(|beside| functions.outside(beside, shown.group, true));
        let entry = before.entry(beside).or_default();
        entry.push((BoxId::Output(number), shown));
    }
    let mut after: HashMap<Option<usize>, Vec<(BoxId, Shown)>> = HashMap::new();
    for (number, Placed { shown, beside }) in leaves.into_iter().enumerate() {
        let beside = beside.map(|beside| functions.outside(beside, shown.group, false));
        let entry = after.entry(beside).or_default();
        entry.push((BoxId::Leaf(number), shown));
    }
    let mut all = before.remove(&None).unwrap_or_default();
    all.extend(after.remove(&None).unwrap_or_default());
    for (number, shown) in functions.boxes().into_iter().enumerate() {
        all.extend(before.remove(&Some(number)).unwrap_or_default());
        all.push((BoxId::Function(number), shown));
        all.extend(after.remove(&Some(number)).unwrap_or_default());
    }
    let numbers = all
        .iter()
        .enumerate()
        .map(|(number, (id, _))| (*id, number))
        .collect();
    (all.into_iter().map(|(_, shown)| shown).collect(), numbers)
}
