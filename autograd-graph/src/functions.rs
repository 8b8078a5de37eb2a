//! The boxes of functions, and which box shows each node.

use std::collections::{HashMap, HashSet};
use std::slice;

use crate::nodes::{Link, Nodes, index};
use crate::options::Names;
use crate::picture::{BoxId, DraftArc, Group, Kind, Shown, ancestors};
use crate::runs::{Run, drawn, drawn_edge};
use crate::text::{bytes, count, line_of, pattern, push, series, shapes};
use autograd_core::Shape;
use autograd_core::inspect::SavedInfo;

/// The number of boxes nearest to the outputs, and nearest to the leaves, that are drawn of a graph with more than
/// both together.
const FIRST: usize = 1200;
const LAST: usize = 800;

/// A leaf that is an input of a box of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeafUse {
    pub(crate) link: Link,
    pub(crate) taker: usize,
}

/// The boxes of functions, in the order of the nodes.
pub(crate) struct Functions<'a, 'g> {
    pub(crate) nodes: &'a Nodes<'g>,
    pub(crate) names: &'a Names,
    pub(crate) runs: &'a [Run],
    /// The node that each box shows; `None` for the box of the nodes that are not drawn.
    pub(crate) shown: Vec<Option<usize>>,
    /// The box of each node.
    boxes: Vec<u32>,
    elided: Option<usize>,
    /// The innermost frame of each box.
    pub(crate) groups: Vec<Option<usize>>,
    /// The number of adjacent nodes that each box shows.
    times: Vec<usize>,
    pub(crate) frames: Vec<Group>,
}

impl<'a, 'g> Functions<'a, 'g> {
    pub(crate) fn new(nodes: &'a Nodes<'g>, names: &'a Names, runs: &'a [Run]) -> Self {
        let mut shown: Vec<Option<usize>> = (0..nodes.functions)
            .filter(|node| drawn(runs, *node) == *node)
            .map(Some)
            .collect();
        let mut elided = None;
        if shown.len() > FIRST + LAST {
            elided = Some(FIRST);
            shown.splice(FIRST..shown.len() - LAST, [None]);
        }
        let mut boxes_of_shown = HashMap::new();
        for (number, node) in shown.iter().enumerate() {
            boxes_of_shown.extend(node.map(|node| (node, index(number))));
        }
        let rest = elided.map_or(0, index);
        let boxes = (0..nodes.functions)
            .map(|node| {
                boxes_of_shown
                    .get(&drawn(runs, node))
                    .copied()
                    .unwrap_or(rest)
            })
            .collect();
        let mut functions = Self {
            nodes,
            names,
            runs,
            groups: vec![None; shown.len()],
            times: vec![1; shown.len()],
            shown,
            boxes,
            elided,
            frames: Vec::new(),
        };
        functions.frame(runs, None);
        functions.frame_elided();
        functions
    }

    /// Puts frames around repeated blocks. Runs within runs are as deep as loops within loops.
    fn frame(&mut self, runs: &[Run], parent: Option<usize>) {
        for run in runs {
            let first = self.box_of(run.start);
            if run.period == 1 {
                if self.shown[first].is_some() {
                    self.times[first] = run.times;
                }
                continue;
            }
            let group = self.frames.len();
            self.frames.push(Group {
                parent,
                times: run.times,
            });
            let last = self.box_of(run.start + run.period - 1);
            self.groups[first..=last].fill(Some(group));
            self.frame(&run.inner, Some(group));
        }
    }

    /// Puts the box of the nodes that are not drawn into the frames that contain its neighbors on both sides.
    fn frame_elided(&mut self) {
        let Some(elided) = self.elided else {
            return;
        };
        let after = self.ancestors(self.groups[elided + 1]);
        let before = self.ancestors(self.groups[elided - 1]);
        self.groups[elided] = before.into_iter().find(|group| after.contains(group));
    }

    /// Returns `group` and the frames around it, the innermost first.
    pub(crate) fn ancestors(&self, group: Option<usize>) -> Vec<usize> {
        ancestors(&self.frames, group).collect()
    }

    /// Returns how many nodes a node in `group` represents.
    pub(crate) fn occurrences(&self, group: Option<usize>) -> usize {
        ancestors(&self.frames, group)
            .map(|group| self.frames[group].times)
            .product()
    }

    /// Returns the box of a node.
    pub(crate) fn box_of(&self, node: usize) -> usize {
        self.boxes[node] as usize
    }

    /// Returns the label of an edge: its input, if the node has several; its output, if the other node has several.
    pub(crate) fn label(&self, node: usize, link: Link) -> String {
        let mut label = String::new();
        if self.nodes.links(node).len() > 1 {
            label = self.nodes.all[node].input_name(link.input as usize);
        }
        if self.nodes.all[link.to as usize].output_shapes().len() > 1 {
            let gap = if label.is_empty() { "" } else { " = " };
            push!(&mut label, "{gap}output {}", link.output_nr);
        }
        label
    }

    /// Returns the arcs between boxes of functions, and the uses of leaves.
    pub(crate) fn arcs(&self) -> (Vec<DraftArc>, Vec<LeafUse>) {
        let mut labels: HashMap<(usize, usize), Vec<String>> = HashMap::new();
        let mut order = Vec::new();
        let mut met = HashSet::new();
        let mut uses = Vec::new();
        for node in 0..self.nodes.functions {
            for &link in self.nodes.links(node) {
                if self.nodes.is_leaf(link.to) {
                    let taker = self.box_of(node);
                    if self.shown[taker].is_some() {
                        uses.push(LeafUse { link, taker });
                    }
                    continue;
                }
                let Some((taker, giver)) = drawn_edge(self.runs, node, link.to as usize) else {
                    continue;
                };
                let (taker, giver) = (self.box_of(taker), self.box_of(giver));
                if taker == giver || !met.insert((taker, giver, link.input, link.output_nr)) {
                    continue;
                }
                let labels = labels.entry((taker, giver)).or_insert_with(|| {
                    order.push((taker, giver));
                    Vec::new()
                });
                if self.shown[taker].is_some() {
                    labels.push(self.label(node, link));
                }
            }
        }
        let arc = |(taker, giver)| DraftArc {
            from: BoxId::Function(giver),
            to: BoxId::Function(taker),
            label: series(&labels[&(taker, giver)]),
        };
        (order.into_iter().map(arc).collect(), uses)
    }

    /// Returns the names that were given to outputs of the nodes of each box.
    fn given_names(&self) -> HashMap<usize, Vec<String>> {
        let mut given: HashMap<usize, Vec<String>> = HashMap::new();
        if self.names.is_empty() {
            return given;
        }
        // Boxes of outputs show their names themselves.
        let roots: HashSet<(u32, u32)> = self
            .nodes
            .roots
            .iter()
            .flatten()
            .map(|root| (root.to, root.output_nr))
            .collect();
        for node in 0..self.nodes.functions {
            let outputs = self.nodes.all[node].output_shapes().len();
            for output_nr in 0..outputs {
                let name = self.names.of(self.nodes.all[node], output_nr);
                let is_root = roots.contains(&(index(node), index(output_nr)));
                if let Some(name) = name.filter(|_| !is_root) {
                    given
                        .entry(self.box_of(node))
                        .or_default()
                        .push(name.to_owned());
                }
            }
        }
        given
    }

    pub(crate) fn boxes(&self) -> Vec<Shown> {
        let given = self.given_names();
        self.shown
            .iter()
            .enumerate()
            .map(|(number, node)| match node {
                Some(node) => self.shown(number, *node, given.get(&number)),
                None => self.not_shown(number),
            })
            .collect()
    }

    fn shown(&self, number: usize, node: usize, given: Option<&Vec<String>>) -> Shown {
        let node = self.nodes.all[node];
        let outputs = shapes(&node.output_shapes());
        let mut lines = vec![outputs.clone()];
        let mut hover = vec![
            format!("output {outputs}"),
            format!("applied at {}", node.applied_at()),
        ];
        if let Some(names) = given {
            lines.insert(0, format!("as {}", pattern(names)));
            hover.push(format!("as {}", series(names)));
        }
        match node.saved() {
            None => {
                lines.push("freed".to_owned());
                hover.push("a backward pass freed its saved values".to_owned());
            }
            Some(saved) if saved.is_empty() => hover.push("saves nothing".to_owned()),
            Some(saved) => {
                let names: Vec<String> = saved.iter().map(|saved| saved.name.clone()).collect();
                lines.push(format!("saves {}, {}", series(&names), amount(&saved)));
                hover.extend(saved.iter().map(|saved| {
                    let shape = saved.shape.as_ref();
                    let shape = shape.map_or_else(String::new, |shape| format!(" {shape}"));
                    let amount = amount(slice::from_ref(saved));
                    format!("saves {}: {}{shape}, {amount}", saved.name, saved.ty)
                }));
            }
        }
        lines.push(line_of(node.applied_at()));
        let (group, times) = (self.groups[number], self.times[number]);
        let all = self.occurrences(group) * times;
        if all > 1 {
            hover.push(format!("represents {} nodes", count(all)));
        } else {
            hover.push(format!("sequence number {}", node.sequence_nr()));
        }
        Shown {
            kind: Kind::Function,
            title: node.name().to_owned(),
            times,
            lines,
            hover,
            group,
        }
    }

    fn not_shown(&self, number: usize) -> Shown {
        let nodes = count(self.not_drawn());
        Shown {
            kind: Kind::Elided,
            title: format!("{nodes} nodes are not drawn"),
            times: 1,
            lines: vec![format!("of {}", count(self.nodes.functions))],
            hover: vec!["a drawing has at most 2,000 boxes".to_owned()],
            group: self.groups[number],
        }
    }

    /// Returns how many nodes are not drawn.
    pub(crate) fn not_drawn(&self) -> usize {
        let Some(elided) = self.elided else {
            return 0;
        };
        (0..self.nodes.functions)
            .filter(|node| self.box_of(*node) == elided)
            .count()
    }

    /// Returns the first or last box of the outermost frame that contains box `number` but not `group`.
    pub(crate) fn outside(&self, number: usize, group: Option<usize>, first: bool) -> usize {
        let around = self.ancestors(group);
        let frames = self.ancestors(self.groups[number]);
        let Some(frame) = frames.into_iter().rfind(|frame| !around.contains(frame)) else {
            return number;
        };
        let inside = |number: &usize| self.ancestors(self.groups[*number]).contains(&frame);
        let last = if first {
            (0..=number).rev().take_while(inside).last()
        } else {
            (number..self.shown.len()).take_while(inside).last()
        };
        last.unwrap_or(number)
    }
}

/// Returns the size of saved values, some of which may have been packed.
fn amount(saved: &[SavedInfo]) -> String {
    let is_packed = |saved: &SavedInfo| {
        let size = saved.shape.as_ref().map_or(0, Shape::size);
        saved.bytes == 0 && size > 0
    };
    let amount = bytes(saved.iter().map(|saved| saved.bytes).sum());
    if saved.iter().all(is_packed) {
        "packed".to_owned()
    } else if saved.iter().any(is_packed) {
        format!("{amount} and packed values")
    } else {
        amount
    }
}
