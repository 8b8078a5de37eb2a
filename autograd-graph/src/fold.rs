//! Finding what is repeated.
//!
//! # Note [Folding]
//! The nodes of functions, in falling order of sequence numbers, are a text; a letter is a name, a line
//! and the shapes of the outputs. What a loop applied is then a word that follows on itself, and the edges
//! decide whether the repetitions are joined alike (`joined_alike`). Such words are looked for with windows
//! of 1, 2, 4, … letters: if a word is no longer than the window, the distance from one occurrence of the
//! window to the next is the word's length. Short words come first, and what is found becomes one letter
//! before the next, larger window: so repetitions inside of repetitions are found too. Each window takes one
//! walk along the text and one table, n log n in all; a long chain of one function is a single letter after
//! the first.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};

use crate::nodes::{Nodes, index};
use crate::runs::{Run, joined_alike};

/// The longest window, and the one for blocks that are longer than twice that: they are found where so many
/// letters occur in a block only once.
const LARGEST_WINDOW: usize = 4096;
const LAST_WINDOW: usize = 64;

/// How many blocks are folded, and of how many nodes blocks that occur only twice are.
const TIMES: usize = 3;
const NODES_OF_TWO: usize = 6;

/// A letter of the text: a node, or a run that was found before.
#[derive(Clone, Debug)]
struct Letter {
    id: u32,
    start: usize,
    len: usize,
    run: Option<Run>,
}

/// The repetitions among the nodes of functions, in order.
pub(crate) fn runs(nodes: &Nodes<'_>) -> Vec<Run> {
    let mut folder = Folder::new(nodes);
    let mut window = 1;
    while window <= LARGEST_WINDOW && 2 * window <= folder.text.len() {
        folder.fold(window, 2 * window);
        window *= 2;
    }
    folder.fold(LAST_WINDOW, usize::MAX);
    let runs = folder.text.into_iter();
    runs.filter_map(|letter| letter.run).collect()
}

struct Folder<'a, 'g> {
    nodes: &'a Nodes<'g>,
    text: Vec<Letter>,
    /// The numbers of folded words: of a word's letters and how often it occurs.
    words: HashMap<(Vec<u32>, usize), u32>,
    letters: u32,
    /// Whether no edge leads past a node from before it to behind it.
    is_cut: Vec<bool>,
}

/// A word that follows on itself in the text.
#[derive(Clone, Copy)]
struct Repeat {
    start: usize,
    period: usize,
    /// Where the last letter that equals the one a period before it ends.
    end: usize,
}

impl<'a, 'g> Folder<'a, 'g> {
    fn new(nodes: &'a Nodes<'g>) -> Self {
        let mut ids = HashMap::new();
        let letter = |node: usize| {
            let next = index(ids.len());
            let id = *ids.entry(fingerprint(nodes, node)).or_insert(next);
            let (start, len, run) = (node, 1, None);
            Letter {
                id,
                start,
                len,
                run,
            }
        };
        let text = (0..nodes.functions).map(letter).collect();
        Self {
            nodes,
            text,
            letters: index(ids.len()),
            words: HashMap::new(),
            is_cut: cuts(nodes),
        }
    }

    /// Folds the words of so many letters at most that windows of this size show.
    fn fold(&mut self, window: usize, longest: usize) {
        let next = next_occurrences(&self.text, window);
        let mut folded: Vec<Letter> = Vec::with_capacity(self.text.len());
        // What was looked at last, so that no text is compared with itself twice at the same distance.
        let (mut period, mut end) = (0, 0);
        let mut refused = (0, 0);
        let mut at = 0;
        while at < self.text.len() {
            let distance = next[at] as usize;
            let is_new = distance != refused.0 || at >= refused.1;
            if (1..=longest).contains(&distance) && is_new {
                if distance != period || at + period >= end {
                    (period, end) = (distance, self.equal_until(at, distance));
                }
                if end >= at + 2 * period {
                    let start = self.begin(at, period, &folded);
                    let repeat = Repeat { start, period, end };
                    if let Some((before, letter, behind)) = self.folded(repeat) {
                        folded.truncate(folded.len() - (at - start));
                        folded.extend_from_slice(&self.text[start..before]);
                        folded.push(letter);
                        at = behind;
                        continue;
                    }
                    refused = (period, end - period);
                }
            }
            folded.push(self.text[at].clone());
            at += 1;
        }
        self.text = folded;
    }

    /// Where the text that equals itself at this distance ends: the end of the later one.
    fn equal_until(&self, at: usize, distance: usize) -> usize {
        let pairs = self.text[at..].iter().zip(&self.text[at + distance..]);
        let equal = pairs.take_while(|(letter, other)| letter.id == other.id);
        at + distance + equal.count()
    }

    /// Where it begins: letters that were passed, but not folded in this walk, may belong to it.
    fn begin(&self, at: usize, period: usize, folded: &[Letter]) -> usize {
        let mut start = at;
        let mut passed = folded.iter().rev();
        while start > 0
            && self.text[start - 1].id == self.text[start - 1 + period].id
            && passed
                .next()
                .is_some_and(|letter| letter.start == self.text[start - 1].start)
        {
            start -= 1;
        }
        start
    }

    /// Makes one letter of a word that follows on itself; the places in the text where that begins, and
    /// where it ends.
    fn folded(&mut self, repeat: Repeat) -> Option<(usize, Letter, usize)> {
        let Repeat { start, period, end } = repeat;
        let (times, rest) = ((end - start) / period, (end - start) % period);
        // Where the word begins is open within the rest: best at a node that all paths go through.
        let is_cut = |offset: &usize| self.is_cut[self.text[start + offset].start];
        let start = start + (0..=rest).find(is_cut).unwrap_or(0);
        let word = &self.text[start..start + period];
        let first = word[0].start;
        let len = word.iter().map(|letter| letter.len).sum();
        let times = joined_alike(self.nodes, first, len, times);
        if times < 2 || (times < TIMES && len < NODES_OF_TWO) {
            return None;
        }
        let inner = word.iter().filter_map(|letter| letter.run.clone());
        let run = Run {
            start: first,
            period: len,
            times,
            inner: inner.collect(),
        };
        let ids = word.iter().map(|letter| letter.id).collect();
        let fresh = self.letters + index(self.words.len());
        let id = *self.words.entry((ids, times)).or_insert(fresh);
        let letter = Letter {
            id,
            start: first,
            len: len * times,
            run: Some(run),
        };
        Some((start, letter, start + period * times))
    }
}

/// A number that tells nodes apart which are no repetitions of each other.
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

fn cuts(nodes: &Nodes<'_>) -> Vec<bool> {
    let mut farthest = 0;
    let mut is_cut = Vec::with_capacity(nodes.functions);
    for node in 0..nodes.functions {
        is_cut.push(farthest <= node);
        let to = nodes.links(node).iter().map(|link| link.to);
        let to = to.filter(|to| !nodes.is_leaf(*to));
        farthest = to.map(|to| to as usize).fold(farthest, usize::max);
    }
    is_cut
}

/// For each place, how far it is to where the same letters as in the window there occur next; 0 if they do
/// not.
fn next_occurrences(text: &[Letter], window: usize) -> Vec<u32> {
    /// Odd, without a pattern.
    const BASE: u64 = 0x9E37_79B9_7F4A_7C15;
    let power = (0..window).fold(1_u64, |power, _| power.wrapping_mul(BASE));
    let mut next = vec![0; text.len()];
    let mut latest: HashMap<u64, u32, BuildHasherDefault<Folded>> = HashMap::default();
    // Letters are mixed, so that small numbers do not cancel each other.
    let mixed = |at: usize| {
        (u64::from(text[at].id) + 1)
            .wrapping_mul(BASE)
            .rotate_left(29)
    };
    let mut hash = 0_u64;
    for at in (0..text.len()).rev() {
        // The first letter has the lowest power, so one is added in front and one falls off the end.
        hash = hash.wrapping_mul(BASE).wrapping_add(mixed(at));
        if at + window < text.len() {
            hash = hash.wrapping_sub(mixed(at + window).wrapping_mul(power));
        }
        if at + window <= text.len()
            && let Some(later) = latest.insert(hash, index(at))
        {
            next[at] = later - index(at);
        }
    }
    next
}

/// The hasher of numbers that are hashes already: their halves, folded.
#[derive(Default)]
struct Folded(u64);

impl Hasher for Folded {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0.rotate_left(8) ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash ^ hash.rotate_left(32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Graph;
    use autograd_core::ndarray::{self, array};
    use autograd_core::{Tensor, Tensor1};

    fn text(ids: &[u32]) -> Vec<Letter> {
        let letter = |(start, &id): (usize, &u32)| Letter {
            id,
            start,
            len: 1,
            run: None,
        };
        ids.iter().enumerate().map(letter).collect()
    }

    #[test]
    fn windows_occur_again_where_all_their_letters_do() {
        let text = text(&[1, 2, 1, 3, 1, 2, 1]);
        assert_eq!(next_occurrences(&text, 1), [2, 4, 2, 0, 2, 0, 0]);
        assert_eq!(next_occurrences(&text, 2), [4, 4, 0, 0, 0, 0, 0]);
        assert_eq!(next_occurrences(&text, 3), [4, 0, 0, 0, 0, 0, 0]);
        assert_eq!(next_occurrences(&text, 4), [0; 7]);
    }

    /// The runs behind `y`: start, period, times, and the number of runs within.
    fn found(y: &Tensor1<f64>) -> Vec<(usize, usize, usize, usize)> {
        let graph = Graph::of(y);
        let runs = runs(&Nodes::behind(&graph.roots)).into_iter();
        runs.map(|run| (run.start, run.period, run.times, run.inner.len()))
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
    fn what_occurs_twice_is_folded_if_it_is_long() {
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
    fn the_beginning_of_a_loop_is_where_all_paths_meet() {
        let mut y = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
        for _ in 0..9 {
            y = &y.tanh() + &y.exp();
        }
        // From the outputs: the sum, then both that it adds.
        assert_eq!(found(&y), [(0, 3, 9, 0)]);
    }

    #[test]
    fn other_shapes_are_no_repetition() {
        let mut y = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
        for _ in 0..6 {
            y = Tensor::concat(ndarray::Axis(0), &[&y, &y]);
        }
        assert_eq!(found(&y), []);
    }
}
