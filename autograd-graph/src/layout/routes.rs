//! The routes of arcs.

use super::order::Layered;
use super::place::Places;
use crate::picture::Arc;

/// The room beside the label of an arc, and for an arc without a label.
const BESIDE_LABEL: f64 = 10.0;
const WITHOUT_LABEL: f64 = 12.0;
/// The largest offset at which the only arc of a box arrives straight.
const NEARLY: f64 = 12.0;

/// The route of an arc.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Route {
    /// The ends of curves and of vertical lines, in turn: from the first point to the second there is a curve.
    pub(crate) points: Vec<(f64, f64)>,
}

/// Returns the total width of the labels of the arcs that end at one box.
pub(crate) fn arriving_width(labels: impl Iterator<Item = f64>) -> f64 {
    labels.map(slot).sum()
}

fn slot(label: f64) -> f64 {
    if label > 0.0 {
        label + BESIDE_LABEL
    } else {
        WITHOUT_LABEL
    }
}

pub(super) fn routes(
    arcs: &[Arc],
    labels: &[f64],
    layered: &Layered,
    places: &Places,
) -> Vec<Route> {
    let ports = ports(arcs, labels, layered, places);
    let route = |(number, arc): (usize, &Arc)| {
        let way = &layered.ways[number];
        let mut points = Vec::with_capacity(2 * way.len());
        let (first, through) = (way[0], &way[1..way.len() - 1]);
        let from = if layered.is_waypoint(first) {
            (places.x[first], places.layers[layered.layer_of[first]].1)
        } else {
            (places.x[first], places.boxes[first].bottom())
        };
        points.push(from);
        for waypoint in through {
            let (top, bottom) = places.layers[layered.layer_of[*waypoint]];
            points.push((places.x[*waypoint], top));
            points.push((places.x[*waypoint], bottom));
        }
        points.push((ports[number], places.boxes[arc.to].y));
        Route { points }
    };
    arcs.iter().enumerate().map(route).collect()
}

/// Returns where each arc ends: beside the others of its box, in the order of their origins.
fn ports(arcs: &[Arc], labels: &[f64], layered: &Layered, places: &Places) -> Vec<f64> {
    let mut arriving: Vec<Vec<usize>> = vec![Vec::new(); places.boxes.len()];
    for (number, arc) in arcs.iter().enumerate() {
        arriving[arc.to].push(number);
    }
    let mut ports = vec![0.0; arcs.len()];
    // INVARIANT: a way has two ends.
    let before = |number: &usize| layered.ways[*number].iter().rev().nth(1).copied();
    let from = |number: &usize| before(number).map_or(0.0, |vertex| places.x[vertex]);
    for (to, mut numbers) in arriving.into_iter().enumerate() {
        let middle = places.boxes[to].middle();
        if let [number] = numbers[..] {
            let straight = (from(&number) - middle).abs() < NEARLY;
            ports[number] = if straight { from(&number) } else { middle };
            continue;
        }
        numbers.sort_by(|a, b| from(a).total_cmp(&from(b)));
        let width: f64 = numbers.iter().map(|number| slot(labels[*number])).sum();
        let mut x = middle - width / 2.0;
        for number in numbers {
            let slot = slot(labels[number]);
            ports[number] = x + slot / 2.0;
            x += slot;
        }
    }
    ports
}
