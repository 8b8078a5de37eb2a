//! The coordinates of boxes and waypoints.

use super::order::Layered;
use super::rect::{FRAME, FRAME_TOP, Rect, Size, bands};
use super::straight::straighten;
use crate::picture::{Picture, ancestors};

/// The room beside a box, beside a waypoint, and between layers.
const BESIDE: f64 = 28.0;
const BESIDE_WAYPOINT: f64 = 12.0;
const BETWEEN: f64 = 34.0;
/// The room for the labels of arcs.
const LABELS: f64 = 16.0;
/// Additional room for arcs that lead far to the side, which are then less flat: a factor of the distance, and a limit.
const SLOPE: f64 = 0.06;
const MOST_SLOPE: f64 = 44.0;
/// The weight of a leaf as a neighbor; that of other boxes is 1.
const OF_LEAF: f64 = 0.2;
/// The number of times that positions are improved, down and up, and that of a drawing with many vertices.
const ROUNDS: usize = 24;
const LARGE: usize = 3000;
const ROUNDS_OF_LARGE: usize = 6;

/// The positions of boxes and waypoints.
pub(super) struct Places {
    pub(super) boxes: Vec<Rect>,
    /// The middle of each vertex.
    pub(super) x: Vec<f64>,
    /// The upper and the lower end of each layer.
    pub(super) layers: Vec<(f64, f64)>,
}

impl Places {
    /// Places boxes of these `sizes`, under arcs with labels of these widths.
    pub(super) fn new(
        sizes: &[Size],
        labels: &[f64],
        layered: &Layered,
        picture: &Picture,
    ) -> Self {
        let apart = apart(sizes, layered, picture);
        let mut x = horizontal(layered, &apart);
        straighten(&mut x, layered, &apart);
        let layers = vertical(sizes, labels, layered, picture, &x);
        let boxes = sizes.iter().enumerate().map(|(number, size)| {
            let (top, bottom) = layers[layered.layer_of[number]];
            Rect {
                x: x[number] - size.width / 2.0,
                y: f64::midpoint(top, bottom) - size.height / 2.0,
                width: size.width,
                height: size.height,
            }
        });
        Self {
            boxes: boxes.collect(),
            x,
            layers,
        }
    }
}

/// Returns the minimum distance of the middles of two neighbors in a layer. Between an arc that passes frames and the
/// boxes in them there is room for the borders.
fn apart<'a>(
    sizes: &'a [Size],
    layered: &'a Layered,
    picture: &Picture,
) -> impl Fn(usize, usize) -> f64 + 'a {
    let mut borders = vec![0.0_f64; layered.layers.len()];
    for (number, shown) in picture.boxes.iter().enumerate() {
        let frames = ancestors(&picture.groups, shown.group);
        let border = &mut borders[layered.layer_of[number]];
        *border = border.max(FRAME * frames.count() as f64);
    }
    let half = |vertex: usize| sizes.get(vertex).map_or(0.0, |size| size.width / 2.0);
    move |left, right| {
        let beside = if layered.is_waypoint(left) || layered.is_waypoint(right) {
            BESIDE_WAYPOINT + borders[layered.layer_of[left]]
        } else {
            BESIDE
        };
        half(left) + beside + half(right)
    }
}

/// Moves each vertex toward its neighbors. Waypoints have the largest weight, so that long arcs are straight; leaves
/// have the smallest, so that the main path stays straight.
fn horizontal(layered: &Layered, apart: &impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let mut x = vec![0.0; layered.layer_of.len()];
    for layer in &layered.layers {
        let offsets = offsets(layer, apart);
        let middle = offsets.last().map_or(0.0, |last| last / 2.0);
        for (vertex, offset) in layer.iter().zip(offsets) {
            x[*vertex] = offset - middle;
        }
    }
    let strength = |a: usize, b: usize| match (layered.is_waypoint(a), layered.is_waypoint(b)) {
        (true, true) => 8.0,
        (false, false) if layered.above[a].is_empty() || layered.above[b].is_empty() => OF_LEAF,
        (false, false) => 1.0,
        _ => 2.0,
    };
    let count = layered.layers.len();
    let rounds = if x.len() > LARGE {
        ROUNDS_OF_LARGE
    } else {
        ROUNDS
    };
    for round in 0..2 * rounds {
        let both = round + 6 >= 2 * rounds;
        for step in 0..count {
            let down = round % 2 == 0;
            let layer = &layered.layers[if down { step } else { count - 1 - step }];
            let wishes = layer.iter().map(|&vertex| {
                let (mut sum, mut weight) = (0.0, 0.0);
                let above = layered.above[vertex].iter().filter(|_| down || both);
                let below = layered.below[vertex].iter().filter(|_| !down || both);
                for &other in above.chain(below) {
                    sum += strength(vertex, other) * x[other];
                    weight += strength(vertex, other);
                }
                if weight == 0.0 {
                    (x[vertex], 0.1)
                } else {
                    (sum / weight, weight)
                }
            });
            let wishes: Vec<(f64, f64)> = wishes.collect();
            let offsets = offsets(layer, apart);
            for (vertex, nearest) in layer.iter().zip(nearest(&wishes, &offsets)) {
                x[*vertex] = nearest;
            }
        }
    }
    x
}

/// Returns the distance of each vertex of a layer from the first, if all are as close as allowed.
fn offsets(layer: &[usize], apart: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let mut offsets = Vec::with_capacity(layer.len());
    for (position, vertex) in layer.iter().enumerate() {
        offsets.push(match position.checked_sub(1) {
            None => 0.0,
            Some(before) => offsets[before] + apart(layer[before], *vertex),
        });
    }
    offsets
}

/// Returns the positions in order, at least as far apart as the offsets, with the least weighted squared distances from
/// the wishes. After subtracting the offsets it is an isotonic regression, by pooling adjacent violators.
fn nearest(wishes: &[(f64, f64)], offsets: &[f64]) -> Vec<f64> {
    // A pool is the sum of wishes by weight, the weight, and the number of vertices.
    let mut pools: Vec<(f64, f64, usize)> = Vec::new();
    for ((wish, weight), offset) in wishes.iter().zip(offsets) {
        let mut pool = (weight * (wish - offset), *weight, 1);
        while let Some(&(sum, weight, size)) = pools.last()
            && sum / weight >= pool.0 / pool.1
        {
            pools.pop();
            pool = (pool.0 + sum, pool.1 + weight, pool.2 + size);
        }
        pools.push(pool);
    }
    pools
        .iter()
        .flat_map(|&(sum, weight, size)| std::iter::repeat_n(sum / weight, size))
        .zip(offsets)
        .map(|(x, offset)| x + offset)
        .collect()
}

/// Returns the upper and the lower end of each layer.
fn vertical(
    sizes: &[Size],
    labels: &[f64],
    layered: &Layered,
    picture: &Picture,
    x: &[f64],
) -> Vec<(f64, f64)> {
    let count = layered.layers.len();
    let (mut above, mut below) = (vec![0.0; count], vec![0.0; count]);
    for (first, last) in bands(picture, &layered.layer_of).into_iter().flatten() {
        above[first] += FRAME_TOP;
        below[last] += FRAME;
    }
    let mut has_labels = vec![false; count];
    for (arc, label) in picture.arcs.iter().zip(labels) {
        has_labels[layered.layer_of[arc.to]] |= *label > 0.0;
    }
    let mut layers = Vec::with_capacity(count);
    let mut y = 0.0;
    for (number, layer) in layered.layers.iter().enumerate() {
        if number > 0 {
            let farthest = layer
                .iter()
                .flat_map(|&lower| {
                    layered.above[lower]
                        .iter()
                        .map(move |&upper| x[upper] - x[lower])
                })
                .fold(0.0, |farthest, offset| f64::max(farthest, offset.abs()));
            y += BETWEEN + (SLOPE * farthest).min(MOST_SLOPE) + below[number - 1] + above[number];
            if has_labels[number] {
                y += LABELS;
            }
        }
        let heights = layer.iter().filter_map(|vertex| sizes.get(*vertex));
        let height = heights.map(|size| size.height).fold(0.0, f64::max);
        layers.push((y, y + height));
        y += height;
    }
    layers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_the_wishes_where_there_is_room() {
        let wishes = [(0.0, 1.0), (10.0, 1.0), (10.0, 1.0), (40.0, 1.0)];
        let found = nearest(&wishes, &[0.0, 4.0, 8.0, 12.0]);
        assert_eq!(found, [0.0, 8.0, 12.0, 40.0]);
        // The wish with the larger weight is fulfilled.
        let found = nearest(&[(0.0, 1e9), (0.0, 1.0)], &[0.0, 5.0]);
        assert!(found[0].abs() < 1e-6 && (found[1] - 5.0).abs() < 1e-6);
        assert!(nearest(&[], &[]).is_empty());
    }
}
