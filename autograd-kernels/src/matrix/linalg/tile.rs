//! Small blocks of a matrix in arrays of a fixed width, for loops that are vector code.

use ndarray::{ArrayView2, ArrayViewMut2};

/// The rows of the largest tile.
pub(super) const SIZE: usize = 16;

/// Calls a function with the width of the smallest square tile for a matrix of `$size` rows.
macro_rules! by_size {
    ($size:expr, $function:ident $arguments:tt) => {
        match $size {
            0..=4 => $function::<_, 4>$arguments,
            5..=8 => $function::<_, 8>$arguments,
            _ => $function::<_, { $crate::matrix::linalg::tile::SIZE }>$arguments,
        }
    };
}

pub(super) use by_size;

/// Copies a block to the upper left corner of a tile, which must be large enough.
#[inline]
pub(super) fn load<T: Copy, const WIDTH: usize>(
    block: &ArrayView2<'_, T>,
    tile: &mut [[T; WIDTH]],
) {
    if block.strides()[0] == 1 {
        for (j, column) in block.columns().into_iter().enumerate() {
            for (row, &x) in tile.iter_mut().zip(column) {
                row[j] = x;
            }
        }
        return;
    }
    for (row, elements) in tile.iter_mut().zip(block.rows()) {
        for (to, &x) in row.iter_mut().zip(elements) {
            *to = x;
        }
    }
}

/// Copies the upper left corner of a tile to a block.
#[inline]
pub(super) fn store<T: Copy, const WIDTH: usize>(
    tile: &[[T; WIDTH]],
    mut block: ArrayViewMut2<'_, T>,
) {
    if block.strides()[0] == 1 {
        for (j, column) in block.columns_mut().into_iter().enumerate() {
            for (to, row) in column.into_iter().zip(tile) {
                *to = row[j];
            }
        }
        return;
    }
    for (row, elements) in tile.iter().zip(block.rows_mut()) {
        for (to, &x) in elements.into_iter().zip(row) {
            *to = x;
        }
    }
}
