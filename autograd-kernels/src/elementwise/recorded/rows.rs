//! Rows of lanes, of which a replay has one for each number.

/// The lanes of a row: so few that the rows of some hundred operations stay in the fastest cache, and as many as the time
/// to choose an instruction is little beside.
pub(crate) const WIDTH: usize = 32;

/// One element for each lane, where a vector register is read in one piece.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Row<T>(pub(crate) [T; WIDTH]);
