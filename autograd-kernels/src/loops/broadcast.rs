//! Views whose elements or rows repeat or are apart in memory, such as a bias that is added to each row of a matrix, for
//! the loops over slices.
//!
//! The loop itself runs over slices: a long row where it is, and blocks of short ones, which are copied to a buffer that
//! stays in the fastest cache. A row that repeats is copied once.

use std::ops::Range;

use ndarray::iter::LanesIter;
use ndarray::{ArrayView, ArrayView1, Dimension};

use crate::parallel::{split_mut, worth};

/// The number of elements in a block of short rows.
const BLOCK: usize = 2048;

/// The number of elements from which on a row is a loop of its own.
pub(super) const LONG: usize = 512;

/// Returns the number of elements in a block of rows; `None` if the elements of some row are apart in memory, or there
/// are no rows.
pub(crate) fn row_block<T, D: Dimension>(x: &ArrayView<'_, T, D>) -> Option<usize> {
    let (&row, &stride) = (x.shape().last()?, x.strides().last()?);
    let is_plain = row == 1 || stride == 0 || stride == 1;
    (is_plain && !x.is_empty()).then(|| if row < LONG { row * (BLOCK / row) } else { row })
}

/// Calls `run` with all elements of views of one shape and of `out` as an array of that shape, on all threads: with slices
/// of one length, of which each is a long row or a block of rows.
///
/// # Panics
/// If there is no [`row_block`] of the first view.
pub(crate) fn by_rows<T: Copy + Sync, U: Send, D: Dimension, const N: usize>(
    views: [&ArrayView<'_, T, D>; N],
    out: &mut [U],
    run: impl Fn([&[T]; N], &mut [U]) + Sync,
) {
    let rows = views[0].shape().last().zip(row_block(views[0]));
    let (&row, block) = rows.expect("rows whose elements are in one place");
    split_mut(out, row, worth::LOOP.div_ceil(row), |first, out| {
        let mut blocks = views.map(|view| RowBlocks::new(view, first));
        for out in out.chunks_mut(block) {
            run(blocks.each_mut().map(|blocks| blocks.next(out.len())), out);
        }
    });
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
        Self {
            rows: x.rows().into_iter().skip(first),
            slice: x.as_slice().map(|slice| &slice[first * row..]),
            repeats: repeats(&x.shape()[..outer], x.strides()),
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
                if let Some(row) = row.to_slice()
                    && row.len() == count
                {
                    return row;
                }
                append_row(&mut self.buffer, &row);
            }
        }
        &self.buffer[..count]
    }
}

/// Appends the elements of a row.
pub(super) fn append_row<T: Copy>(elements: &mut Vec<T>, row: &ArrayView1<'_, T>) {
    match (row.to_slice(), repeated(row)) {
        (Some(slice), _) => elements.extend_from_slice(slice),
        (None, Some(element)) => elements.resize(elements.len() + row.len(), element),
        (None, None) => elements.extend(row.iter().copied()),
    }
}

/// Returns the only element of a view that was broadcast from a number; `None` if there may be several elements, or
/// none.
pub(crate) fn repeated<T: Copy, D: Dimension>(x: &ArrayView<'_, T, D>) -> Option<T> {
    let is_repeated = repeats(x.shape(), x.strides());
    x.first().copied().filter(|_| is_repeated)
}

/// Returns whether all elements along these axes are one.
fn repeats(lengths: &[usize], strides: &[isize]) -> bool {
    let mut axes = lengths.iter().zip(strides);
    axes.all(|(&length, &stride)| length == 1 || stride == 0)
}

/// Returns the strides of elements in row-major order along the axes of a shape that they are broadcast to.
pub(crate) fn strides(own: &[usize], shape: &[usize]) -> Vec<usize> {
    let mut stride = 1;
    let own = own.iter().rev().map(|&length| {
        let own = if length == 1 { 0 } else { stride };
        stride *= length;
        own
    });
    let mut strides: Vec<usize> = own.collect();
    strides.resize(shape.len(), 0);
    strides.reverse();
    strides
}

/// Calls `copy` for each run of elements along the last axis, of `length` results from `start` on: with their range among
/// these, and the place of the first element with the stride of the others.
pub(crate) fn for_each_run(
    (start, length): (usize, usize),
    shape: &[usize],
    strides: &[usize],
    mut copy: impl FnMut(Range<usize>, (usize, usize)),
) {
    let mut done = 0;
    while done < length {
        let mut place = start + done;
        let mut row = None;
        let mut first = 0;
        for (&length, &stride) in shape.iter().zip(strides).rev() {
            row.get_or_insert((length - place % length, stride));
            first += place % length * stride;
            place /= length;
        }
        let (rest, stride) = row.unwrap_or((1, 0));
        let end = length.min(done + rest);
        copy(done..end, (first, stride));
        done = end;
    }
}
