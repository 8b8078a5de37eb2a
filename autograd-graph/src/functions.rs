//! The boxes of functions, and how the nodes are shared out among them.

use std::collections::{HashMap, HashSet};
use std::slice;

use crate::nodes::{Link, Nodes, index};
use crate::options::Names;
use crate::picture::{Draft, End, Group, Kind, Part, Shown};
use crate::runs::{Run, drawn, drawn_edge};
use crate::text::{bytes, count, line_of, pattern, push, series, shapes};
use autograd_core::Shape;
use autograd_core::inspect::SavedInfo;

/// How many boxes are drawn of the nodes nearest to the outputs, and of those nearest to the leaves, where
/// there are more than both together.
const FIRST: usize = 1200;
const LAST: usize = 800;

/// A box of a function takes a leaf.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeafUse {
    pub(crate) link: Link,
    pub(crate) place: usize,
}

/// The boxes of functions, in the order of the nodes, while the others are made.
pub(crate) struct Functions<'a, 'g> {
    pub(crate) nodes: &'a Nodes<'g>,
    pub(crate) names: &'a Names,
    pub(crate) runs: &'a [Run],
    /// The node that each box shows; `None` for the one of those that are not drawn.
    pub(crate) shown: Vec<Option<usize>>,
    /// The box of each node.
    places: Vec<u32>,
    elided: Option<usize>,
    /// The innermost frame of each box, and how often the box follows on itself.
    pub(crate) groups: Vec<Option<usize>>,
    times: Vec<usize>,
    pub(crate) frames: Vec<Group>,
}

impl<'a, 'g> Functions<'a, 'g> {
    pub(crate) fn new(nodes: &'a Nodes<'g>, names: &'a Names, runs: &'a [Run]) -> Self {
        let own = (0..nodes.functions).filter(|node| drawn(runs, *node) == *node);
        let own: Vec<usize> = own.collect();
        let mut shown: Vec<Option<usize>> = own.iter().copied().map(Some).collect();
        let mut elided = None;
        if own.len() > FIRST + LAST {
            elided = Some(FIRST);
            shown.splice(FIRST..own.len() - LAST, [None]);
        }
        let mut own_places = HashMap::new();
        for (place, node) in shown.iter().enumerate() {
            own_places.extend(node.map(|node| (node, index(place))));
        }
        let rest = elided.map_or(0, index);
        let place = |node| own_places.get(&drawn(runs, node)).copied();
        let places = (0..nodes.functions).map(|node| place(node).unwrap_or(rest));
        let places = places.collect();
        let mut functions = Self {
            nodes,
            names,
            runs,
            groups: vec![None; shown.len()],
            times: vec![1; shown.len()],
            shown,
            places,
            elided,
            frames: Vec::new(),
        };
        functions.frame(runs, None);
        functions.frame_elided();
        functions
    }

    /// Puts frames around what is repeated. Runs within runs are as deep as loops within loops.
    fn frame(&mut self, runs: &[Run], parent: Option<usize>) {
        for run in runs {
            let first = self.place(run.start);
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
            let last = self.place(run.start + run.period - 1);
            self.groups[first..=last].fill(Some(group));
            self.frame(&run.inner, Some(group));
        }
    }

    /// Puts the box of what is not drawn into the frames that its neighbors on both sides are in.
    fn frame_elided(&mut self) {
        let Some(elided) = self.elided else {
            return;
        };
        let behind = self.ancestors(self.groups[elided + 1]);
        let around = self.ancestors(self.groups[elided - 1]).into_iter();
        self.groups[elided] = around.into_iter().find(|group| behind.contains(group));
    }

    /// The frames around something in `group`, the innermost first.
    pub(crate) fn ancestors(&self, group: Option<usize>) -> Vec<usize> {
        std::iter::successors(group, |group| self.frames[*group].parent).collect()
    }

    /// How often all frames around something in `group` occur.
    pub(crate) fn occurrences(&self, group: Option<usize>) -> usize {
        let frames = self.ancestors(group).into_iter();
        frames.map(|group| self.frames[group].times).product()
    }

    /// The box that a node is drawn in.
    pub(crate) fn place(&self, node: usize) -> usize {
        self.places[node] as usize
    }

    /// What an edge is called: its input, where the node has several; its output, where that node has.
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

    /// The arcs between boxes of functions, and the uses of leaves.
    pub(crate) fn arcs(&self) -> (Vec<Draft>, Vec<LeafUse>) {
        let mut labels: HashMap<(usize, usize), Vec<String>> = HashMap::new();
        let mut order = Vec::new();
        let mut met = HashSet::new();
        let mut uses = Vec::new();
        for node in 0..self.nodes.functions {
            for &link in self.nodes.links(node) {
                if self.nodes.is_leaf(link.to) {
                    let place = self.place(node);
                    if self.shown[place].is_some() {
                        uses.push(LeafUse { link, place });
                    }
                    continue;
                }
                let Some((taker, giver)) = drawn_edge(self.runs, node, link.to as usize) else {
                    continue;
                };
                let (taker, giver) = (self.place(taker), self.place(giver));
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
        let arc = |(taker, giver)| Draft {
            from: End(Part::Function, giver),
            to: End(Part::Function, taker),
            label: series(&labels[&(taker, giver)]),
        };
        (order.into_iter().map(arc).collect(), uses)
    }

    /// The names that were given to outputs of the nodes that each box stands for.
    fn given_names(&self) -> HashMap<usize, Vec<String>> {
        let mut given: HashMap<usize, Vec<String>> = HashMap::new();
        if self.names.is_empty() {
            return given;
        }
        // Outputs bear their names themselves.
        let roots = self.nodes.roots.iter().flatten();
        let roots: HashSet<(u32, u32)> = roots.map(|root| (root.to, root.output_nr)).collect();
        for node in 0..self.nodes.functions {
            let outputs = self.nodes.all[node].output_shapes().len();
            for output_nr in 0..outputs {
                let name = self.names.of(self.nodes.all[node], output_nr);
                let is_root = roots.contains(&(index(node), index(output_nr)));
                if let Some(name) = name.filter(|_| !is_root) {
                    given
                        .entry(self.place(node))
                        .or_default()
                        .push(name.to_owned());
                }
            }
        }
        given
    }

    pub(crate) fn boxes(&self) -> Vec<Shown> {
        let given = self.given_names();
        let shown = self.shown.iter().enumerate();
        shown
            .map(|(place, node)| match node {
                Some(node) => self.shown(place, *node, given.get(&place)),
                None => self.not_shown(place),
            })
            .collect()
    }

    fn shown(&self, place: usize, node: usize, given: Option<&Vec<String>>) -> Shown {
        let node = self.nodes.all[node];
        let outputs = shapes(&node.output_shapes());
        let mut lines = vec![outputs.clone()];
        let mut hover = vec![
            format!("gives {outputs}"),
            format!("applied at {}", node.applied_at()),
        ];
        if let Some(names) = given {
            lines.insert(0, format!("as {}", pattern(names)));
            hover.push(format!("as {}", series(names)));
        }
        match node.saved() {
            None => {
                lines.push("freed".to_owned());
                hover.push("a backward pass freed what it saved".to_owned());
            }
            Some(saved) if saved.is_empty() => hover.push("saves nothing".to_owned()),
            Some(saved) => {
                let names: Vec<String> = saved.iter().map(|saved| saved.name.clone()).collect();
                lines.push(format!("saves {}, {}", series(&names), amount(&saved)));
                hover.extend(saved.iter().map(|saved| {
                    let shape = saved.shape.as_ref().map(|shape| format!(" {shape}"));
                    let shape = shape.unwrap_or_default();
                    let amount = amount(slice::from_ref(saved));
                    format!("saves {}: {}{shape}, {amount}", saved.name, saved.ty)
                }));
            }
        }
        lines.push(line_of(node.applied_at()));
        let (group, times) = (self.groups[place], self.times[place]);
        let all = self.occurrences(group) * times;
        if all > 1 {
            hover.push(format!("stands for {} nodes", count(all)));
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

    fn not_shown(&self, place: usize) -> Shown {
        let nodes = count(self.not_drawn());
        Shown {
            kind: Kind::Elided,
            title: format!("{nodes} nodes are not drawn"),
            times: 1,
            lines: vec![format!("of {}", count(self.nodes.functions))],
            hover: vec!["a drawing has 2,000 boxes at most".to_owned()],
            group: self.groups[place],
        }
    }

    /// How many nodes no box but that of the rest stands for.
    pub(crate) fn not_drawn(&self) -> usize {
        let Some(elided) = self.elided else {
            return 0;
        };
        let nodes = 0..self.nodes.functions;
        nodes.filter(|node| self.place(*node) == elided).count()
    }

    /// The first or last box of the outermost frame that `place` is in and something of `group` is not.
    pub(crate) fn outside(&self, place: usize, group: Option<usize>, first: bool) -> usize {
        let around = self.ancestors(group);
        let frames = self.ancestors(self.groups[place]);
        let Some(frame) = frames.into_iter().rfind(|frame| !around.contains(frame)) else {
            return place;
        };
        let inside = |place: &usize| self.ancestors(self.groups[*place]).contains(&frame);
        if first {
            (0..=place).rev().take_while(inside).last().unwrap_or(place)
        } else {
            let places = place..self.shown.len();
            places.take_while(inside).last().unwrap_or(place)
        }
    }
}

/// The size of what is saved, of which some may have been packed.
fn amount(saved: &[SavedInfo]) -> String {
    let is_packed = |saved: &SavedInfo| {
        let size = saved.shape.as_ref().map_or(0, Shape::size);
        saved.bytes == 0 && size > 0
    };
    let amount = bytes(saved.iter().map(|saved| saved.bytes).sum());
    if saved.iter().all(is_packed) {
        "packed".to_owned()
    } else if saved.iter().any(is_packed) {
        format!("{amount} and what is packed")
    } else {
        amount
    }
}
