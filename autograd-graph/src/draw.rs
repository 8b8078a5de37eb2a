//! From the options of a [`Graph`] to what is drawn, and on to its formats.

use std::collections::HashMap;

use crate::fold::runs;
use crate::functions::Functions;
use crate::leaves::leaf_boxes;
use crate::nodes::Nodes;
use crate::options::Graph;
use crate::picture::{Arc, End, Part, Picture, Placed, Shown};
use crate::roots::root_boxes;
use crate::{dot, html, svg};

impl Graph {
    /// The graph in the language of Graphviz, for `dot -Tpdf` and its kin. What is repeated is a
    /// cluster.
    ///
    /// ```
    /// use autograd_core::ndarray::array;
    /// use autograd_core::Tensor;
    /// use autograd_graph::Graph;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let text = Graph::of(&x.exp()).name("x", &x).dot();
    /// assert!(text.contains("shape=ellipse") && text.contains("Exp"));
    /// ```
    pub fn dot(&self) -> String {
        dot::write(&Picture::of(self))
    }

    /// The graph drawn: an SVG image that stands alone, legible on a light and on a dark background as
    /// the viewer's settings ask for it. Functions are boxes, leaves are round, outputs have cut corners;
    /// what is repeated has a frame.
    ///
    /// ```
    /// use autograd_core::ndarray::array;
    /// use autograd_core::Tensor;
    /// use autograd_graph::Graph;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let picture = Graph::of(&x.exp()).svg();
    /// assert!(picture.ends_with("</svg>\n"));
    /// ```
    pub fn svg(&self) -> String {
        svg::write(&Picture::of(self))
    }

    /// The drawing on a page of its own, which needs no network: what a node keeps is shown under the
    /// pointer, or for the box that Tab or the arrow keys led to, with the edges that lead to it and away
    /// from it. The drawing is zoomed with buttons, with `+`, `-`, `0` and `f`, or with Ctrl and the wheel,
    /// and moved with the mouse; it prints on a page's width.
    ///
    /// ```
    /// use autograd_core::ndarray::array;
    /// use autograd_core::Tensor;
    /// use autograd_graph::Graph;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let path = std::env::temp_dir().join(format!("graph-{}.html", std::process::id()));
    /// std::fs::write(&path, Graph::of(&x.exp()).html())?; // to be opened in a browser
    /// assert!(std::fs::read_to_string(&path)?.starts_with("<!DOCTYPE html>"));
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn html(&self) -> String {
        html::write(&Picture::of(self))
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
/// in fewer frames than its neighbor stands outside of those that it is not in.
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
