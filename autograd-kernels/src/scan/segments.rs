//! The segments of time that backward runs again, and the states that forward saves for them.

use std::mem::take;
use std::ops::Range;

use ndarray::ArrayView2;

use crate::element::Element;
use crate::memory;

/// The most steps that loops compute at a time: the inputs that are copied for them stay in the cache.
pub(super) const CHUNK: usize = 32;

/// The same of one or two lanes.
pub(super) const CHUNK_OF_FEW: usize = 1024;

/// The longest segment of which a pass backward keeps anything: the inputs that are copied are those of a whole segment.
pub(super) const LONGEST: usize = 4 * CHUNK;

/// The most bytes that a pass backward keeps of a segment, of a row of lanes: they stay in the cache.
pub(super) const KEPT: usize = 512 << 10;

/// The states before the first step of each segment but the first one.
#[doc(hidden)]
#[derive(Debug)]
pub struct Checkpoints<T> {
    /// A row for each state of each segment.
    pub(super) elements: Vec<T>,
    pub(super) lanes: usize,
}

impl<T: Element> Checkpoints<T> {
    /// Returns the number of bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.elements.len() * size_of::<T>()
    }

    pub(super) fn view(&self) -> ArrayView2<'_, T> {
        let rows = self.elements.len().checked_div(self.lanes).unwrap_or(0);
        // INVARIANT: whole rows.
        ArrayView2::from_shape([rows, self.lanes], &self.elements).expect("whole rows")
    }
}

impl<T> Drop for Checkpoints<T> {
    fn drop(&mut self) {
        memory::give_back(take(&mut self.elements));
    }
}

/// Returns the number of steps of a segment.
pub(super) fn segment(steps: usize) -> usize {
    let root = steps.isqrt();
    (root + usize::from(root * root < steps)).max(1)
}

/// Returns the steps of each segment.
pub(super) fn segments(
    steps: usize,
) -> impl DoubleEndedIterator<Item = Range<usize>> + ExactSizeIterator {
    let length = segment(steps);
    (0..steps.div_ceil(length)).map(move |index| {
        let start = index * length;
        start..steps.min(start + length)
    })
}

/// Returns the steps that loops compute at a time.
pub(super) fn chunks(
    steps: &Range<usize>,
    length: usize,
) -> impl DoubleEndedIterator<Item = Range<usize>> + use<> {
    let (start, end) = (steps.start, steps.end);
    (0..steps.len().div_ceil(length)).map(move |index| {
        let start = start + index * length;
        start..end.min(start + length)
    })
}
