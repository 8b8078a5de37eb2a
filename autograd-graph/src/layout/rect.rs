//! Rectangles.

/// The room within a frame, and above its contents for its label.
pub(crate) const FRAME: f64 = 14.0;
pub(crate) const FRAME_TOP: f64 = 30.0;

/// The size of a box, and the frame around it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) group: Option<usize>,
    /// Whether it is as near as possible to its function.
    pub(crate) is_output: bool,
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
