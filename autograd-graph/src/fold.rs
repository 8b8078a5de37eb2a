//! Finding repeated blocks of nodes.
//!
//! # Note [Folding]
//! The nodes of functions, in falling order of sequence numbers, are a sequence of items. The kind of an item is its
//! name, its line and the shapes of its outputs. The nodes that a loop applied are then adjacent blocks of the same
//! kinds, and the edges decide whether the blocks are connected in the same way (`equally_connected`). Such blocks are
//! searched for with windows of 1, 2, 4, … items: if a block is not longer than the window, the distance from one
//! occurrence of the window to the next is the period, the length of the block. Short periods are found first, and a
//! run of blocks becomes one item before the next, larger window: so repetitions inside of repetitions are found too.
//! Each window takes one pass over the items and one table, n log n in all; a long chain of one function is a single
//! item after the first window.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::nodes::{Nodes, index};
use crate::runs::{Run, equally_connected};

/// The largest window, and the last one, for blocks longer than twice the largest: they are found where so many
/// adjacent items occur only once in a block.
const LARGEST_WINDOW: usize = 4096;
const LAST_WINDOW: usize = 64;

/// The fewest blocks that are folded, and the fewest nodes of blocks of which two are folded.
const TIMES: usize = 3;
const NODES_OF_TWO: usize = 6;

/// An item of the sequence: a node, or a run that was found before.
#[derive(Clone, Debug)]
struct Item {
    kind: u32,
    start: usize,
    len: usize,
    run: Option<Run>,
}

/// Returns the repetitions among the nodes of functions, in order.
pub(crate) fn runs(nodes: &Nodes<'_>) -> Vec<Run> {
    let mut folder = Folder::new(nodes);
    let mut window = 1;
    while window <= LARGEST_WINDOW && 2 * window <= folder.items.len() {
        folder.fold(window, 2 * window);
        window *= 2;
    }
    folder.fold(LAST_WINDOW, usize::MAX);
    folder
        .items
        .into_iter()
        .filter_map(|item| item.run)
        .collect()
}

struct Folder<'a, 'g> {
    nodes: &'a Nodes<'g>,
    items: Vec<Item>,
    /// The kinds of folded runs, by the kinds of the items of a block and the number of blocks.
    runs: HashMap<(Vec<u32>, usize), u32>,
    /// The number of kinds of nodes.
    kinds: u32,
    /// Whether no edge leads past a node, from a node before it to a node after it.
    is_cut: Vec<bool>,
}

/// Adjacent blocks of the same kinds of items.
#[derive(Clone, Copy)]
struct Repeat {
    start: usize,
    period: usize,
    /// The end of the items that have the same kind as the item one period before.
    end: usize,
}

impl<'a, 'g> Folder<'a, 'g> {
    fn new(nodes: &'a Nodes<'g>) -> Self {
        let mut kinds = HashMap::new();
        let item = |node: usize| {
            let next = index(kinds.len());
            Item {
                kind: *kinds.entry(fingerprint(nodes, node)).or_insert(next),
                start: node,
                len: 1,
                run: None,
            }
        };
        let items = (0..nodes.functions).map(item).collect();
        Self {
            nodes,
            items,
            kinds: index(kinds.len()),
            runs: HashMap::new(),
            is_cut: cuts(nodes),
        }
    }

    /// Folds the blocks of at most `longest` items that windows of this size find.
    fn fold(&mut self, window: usize, longest: usize) {
        let next = next_occurrences(&self.items, window);
        let mut folded: Vec<Item> = Vec::with_capacity(self.items.len());
        // The last comparison, so that items are not compared twice at the same distance.
        let (mut period, mut end) = (0, 0);
        let mut refused = (0, 0);
        let mut at = 0;
        while at < self.items.len() {
            let distance = next[at] as usize;
            let is_new = distance != refused.0 || at >= refused.1;
            if (1..=longest).contains(&distance) && is_new {
                if distance != period || at + period >= end {
                    (period, end) = (distance, self.equal_until(at, distance));
                }
                if end >= at + 2 * period {
                    let start = self.begin(at, period, &folded);
                    let repeat = Repeat { start, period, end };
                    if let Some((before, item, after)) = self.folded(repeat) {
                        folded.truncate(folded.len() - (at - start));
                        folded.extend_from_slice(&self.items[start..before]);
                        folded.push(item);
                        at = after;
                        continue;
                    }
                    refused = (period, end - period);
                }
            }
            folded.push(self.items[at].clone());
            at += 1;
        }
        self.items = folded;
    }

    /// Returns the end of the items, from `at + distance` on, that have the same kind as those `distance` before.
    fn equal_until(&self, at: usize, distance: usize) -> usize {
        let equal = self.items[at..]
            .iter()
            .zip(&self.items[at + distance..])
            .take_while(|(item, other)| item.kind == other.kind);
        at + distance + equal.count()
    }

    /// Returns the start of a repetition. Earlier items that were not folded in this pass may belong to it.
    fn begin(&self, at: usize, period: usize, folded: &[Item]) -> usize {
        let mut start = at;
        let mut passed = folded.iter().rev();
        while start > 0
            && self.items[start - 1].kind == self.items[start - 1 + period].kind
            && passed
                .next()
                .is_some_and(|item| item.start == self.items[start - 1].start)
        {
            start -= 1;
        }
        start
    }

    /// Folds adjacent blocks into one item. Returns the index of the first item, the new item, and the index after the
    /// last.
    fn folded(&mut self, repeat: Repeat) -> Option<(usize, Item, usize)> {
        let Repeat { start, period, end } = repeat;
        let (times, rest) = ((end - start) / period, (end - start) % period);
        // The first block may begin anywhere within the rest: best at a node that is on all paths.
        let is_cut = |offset: &usize| self.is_cut[self.items[start + offset].start];
        let start = start + (0..=rest).find(is_cut).unwrap_or(0);
        let block = &self.items[start..start + period];
        let first = block[0].start;
        let len = block.iter().map(|item| item.len).sum();
        let times = equally_connected(self.nodes, first, len, times);
        if times < 2 || (times < TIMES && len < NODES_OF_TWO) {
            return None;
        }
        let run = Run {
            start: first,
            period: len,
            times,
            inner: block.iter().filter_map(|item| item.run.clone()).collect(),
        };
        let kinds = block.iter().map(|item| item.kind).collect();
        let new = self.kinds + index(self.runs.len());
        let item = Item {
            kind: *self.runs.entry((kinds, times)).or_insert(new),
            start: first,
            len: len * times,
            run: Some(run),
        };
        Some((start, item, start + period * times))
    }
}

/// Returns a number that differs for nodes that are not repetitions of each other.
fn fingerprint(nodes: &Nodes<'_>, node: usize) -> u64 {
    let node = nodes.all[node];
    let mut hasher = DefaultHasher::new();
    let at = node.applied_at();
    (node.name(), at.file(), at.line(), at.column()).hash(&mut hasher);
    for shape in node.output_shapes() {
        shape[..].hash(&mut hasher);
    }
    hasher.finish()
}

/// Returns, for each node, whether no edge leads past it.
fn cuts(nodes: &Nodes<'_>) -> Vec<bool> {
    let mut farthest = 0;
    let mut is_cut = Vec::with_capacity(nodes.functions);
    for node in 0..nodes.functions {
        is_cut.push(farthest <= node);
        farthest = nodes
            .links(node)
            .iter()
            .map(|link| link.to)
            .filter(|to| !nodes.is_leaf(*to))
            .fold(farthest, |farthest, to| farthest.max(to as usize));
    }
    is_cut
}

/// Returns, for each item, the distance to the next occurrence of the window that begins there; 0 if there is none.
fn next_occurrences(items: &[Item], window: usize) -> Vec<u32> {
    /// An odd number without a pattern.
    const BASE: u64 = 0x9E37_79B9_7F4A_7C15;
    let power = (0..window).fold(1_u64, |power, _| power.wrapping_mul(BASE));
    let mut next = vec![0; items.len()];
    let mut latest: HashMap<u64, u32> = HashMap::new();
    // Kinds are scrambled, so that small numbers do not cancel each other.
    let scrambled = |at: usize| {
        (u64::from(items[at].kind) + 1)
            .wrapping_mul(BASE)
            .rotate_left(29)
    };
    let mut hash = 0_u64;
    for at in (0..items.len()).rev() {
        // The first item has the lowest power: one is added in front and one removed at the end.
        hash = hash.wrapping_mul(BASE).wrapping_add(scrambled(at));
        if at + window < items.len() {
            hash = hash.wrapping_sub(scrambled(at + window).wrapping_mul(power));
        }
        if at + window <= items.len()
            && let Some(later) = latest.insert(hash, index(at))
        {
            next[at] = later - index(at);
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Graph;
    use autograd_core::ndarray::{self, array};
    use autograd_core::{Tensor, Tensor1};

    fn items(kinds: &[u32]) -> Vec<Item> {
        let item = |(start, &kind): (usize, &u32)| Item {
            kind,
            start,
            len: 1,
            run: None,
        };
        kinds.iter().enumerate().map(item).collect()
    }

    #[test]
    fn windows_occur_again_where_all_their_items_do() {
        let items = items(&[1, 2, 1, 3, 1, 2, 1]);
        assert_eq!(next_occurrences(&items, 1), [2, 4, 2, 0, 2, 0, 0]);
        assert_eq!(next_occurrences(&items, 2), [4, 4, 0, 0, 0, 0, 0]);
        assert_eq!(next_occurrences(&items, 3), [4, 0, 0, 0, 0, 0, 0]);
        assert_eq!(next_occurrences(&items, 4), [0; 7]);
    }

    /// The runs behind `y`: start, period, times, and the number of runs within.
    fn found(y: &Tensor1<f64>) -> Vec<(usize, usize, usize, usize)> {
        let graph = Graph::of(y);
        runs(&Nodes::behind(&graph.roots))
            .into_iter()
            .map(|run| (run.start, run.period, run.times, run.inner.len()))
            .collect()
    }

    #[test]
    fn loops_within_loops_are_runs_within_runs() {
        let mut y = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
        for _ in 0..7 {
            for _ in 0..5 {
                y = y.tanh();
            }
            y = y.exp();
        }
        y = y.sin();
        assert_eq!(found(&y), [(1, 6, 7, 1)]);
    }

    #[test]
    fn two_blocks_are_folded_if_they_are_long() {
        let twice = |long: bool| {
            let mut y = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
            for _ in 0..2 {
                y = y.tanh().exp().sin();
                if long {
                    y = y.cos().sigmoid().softplus();
                }
            }
            found(&y)
        };
        assert_eq!(twice(false), []);
        assert_eq!(twice(true), [(0, 6, 2, 0)]);
    }

    #[test]
    fn a_block_begins_where_all_paths_meet() {
        let mut y = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
        for _ in 0..9 {
            y = &y.tanh() + &y.exp();
        }
        // From the outputs: the sum, then its two operands.
        assert_eq!(found(&y), [(0, 3, 9, 0)]);
    }

    #[test]
    fn nodes_of_different_shapes_are_not_folded() {
        let mut y = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
        for _ in 0..6 {
            y = Tensor::concat(ndarray::Axis(0), &[&y, &y]);
        }
        assert_eq!(found(&y), []);
    }
}
