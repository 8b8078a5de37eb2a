//! Repeated blocks of nodes, and which nodes of a drawing represent them.

use crate::nodes::{Link, Nodes};

/// Adjacent repetitions of a block of nodes: those at `start .. start + period * times`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) start: usize,
    pub(crate) period: usize,
    pub(crate) times: usize,
    /// The repetitions in the first block.
    pub(crate) inner: Vec<Run>,
}

impl Run {
    pub(crate) fn end(&self) -> usize {
        self.start + self.period * self.times
    }

    /// Returns the node of the first block that represents `node`, and the number of the block that contains `node`.
    fn first(&self, node: usize) -> (usize, usize) {
        let past = node - self.start;
        (self.start + past % self.period, past / self.period)
    }
}

/// Returns the run that contains `node`; `runs` are in order.
fn run_of(runs: &[Run], node: usize) -> Option<&Run> {
    let run = &runs[..runs.partition_point(|run| run.start <= node)];
    run.last().filter(|run| node < run.end())
}

/// Returns the node that is drawn for `node`.
pub(crate) fn drawn(runs: &[Run], node: usize) -> usize {
    match run_of(runs, node) {
        None => node,
        Some(run) => drawn(&run.inner, run.first(node).0),
    }
}

/// Returns between which nodes the edge `from` `to` is drawn; `None` for an edge from a block to the next, which is not
/// drawn.
pub(crate) fn drawn_edge(runs: &[Run], from: usize, to: usize) -> Option<(usize, usize)> {
    let (at, to_run) = (run_of(runs, from), run_of(runs, to));
    let Some(run) = at.filter(|at| to_run.is_some_and(|to| to.start == at.start)) else {
        return Some((drawn(runs, from), drawn(runs, to)));
    };
    let ((from, block), (to, to_block)) = (run.first(from), run.first(to));
    (block == to_block).then(|| drawn_edge(&run.inner, from, to))?
}

/// Returns how many of the `times` blocks, counted from the first, are connected in the same way.
///
/// An edge within a block must exist in each block. An edge to a later block must lead to the corresponding node, as
/// many blocks later; in the last blocks, anywhere outside. An edge to a node outside must lead to the same node, or to
/// one as much further as the block is. An edge to a leaf must lead to a leaf of the same shape.
pub(crate) fn equally_connected(
    nodes: &Nodes<'_>,
    start: usize,
    period: usize,
    times: usize,
) -> usize {
    let is_equal = |block, times| {
        (start..start + period).all(|node| {
            let other = node + block * period;
            let (links, others) = (nodes.links(node), nodes.links(other));
            let run = (start, period, times);
            links.len() == others.len()
                && links
                    .iter()
                    .zip(others)
                    .all(|(link, other)| lead_equally(nodes, run, block, *link, *other))
        })
    };
    for block in 1..times {
        if !is_equal(block, times) {
            // Edges from the last block may lead anywhere.
            return block + usize::from(is_equal(block, block + 1));
        }
    }
    times
}

/// Returns whether corresponding edges of the first block and of block number `block` lead to corresponding nodes.
fn lead_equally(
    nodes: &Nodes<'_>,
    (start, period, times): (usize, usize, usize),
    block: usize,
    link: Link,
    other: Link,
) -> bool {
    if (link.input, link.output_nr) != (other.input, other.output_nr) {
        return false;
    }
    let end = start + period * times;
    let (to, other_to) = (link.to as usize, other.to as usize);
    if link.to == other.to && to >= end {
        return true;
    }
    if nodes.is_leaf(link.to) {
        let shape = |link: Link| nodes.shape(link.to, link.output_nr);
        return nodes.is_leaf(other.to) && shape(link) == shape(other);
    }
    let moved = to + block * period;
    // After the last blocks there are none.
    other_to == moved || (to < end && moved >= end && other_to >= end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_nested_runs_are_drawn_in_the_first_block() {
        // Two nodes, then five times a block of six that has three times a block of one in it.
        let inner = vec![Run {
            start: 3,
            period: 1,
            times: 3,
            inner: Vec::new(),
        }];
        let runs = [Run {
            start: 2,
            period: 6,
            times: 5,
            inner,
        }];
        let all: Vec<usize> = (0..16).map(|node| drawn(&runs, node)).collect();
        assert_eq!(all, [0, 1, 2, 3, 3, 3, 6, 7, 2, 3, 3, 3, 6, 7, 2, 3]);
        assert_eq!(drawn(&runs, 32), 32);
        assert_eq!(drawn_edge(&runs, 1, 10), Some((1, 3)));
        assert_eq!(drawn_edge(&runs, 8, 9), Some((2, 3)));
        assert_eq!(drawn_edge(&runs, 9, 10), None);
        assert_eq!(drawn_edge(&runs, 11, 12), Some((3, 6)));
        assert_eq!(drawn_edge(&runs, 13, 14), None);
        assert_eq!(drawn_edge(&runs, 31, 32), Some((7, 32)));
    }
}
