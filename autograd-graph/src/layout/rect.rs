//! The sizes of boxes, the bands of frames, and rectangles.

use crate::picture::{Picture, ancestors};

/// The room within a frame, and above its contents for its label.
pub(crate) const FRAME: f64 = 14.0;
pub(crate) const FRAME_TOP: f64 = 30.0;

/// The size of a box.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// Returns the first and the last layer of each frame; `None` for a frame without boxes.
pub(super) fn bands(picture: &Picture, layers: &[usize]) -> Vec<Option<(usize, usize)>> {
    let mut bands = vec![None; picture.groups.len()];
    for (shown, &layer) in picture.boxes.iter().zip(layers) {
        for group in ancestors(&picture.groups, shown.group) {
            let (first, last) = bands[group].unwrap_or((layer, layer));
            bands[group] = Some((first.min(layer), last.max(layer)));
        }
    }
    bands
}

/// A rectangle: its upper left corner and its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rect {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Rect {
    /// Returns a vertical line.
    pub(crate) fn line(x: f64, top: f64, bottom: f64) -> Self {
        Self {
            x,
            y: top,
            width: 0.0,
            height: bottom - top,
        }
    }

    pub(crate) fn right(&self) -> f64 {
        self.x + self.width
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.y + self.height
    }

    pub(crate) fn middle(&self) -> f64 {
        self.x + self.width / 2.0
    }

    pub(super) fn around(self, other: Self) -> Self {
        let (x, y) = (self.x.min(other.x), self.y.min(other.y));
        Self {
            x,
            y,
            width: self.right().max(other.right()) - x,
            height: self.bottom().max(other.bottom()) - y,
        }
    }
}
