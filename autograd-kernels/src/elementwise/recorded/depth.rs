//! How many rows of lanes the numbers of a replay have: its depth. Loops are compiled for each.

use super::rows::WIDTH;
use crate::loops::wide::{Loop, compiled};

/// The most rows of a number.
pub(super) const DEEPEST: usize = 2;

/// The most bytes of the rows of a number. The time to choose an instruction is little beside that of so many; of twice as
/// many, the rows of some hundred operations would be too large for the fastest caches.
const BYTES: usize = 256;

/// Returns how many rows each number has in replays of so many lanes: two only where few lanes are computed in vain.
pub(crate) const fn depth<T>(lanes: usize) -> usize {
    let rows = lanes.div_ceil(WIDTH);
    if may_be_deep::<T>() && (rows.is_multiple_of(DEEPEST) || rows > 2 * DEEPEST) {
        DEEPEST
    } else {
        1
    }
}

/// Returns whether replays of numbers of this type may have more than one row.
const fn may_be_deep<T>() -> bool {
    size_of::<T>() * WIDTH * DEEPEST <= BYTES
}

/// A loop over replays.
pub(crate) trait OfReplays {
    /// The element type.
    type Element;

    /// Runs the loop, of this depth.
    fn run<const DEPTH: usize>(self);
}

/// A loop of one depth.
struct OfDepth<W, const DEPTH: usize>(W);

impl<W: OfReplays, const DEPTH: usize> Loop for OfDepth<W, DEPTH> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        self.0.run::<DEPTH>();
    }
}

/// Runs a loop that was compiled for the depth.
pub(crate) fn of_depth<W: OfReplays>(depth: usize, work: W) {
    if depth == 1 || const { !may_be_deep::<W::Element>() } {
        compiled(OfDepth::<_, 1>(work));
    } else {
        compiled(OfDepth::<_, DEEPEST>(work));
    }
}
