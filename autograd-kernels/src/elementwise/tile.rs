//! What tensors of pairs have an item for, and the pairs that are computed at a time.

use std::ops::Range;

/// What a tensor has an item for.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Each row.
    Row,
    /// Each column.
    Column,
    /// One item, for all pairs.
    All,
}

/// The columns of a tile: their results stay in the nearest cache.
pub(super) const TILE: usize = 1024;

/// The number of sums for a row and a tile: each is that of the columns that are so far apart.
pub(super) const WIDTH: usize = 128;

/// Some rows, with the columns of a tile.
#[derive(Debug)]
pub struct Tile<'a, 'b, T> {
    pub(super) rows: Range<usize>,
    /// The number of columns, at most [`TILE`].
    pub(super) columns: usize,
    /// A slice for each number of the inputs, and of the gradients of outputs. Those of columns have an element for each
    /// of the tile, up to a multiple of `LANES`; others one for each row, or one for all.
    pub(super) inputs: &'a [&'a [T]],
    /// The sums of the results, or empty where one is not wanted. Those of columns have an element for each of the tile, to
    /// which those of these rows are added. Others have [`WIDTH`] elements for each row, which are written.
    pub(super) sums: &'a mut [&'b mut [T]],
}
