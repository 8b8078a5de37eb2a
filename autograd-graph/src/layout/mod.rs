//! Layered layout of boxes, and routes of the arcs between them.
//!
//! The steps are those of Sugiyama, Tagawa and Toda, *Methods for Visual Understanding of Hierarchical
//! System Structures* (1981): `ranks` assigns each box a layer, `order` orders each layer with few crossings,
//! `place` assigns coordinates, `straight` aligns the waypoints of an arc vertically, `routes` routes the arcs. An
//! arc that passes layers has a waypoint in each, and arcs from one box share theirs.

mod order;
mod place;
mod ranks;
mod rect;
mod routes;
mod straight;

pub(super) use rect::{FRAME, Rect, Size};
pub(super) use routes::{Route, arriving_width};

use crate::picture::{Picture, ancestors};
use order::Layered;
use place::Places;
use rect::{FRAME_TOP, bands};

/// The positions of boxes, frames and arcs.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) boxes: Vec<Rect>,
    /// `None` for a frame without boxes.
    pub(super) frames: Vec<Option<Rect>>,
    /// One for each arc.
    pub(super) routes: Vec<Route>,
}

/// Computes the layout of boxes of these `sizes`, and of arcs with labels of these widths.
pub(super) fn layout(picture: &Picture, sizes: &[Size], labels: &[f64]) -> Layout {
    let mut layered = Layered::new(&ranks::layers(picture), &picture.arcs);
    layered.reduce_crossings();
    let places = Places::new(sizes, labels, &layered, picture);
    let frames = frames(&layered, &places, picture);
    let routes = routes::routes(&picture.arcs, labels, &layered, &places);
    let mut layout = Layout {
        width: 0.0,
        height: 0.0,
        boxes: places.boxes,
        frames,
        routes,
    };
    layout.move_to_corner();
    layout
}

/// Returns the frames around their boxes, the frames inside and the waypoints of arcs from or to these.
fn frames(layered: &Layered, places: &Places, picture: &Picture) -> Vec<Option<Rect>> {
    let groups = &picture.groups;
    let mut frames: Vec<Option<Rect>> = vec![None; groups.len()];
    let grow = |frame: &mut Option<Rect>, rect: Rect| {
        *frame = Some(frame.map_or(rect, |frame| frame.around(rect)));
    };
    for (shown, rect) in picture.boxes.iter().zip(&places.boxes) {
        if let Some(group) = shown.group {
            grow(&mut frames[group], *rect);
        }
    }
    for (group, rect) in waypoints_within(layered, places, picture) {
        grow(&mut frames[group], rect);
    }
    // A frame is listed after those around it.
    for group in (0..groups.len()).rev() {
        let Some(contents) = frames[group] else {
            continue;
        };
        let frame = Rect {
            x: contents.x - FRAME,
            y: contents.y - FRAME_TOP,
            width: contents.width + 2.0 * FRAME,
            height: contents.height + FRAME_TOP + FRAME,
        };
        frames[group] = Some(frame);
        if let Some(parent) = groups[group].parent {
            grow(&mut frames[parent], frame);
        }
    }
    frames
}

/// Returns the waypoints beside the boxes of a frame, of arcs that begin or end in it.
fn waypoints_within(layered: &Layered, places: &Places, picture: &Picture) -> Vec<(usize, Rect)> {
    let around = |number: usize| ancestors(&picture.groups, picture.boxes[number].group);
    let bands = bands(picture, &layered.layer_of);
    let mut found = Vec::new();
    for (arc, way) in picture.arcs.iter().zip(&layered.ways) {
        for group in around(arc.from).chain(around(arc.to)) {
            let waypoints = way.iter().filter(|vertex| layered.is_waypoint(**vertex));
            found.extend(waypoints.filter_map(|&vertex| {
                let layer = layered.layer_of[vertex];
                let (first, last) = bands[group]?;
                let (top, bottom) = places.layers[layer];
                let rect = Rect::line(places.x[vertex], top, bottom);
                (first..=last).contains(&layer).then_some((group, rect))
            }));
        }
    }
    found
}

impl Layout {
    /// Moves everything so that the upper left corner is at the origin.
    fn move_to_corner(&mut self) {
        let points = self.routes.iter().flat_map(|route| &route.points);
        let points = points.map(|&(x, y)| Rect::line(x, y, y));
        let rects = self.boxes.iter().chain(self.frames.iter().flatten());
        let Some(whole) = rects.copied().chain(points).reduce(Rect::around) else {
            return;
        };
        (self.width, self.height) = (whole.width, whole.height);
        let frames = self.frames.iter_mut().flatten();
        for rect in self.boxes.iter_mut().chain(frames) {
            rect.x -= whole.x;
            rect.y -= whole.y;
        }
        for (x, y) in self.routes.iter_mut().flat_map(|route| &mut route.points) {
            *x -= whole.x;
            *y -= whole.y;
        }
    }
}

#[cfg(test)]
mod tests;
