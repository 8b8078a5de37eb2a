//! Boxes and waypoints in layers, in an order with few crossings.

use crate::picture::Arc;

/// The largest number of waypoints: beyond it, the longest arcs have none.
const WAYPOINTS: usize = 20_000;

/// The number of times that the layers are sorted, up and down, and that of a drawing with many vertices.
const SWEEPS: usize = 12;
const LARGE: usize = 3000;
const SWEEPS_OF_LARGE: usize = 4;

/// Vertices in layers: the boxes, then the waypoints.
#[derive(Debug)]
pub(super) struct Layered {
    pub(super) layers: Vec<Vec<usize>>,
    /// The layer of each vertex.
    pub(super) layer_of: Vec<usize>,
    pub(super) boxes: usize,
    /// The neighbors of each vertex in the layer above, and in that below.
    pub(super) above: Vec<Vec<usize>>,
    pub(super) below: Vec<Vec<usize>>,
    /// The vertices of each arc, from where it leaves the previous arc of its origin.
    pub(super) ways: Vec<Vec<usize>>,
}

impl Layered {
    pub(super) fn new(layer_of: &[usize], arcs: &[Arc]) -> Self {
        let boxes = layer_of.len();
        let count = layer_of.iter().max().map_or(0, |last| last + 1);
        let mut layered = Self {
            layers: vec![Vec::new(); count],
            layer_of: Vec::new(),
            boxes,
            above: Vec::new(),
            below: Vec::new(),
            ways: vec![Vec::new(); arcs.len()],
        };
        for layer in layer_of {
            layered.vertex(*layer);
        }
        let mut by_origin: Vec<Vec<usize>> = vec![Vec::new(); boxes];
        for (number, arc) in arcs.iter().enumerate() {
            by_origin[arc.from].push(number);
        }
        for (origin, mut numbers) in by_origin.into_iter().enumerate() {
            numbers.sort_by_key(|number| layer_of[arcs[*number].to]);
            layered.add_waypoints(origin, &numbers, arcs);
        }
        layered
    }

    fn vertex(&mut self, layer: usize) -> usize {
        let vertex = self.layer_of.len();
        self.layer_of.push(layer);
        self.layers[layer].push(vertex);
        self.above.push(Vec::new());
        self.below.push(Vec::new());
        vertex
    }

    fn join(&mut self, upper: usize, lower: usize) {
        self.below[upper].push(lower);
        self.above[lower].push(upper);
    }

    /// Adds the waypoints of the arcs of one origin, the shortest first.
    fn add_waypoints(&mut self, origin: usize, numbers: &[usize], arcs: &[Arc]) {
        let mut last = origin;
        for &number in numbers {
            let to = arcs[number].to;
            let needed = self.layer_of[to] - self.layer_of[last] - 1;
            if self.layer_of.len() - self.boxes + needed > WAYPOINTS {
                self.ways[number] = vec![origin, to];
                continue;
            }
            let mut way = vec![last];
            for layer in self.layer_of[last] + 1..self.layer_of[to] {
                let waypoint = self.vertex(layer);
                self.join(last, waypoint);
                way.push(waypoint);
                last = waypoint;
            }
            self.join(last, to);
            way.push(to);
            self.ways[number] = way;
        }
    }

    /// Returns whether a vertex is a waypoint.
    pub(super) fn is_waypoint(&self, vertex: usize) -> bool {
        vertex >= self.boxes
    }

    /// Sorts each layer by the mean position of the neighbors: the method of barycenters.
    pub(super) fn reduce_crossings(&mut self) {
        let sweeps = if self.layer_of.len() > LARGE {
            SWEEPS_OF_LARGE
        } else {
            SWEEPS
        };
        let mut positions = vec![0.0; self.layer_of.len()];
        for layer in &self.layers {
            set_positions(&mut positions, layer);
        }
        let mut fewest = usize::MAX;
        let mut best = self.layers.clone();
        for sweep in 0..sweeps {
            let count = self.layers.len();
            for step in 0..count {
                // From the bottom first: a box with several arcs is placed above all of their ends.
                let (layer, neighbors) = if sweep % 2 == 0 {
                    (count - 1 - step, &self.below)
                } else {
                    (step, &self.above)
                };
                sort(&mut self.layers[layer], neighbors, &positions);
                set_positions(&mut positions, &self.layers[layer]);
            }
            let crossings = self.crossings(&positions);
            if crossings < fewest {
                fewest = crossings;
                best.clone_from(&self.layers);
            }
            if fewest == 0 {
                break;
            }
        }
        self.layers = best;
    }

    /// Returns how many pairs of lines cross.
    pub(super) fn crossings(&self, positions: &[f64]) -> usize {
        self.layers
            .iter()
            .map(|layer| self.crossings_below(layer, positions))
            .sum()
    }

    fn crossings_below(&self, layer: &[usize], positions: &[f64]) -> usize {
        let mut ends = Vec::new();
        for vertex in layer {
            let mut of_vertex: Vec<f64> = self.below[*vertex]
                .iter()
                .map(|neighbor| positions[*neighbor])
                .collect();
            of_vertex.sort_by(f64::total_cmp);
            ends.extend(of_vertex);
        }
        inversions(&mut ends)
    }
}

fn set_positions(positions: &mut [f64], layer: &[usize]) {
    for (position, vertex) in layer.iter().enumerate() {
        positions[*vertex] = position as f64;
    }
}

fn sort(layer: &mut [usize], neighbors: &[Vec<usize>], positions: &[f64]) {
    let key = |vertex: &usize| {
        let neighbors = &neighbors[*vertex];
        if neighbors.is_empty() {
            return positions[*vertex];
        }
        let sum: f64 = neighbors.iter().map(|other| positions[*other]).sum();
        sum / neighbors.len() as f64
    };
    layer.sort_by(|a, b| key(a).total_cmp(&key(b)));
}

/// Returns how many pairs are in the wrong order, by a merge sort.
fn inversions(values: &mut Vec<f64>) -> usize {
    let mut count = 0;
    let mut width = 1;
    while width < values.len() {
        let mut merged = Vec::with_capacity(values.len());
        for pair in values.chunks(2 * width) {
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            while let (Some(l), Some(r)) = (left.first(), right.first()) {
                if r < l {
                    count += left.len();
                    merged.push(*r);
                    right = &right[1..];
                } else {
                    merged.push(*l);
                    left = &left[1..];
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        *values = merged;
        width *= 2;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inversions_are_pairs_in_the_wrong_order() {
        let mut values: Vec<f64> = [3, 1, 4, 1, 5, 9, 2, 6, 5].map(f64::from).to_vec();
        let by_hand: usize = values
            .iter()
            .enumerate()
            .map(|(at, x)| values[at..].iter().filter(|y| *y < x).count())
            .sum();
        assert_eq!(inversions(&mut values), by_hand);
        assert!(values.is_sorted());
    }

    fn arc(from: usize, to: usize) -> Arc {
        Arc {
            from,
            to,
            label: String::new(),
        }
    }

    fn crossings(layered: &Layered) -> usize {
        let mut positions = vec![0.0; layered.layer_of.len()];
        for layer in &layered.layers {
            set_positions(&mut positions, layer);
        }
        layered.crossings(&positions)
    }

    #[test]
    fn crossed_arcs_are_uncrossed() {
        // 0 to 2 are above, 3 to 5 below, each arc to the other side; 0 leads past its neighbors to 6.
        let arcs = [arc(0, 5), arc(1, 4), arc(2, 3), arc(0, 6), arc(5, 6)];
        let mut layered = Layered::new(&[0, 0, 0, 1, 1, 1, 2], &arcs);
        assert_eq!(layered.layer_of.len(), 8);
        assert!(layered.is_waypoint(7));
        layered.reduce_crossings();
        assert_eq!(crossings(&layered), 0);
    }

    /// Sorted by what is below alone, an arc still crosses another one.
    #[test]
    fn layers_are_sorted_by_both_of_their_neighbors() {
        let arcs = [arc(0, 4), arc(0, 6), arc(2, 5), arc(3, 6)];
        let mut layered = Layered::new(&[0, 0, 0, 0, 1, 1, 1], &arcs);
        layered.reduce_crossings();
        assert_eq!(crossings(&layered), 0);
    }
}
