//! Operands whose rows are repeated or apart in memory, such as a bias that is added to each row of a matrix, for the
//! loops over slices.
//!
//! A block of rows at a time is copied to a buffer that stays in the fastest cache, so that the loop itself runs over
//! slices: a row that repeats is copied once.

use ndarray::iter::LanesIter;
use ndarray::{ArrayView, Dimension};

/// The number of elements in a block, unless one row has more.
const BLOCK: usize = 2048;

/// Returns the number of elements in a block of rows; `None` if the elements of some row are apart in memory, or there
/// are no rows.
pub(super) fn row_block<T, D: Dimension>(x: &ArrayView<'_, T, D>) -> Option<usize> {
    let (&row, &stride) = (x.shape().last()?, x.strides().last()?);
    let is_plain = row == 1 || stride == 0 || stride == 1;
    (is_plain && !x.is_empty()).then(|| row * (BLOCK / row).max(1))
}

/// The rows of a view in row-major order, block by block.
pub(super) struct RowBlocks<'a, T, D: Dimension> {
    rows: std::iter::Skip<LanesIter<'a, T, D::Smaller>>,
    /// The whole view, from the next row on, if its elements are contiguous.
    slice: Option<&'a [T]>,
    /// Whether all rows are one.
    repeats: bool,
    buffer: Vec<T>,
}

impl<'a, T: Copy, D: Dimension> RowBlocks<'a, T, D> {
    /// Begins with the row number `first`.
    pub(super) fn new(x: &'a ArrayView<'_, T, D>, first: usize) -> Self {
        let row = x.shape().last().copied().unwrap_or(1);
        let outer = x.ndim().saturating_sub(1);
        let mut axes = x.shape()[..outer].iter().zip(x.strides());
        Self {
            rows: x.rows().into_iter().skip(first),
            slice: x.as_slice().map(|slice| &slice[first * row..]),
            repeats: axes.all(|(&length, &stride)| length == 1 || stride == 0),
            buffer: Vec::new(),
        }
    }

    /// Returns the next `count` elements, which are whole rows.
    pub(super) fn next(&mut self, count: usize) -> &[T] {
        if let Some(slice) = self.slice {
            let (block, rest) = slice.split_at(count);
            self.slice = Some(rest);
            return block;
        }
        if !self.repeats || self.buffer.len() < count {
            self.buffer.clear();
            while self.buffer.len() < count
                && let Some(row) = self.rows.next()
            {
                match (row.to_slice(), row.first()) {
                    (Some(row), _) => self.buffer.extend_from_slice(row),
                    (None, Some(&element)) => {
                        self.buffer.resize(self.buffer.len() + row.len(), element);
                    }
                    (None, None) => {}
                }
            }
        }
        &self.buffer[..count]
    }
}
