//! Straightening long arcs, after all vertices have positions.

use super::order::Layered;

/// Aligns the waypoints of each arc vertically, as far as their neighbors leave room.
pub(super) fn straighten(x: &mut [f64], layered: &Layered, apart: &impl Fn(usize, usize) -> f64) {
    let mut positions = vec![0; layered.layer_of.len()];
    for layer in &layered.layers {
        for (position, vertex) in layer.iter().enumerate() {
            positions[*vertex] = position;
        }
    }
    let room = |vertex: usize, x: &[f64]| {
        let layer = &layered.layers[layered.layer_of[vertex]];
        let position = positions[vertex];
        let before = position.checked_sub(1).map(|position| layer[position]);
        let left = before.map(|other| x[other] + apart(other, vertex));
        let right = layer
            .get(position + 1)
            .map(|&other| x[other] - apart(vertex, other));
        (
            left.unwrap_or(f64::NEG_INFINITY),
            right.unwrap_or(f64::INFINITY),
        )
    };
    for way in layered.ways.iter().filter(|way| way.len() > 2) {
        let mut rest = &way[1..way.len() - 1];
        // INVARIANT: a way has two ends.
        let (from, to) = (way[0], way[way.len() - 1]);
        while !rest.is_empty() {
            let (mut left, mut right) = (f64::NEG_INFINITY, f64::INFINITY);
            let fits = rest.iter().take_while(|vertex| {
                let (l, r) = room(**vertex, x);
                let (l, r) = (left.max(l), right.min(r));
                if l <= r {
                    (left, right) = (l, r);
                }
                l <= r
            });
            let count = fits.count();
            // By rounding, a waypoint between two close neighbors may have no room at all.
            let (piece, after) = rest.split_at(count.max(1));
            if count > 0 {
                let mean = piece.iter().map(|vertex| x[*vertex]).sum::<f64>() / count as f64;
                // Aligned with an end, preferably that of the arrow, if there is room.
                let mut ends = [x[to], x[from]].into_iter();
                let end = ends.find(|end| after.is_empty() && (left..=right).contains(end));
                let aligned = end.unwrap_or_else(|| mean.clamp(left, right));
                for vertex in piece {
                    x[*vertex] = aligned;
                }
            }
            rest = after;
        }
    }
}
