//! The layer of each box.
//!
//! # Note [Bands]
//! A frame is a rectangle that must not contain other boxes: it has its own layers, and boxes that are listed before it
//! are above it in the drawing, boxes that are listed after it are below.

use super::rect::Item;
use crate::picture::{Arc, Group};

/// Returns the layers of the boxes, 0 at the top. An arc always leads down.
pub(super) fn layers(items: &[Item], arcs: &[Arc], groups: &[Group]) -> Vec<usize> {
    let mut ranks = ranks(items, arcs);
    lift_outputs(items, arcs, groups, &mut ranks);
    let highest = ranks.iter().copied().max().unwrap_or(0);
    ranks.into_iter().map(|rank| highest - rank).collect()
}

/// Returns `group` and the frames around it, the outermost first.
fn ancestors(groups: &[Group], group: Option<usize>) -> Vec<usize> {
    let mut ancestors: Vec<usize> =
        std::iter::successors(group, |group| groups[*group].parent).collect();
    ancestors.reverse();
    ancestors
}

/// Returns the ranks, counted from the bottom: each as low as the boxes that use its outputs allow.
fn ranks(items: &[Item], arcs: &[Arc]) -> Vec<usize> {
    let mut takers: Vec<Vec<usize>> = vec![Vec::new(); items.len()];
    for arc in arcs {
        takers[arc.from].push(arc.to);
    }
    let mut ranks = vec![0; items.len()];
    let (mut floor, mut highest) = (0, None);
    let mut around = None;
    for (number, item) in items.iter().enumerate() {
        if item.group != around {
            around = item.group;
            floor = highest.map_or(0, |highest: usize| highest + 1);
        }
        let above = takers[number].iter().map(|taker| ranks[*taker] + 1);
        ranks[number] = above.fold(floor, usize::max);
        highest = highest.max(Some(ranks[number]));
    }
    ranks
}

/// Moves outputs up to their functions, if no frame is in between.
fn lift_outputs(items: &[Item], arcs: &[Arc], groups: &[Group], ranks: &mut [usize]) {
    let mut bands: Vec<Option<(usize, usize)>> = vec![None; groups.len()];
    for (item, rank) in items.iter().zip(ranks.iter()) {
        for group in ancestors(groups, item.group) {
            let (low, high) = bands[group].unwrap_or((*rank, *rank));
            bands[group] = Some((low.min(*rank), high.max(*rank)));
        }
    }
    for arc in arcs.iter().filter(|arc| items[arc.to].is_output) {
        let own = ancestors(groups, items[arc.to].group);
        let foreign = |rank: usize| {
            let mut bands = bands.iter().enumerate();
            bands.find_map(|(group, band)| {
                let (low, high) = (*band)?;
                (!own.contains(&group) && (low..=high).contains(&rank)).then_some(low)
            })
        };
        let mut rank = ranks[arc.from].checked_sub(1);
        while let Some(low) = rank.and_then(foreign) {
            rank = low.checked_sub(1);
        }
        if let Some(rank) = rank {
            ranks[arc.to] = ranks[arc.to].max(rank);
        }
    }
}
