//! Rows of lanes, of which a replay has as many for each number as its [depth](super::depth).

use super::depth::DEEPEST;
use crate::element::Element;

/// The lanes of a row: so few that a formula of few lanes computes few in vain.
pub(crate) const WIDTH: usize = 32;

/// One element for each lane, where a vector register is read in one piece.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Row<T>(pub(crate) [T; WIDTH]);

impl<T: Element> Row<T> {
    /// Adds the lanes of another row.
    #[cfg_attr(optimized, inline(always))]
    pub(crate) fn add_lanes(&mut self, terms: &Self) {
        // A copy: the compiler does not know that the sums are elsewhere.
        let mut sums = self.0;
        for lane in 0..WIDTH {
            sums[lane] += terms.0[lane];
        }
        self.0 = sums;
    }
}

/// For each lane of the rows of a number whether it is meant.
pub(super) type Mask = [[bool; WIDTH]; DEEPEST];

/// Returns the rows of a number.
#[cfg_attr(optimized, inline(always))]
pub(super) fn rows_of<T>(rows: &[Row<T>], number: usize, depth: usize) -> &[Row<T>] {
    &rows[number * depth..][..depth]
}
