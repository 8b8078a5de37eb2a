//! The boxes of leaves. Leaves of corresponding nodes of repeated blocks share one box.

use std::collections::{BTreeSet, HashMap};

use crate::functions::{Functions, LeafUse};
use crate::options::Graph;
use crate::picture::{BoxId, DraftArc, Kind, Placed, Shown};
use crate::text::{count, line_of, number, pattern, push, series};
use autograd_core::AnyTensor;

/// From this number on, the leaves in one list are drawn as one box.
const OF_A_LIST: usize = 4;

/// The boxes and arcs of leaves.
pub(crate) struct Leaves {
    pub(crate) boxes: Vec<Placed>,
    pub(crate) arcs: Vec<DraftArc>,
    /// The box of each leaf that is drawn.
    pub(crate) numbers: HashMap<u32, usize>,
}

/// Leaves that share one box.
struct Class {
    leaves: Vec<u32>,
    /// Their uses: a box and the index of its input, in order.
    uses: BTreeSet<(usize, u32)>,
}

pub(crate) fn leaf_boxes(
    functions: &Functions<'_, '_>,
    uses: Vec<LeafUse>,
    graph: &Graph,
) -> Leaves {
    let classes = classes(functions, &uses, graph.fold);
    let classes = if graph.fold {
        lists_in_one(functions, classes)
    } else {
        classes
    };
    let mut leaves = Leaves {
        boxes: Vec::new(),
        arcs: Vec::new(),
        numbers: HashMap::new(),
    };
    for (box_number, class) in classes.iter().enumerate() {
        let numbered = class.leaves.iter().map(|leaf| (*leaf, box_number));
        leaves.numbers.extend(numbered);
        leaves.boxes.push(Placed {
            shown: shown(functions, class, graph),
            beside: class.uses.last().map(|(taker, _)| *taker),
        });
        leaves.arcs.extend(arcs(functions, class, box_number));
    }
    leaves
}

fn classes(functions: &Functions<'_, '_>, uses: &[LeafUse], fold: bool) -> Vec<Class> {
    let mut order = Vec::new();
    let mut by_leaf: HashMap<u32, BTreeSet<(usize, u32)>> = HashMap::new();
    for LeafUse { link, taker } in uses {
        let uses = by_leaf.entry(link.to).or_insert_with(|| {
            order.push(link.to);
            BTreeSet::new()
        });
        uses.insert((*taker, link.input));
    }
    // An output may be a leaf itself.
    let roots = functions.nodes.roots.iter().flatten();
    let roots: BTreeSet<u32> = roots
        .map(|link| link.to)
        .filter(|to| functions.nodes.is_leaf(*to))
        .collect();
    order.extend(roots.iter().filter(|root| !by_leaf.contains_key(root)));
    let mut numbers = HashMap::new();
    let mut classes: Vec<Class> = Vec::new();
    for leaf in order {
        let uses = by_leaf.remove(&leaf).unwrap_or_default();
        let alone = (!fold || roots.contains(&leaf)).then_some(leaf);
        let shape = functions.nodes.shape(leaf, 0).to_vec();
        let number = *numbers
            .entry((alone, shape, uses.clone()))
            .or_insert(classes.len());
        if number == classes.len() {
            let leaves = Vec::new();
            classes.push(Class { leaves, uses });
        }
        classes[number].leaves.push(leaf);
    }
    classes
}

/// Puts the leaves of a long list into one box.
fn lists_in_one(functions: &Functions<'_, '_>, classes: Vec<Class>) -> Vec<Class> {
    let list = |class: &Class| {
        let leaf = class.leaves[0];
        if class.leaves.len() > 1 || class.uses.len() > 1 || name(functions, leaf).is_some() {
            return None;
        }
        let &(taker, input) = class.uses.first()?;
        let node = functions.nodes.all[functions.shown[taker]?];
        let name = node.input_name(input as usize);
        let (list, _) = name.split_once('[')?;
        Some((
            taker,
            list.to_owned(),
            functions.nodes.shape(leaf, 0).to_vec(),
        ))
    };
    let mut sizes: HashMap<_, usize> = HashMap::new();
    for key in classes.iter().filter_map(list) {
        *sizes.entry(key).or_default() += 1;
    }
    let mut merged: Vec<Class> = Vec::new();
    let mut numbers = HashMap::new();
    for class in classes {
        let key = list(&class).filter(|key| sizes[key] >= OF_A_LIST);
        let Some(key) = key else {
            merged.push(class);
            continue;
        };
        let number = *numbers.entry(key).or_insert(merged.len());
        match merged.get_mut(number) {
            Some(whole) => {
                whole.leaves.extend(class.leaves);
                whole.uses.extend(class.uses);
            }
            None => merged.push(class),
        }
    }
    merged
}

fn arcs(functions: &Functions<'_, '_>, class: &Class, box_number: usize) -> Vec<DraftArc> {
    let mut arcs: Vec<(usize, Vec<String>)> = Vec::new();
    for &(taker, input) in &class.uses {
        let Some(node) = functions.shown[taker] else {
            continue;
        };
        let links = functions.nodes.links(node).iter();
        let link = links.copied().find(|link| link.input == input);
        let label = link.map_or_else(String::new, |link| functions.label(node, link));
        match arcs.last_mut() {
            Some((last, labels)) if *last == taker => labels.push(label),
            _ => arcs.push((taker, vec![label])),
        }
    }
    let arc = |(taker, labels): (usize, Vec<String>)| DraftArc {
        from: BoxId::Leaf(box_number),
        to: BoxId::Function(taker),
        label: series(&labels),
    };
    arcs.into_iter().map(arc).collect()
}

fn name<'a>(functions: &Functions<'a, '_>, leaf: u32) -> Option<&'a str> {
    let node = functions.nodes.all[leaf as usize];
    functions.names.of(node, 0)
}

fn shown(functions: &Functions<'_, '_>, class: &Class, graph: &Graph) -> Shown {
    let (nodes, all) = (functions.nodes, class.leaves.len());
    // In the innermost frame around all boxes that use them, if each repetition has its own.
    let mut takers = class.uses.iter().map(|(taker, _)| functions.groups[*taker]);
    let mut around = functions.ancestors(takers.next().flatten());
    for taker in takers {
        let others = functions.ancestors(taker);
        around.retain(|group| others.contains(group));
    }
    let own = |group: &usize| all.is_multiple_of(functions.occurrences(Some(*group)));
    let group = around.into_iter().find(own);
    let names: Vec<String> = class
        .leaves
        .iter()
        .filter_map(|leaf| name(functions, *leaf).map(str::to_owned))
        .collect();
    let first = class.leaves[0];
    let made_at = nodes.all[first as usize].applied_at();
    let mut lines = vec![nodes.shape(first, 0).to_string()];
    if graph.gradients {
        lines.push(gradients(functions, &class.leaves));
    }
    let mut hover = vec![format!("a leaf of shape {}", lines[0])];
    hover.push(format!("made at {made_at}"));
    if names.is_empty() {
        lines.push(line_of(made_at));
    } else if names.len() > 1 {
        hover.push(series(&names));
    }
    if all > 1 {
        hover.push(format!("represents {} leaves", count(all)));
    }
    Shown {
        kind: Kind::Leaf,
        title: if names.is_empty() {
            "leaf".to_owned()
        } else {
            pattern(&names)
        },
        times: all / functions.occurrences(group),
        lines,
        hover,
        group,
    }
}

/// Returns the norms of accumulated gradients: of several leaves, the smallest and the largest.
fn gradients(functions: &Functions<'_, '_>, leaves: &[u32]) -> String {
    let norm = |leaf: &u32| {
        let values: Vec<f64> = match functions.nodes.all[*leaf as usize].accumulated_grad()? {
            AnyTensor::F32(grad) => grad.view().iter().map(|x| f64::from(*x)).collect(),
            AnyTensor::F64(grad) => grad.view().iter().copied().collect(),
        };
        // Scaled by the largest, so that no square is out of range.
        let largest = values
            .iter()
            .fold(0.0_f64, |largest, x| largest.max(x.abs()));
        if largest == 0.0 || !largest.is_finite() {
            return Some(values.iter().map(|x| x * x).sum::<f64>().sqrt());
        }
        let sum: f64 = values.iter().map(|x| (x / largest) * (x / largest)).sum();
        Some(largest * sum.sqrt())
    };
    let norms: Vec<f64> = leaves.iter().filter_map(norm).collect();
    let missing = leaves.len() - norms.len();
    let Some(smallest) = norms.iter().copied().reduce(f64::min) else {
        return "no gradient".to_owned();
    };
    let largest = norms.iter().copied().fold(smallest, f64::max);
    let mut text = format!("|grad| {}", number(smallest));
    if number(smallest) != number(largest) {
        push!(&mut text, " to {}", number(largest));
    }
    if missing > 0 {
        push!(&mut text, ", {} without", count(missing));
    }
    text
}
