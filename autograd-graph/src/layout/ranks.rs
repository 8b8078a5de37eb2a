//! The layer of each box.
//!
//! # Note [Bands]
//! A frame is a rectangle that must not contain other boxes: it has its own layers, and boxes that are listed before it
//! are above it in the drawing, boxes that are listed after it are below.

use super::rect::bands;
use crate::picture::{Kind, Picture, ancestors};

/// Returns the layers of the boxes, 0 at the top. An arc always leads down.
pub(super) fn layers(picture: &Picture) -> Vec<usize> {
    let mut ranks = ranks(picture);
    lift_outputs(picture, &mut ranks);
    let highest = ranks.iter().copied().max().unwrap_or(0);
    ranks.into_iter().map(|rank| highest - rank).collect()
}

/// Returns the ranks, counted from the bottom: each as low as the boxes that use its outputs allow.
fn ranks(picture: &Picture) -> Vec<usize> {
    let mut takers: Vec<Vec<usize>> = vec![Vec::new(); picture.boxes.len()];
    for arc in &picture.arcs {
        takers[arc.from].push(arc.to);
    }
    let mut ranks = vec![0; picture.boxes.len()];
    let (mut floor, mut highest) = (0, None);
    let mut around = None;
    for (number, shown) in picture.boxes.iter().enumerate() {
        if shown.group != around {
            around = shown.group;
            floor = highest.map_or(0, |highest: usize| highest + 1);
        }
        let above = takers[number].iter().map(|taker| ranks[*taker] + 1);
        ranks[number] = above.fold(floor, usize::max);
        highest = highest.max(Some(ranks[number]));
    }
    ranks
}

/// Moves outputs up to their functions, if no frame is in between.
fn lift_outputs(picture: &Picture, ranks: &mut [usize]) {
    let bands = bands(picture, ranks);
    let is_output = |number: usize| picture.boxes[number].kind == Kind::Output;
    for arc in picture.arcs.iter().filter(|arc| is_output(arc.to)) {
        let around = picture.boxes[arc.to].group;
        let around: Vec<usize> = ancestors(&picture.groups, around).collect();
        let foreign = |rank: usize| {
            bands.iter().enumerate().find_map(|(group, band)| {
                let (low, high) = (*band)?;
                (!around.contains(&group) && (low..=high).contains(&rank)).then_some(low)
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
