//! No ring of imports has more than two files, but for the types of the tape.

use std::collections::{BTreeMap, BTreeSet};

use super::{crates, imports, read};
use crate::sources::short;

/// A ring that remains, because the types of the tape are one recursive type: a node has hooks, hooks are given
/// gradients, gradients are tensors, a tensor has an edge, and an edge leads to a node.
const RECURSIVE: &str = "autograd-core/src/tape/";

/// For each file, the files that define what it uses, each with one of the paths.
type Edges = BTreeMap<String, BTreeMap<String, String>>;

fn edges(folder: &str, name: &str) -> Edges {
    let sources = read(folder);
    let file = |module: &[String]| short(&sources.modules[module].file);
    let mut edges = Edges::new();
    for import in imports::of(&sources, name) {
        let (from, to) = (file(&import.from), file(&import.home));
        if !import.is_reexport && !import.is_of_module && from != to {
            edges.entry(to.clone()).or_default();
            edges
                .entry(from)
                .or_default()
                .insert(to, import.path.join("::"));
        }
    }
    edges
}

/// Returns all files that a file leads to.
fn reached<'a>(edges: &'a Edges, from: &'a String) -> BTreeSet<&'a String> {
    let (mut seen, mut todo) = (BTreeSet::new(), vec![from]);
    while let Some(file) = todo.pop() {
        todo.extend(edges[file].keys().filter(|to| seen.insert(*to)));
    }
    seen
}

/// Returns the largest sets of files that all lead to each other.
fn rings(edges: &Edges) -> BTreeSet<BTreeSet<&String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> = edges
        .keys()
        .map(|file| (file, reached(edges, file)))
        .collect();
    let ring = |file| {
        let back = |other: &&String| reached[other].contains(file);
        reached[file].iter().copied().filter(back).collect()
    };
    edges.keys().map(ring).collect()
}

#[test]
fn no_ring_has_more_than_two_files() {
    let mut found = Vec::new();
    for (folder, name) in crates() {
        let edges = edges(&folder, name);
        for ring in rings(&edges) {
            let is_recursive = ring.iter().all(|file| file.starts_with(RECURSIVE));
            if ring.len() <= 2 || is_recursive {
                continue;
            }
            found.push(format!("a ring of {} files:", ring.len()));
            for from in &ring {
                for (to, path) in edges[*from].iter().filter(|(to, _)| ring.contains(to)) {
                    found.push(format!("  {from} uses `{path}` of {to}"));
                }
            }
        }
    }
    assert!(
        found.is_empty(),
        "move what both need into a file below both: {found:#?}"
    );
}
