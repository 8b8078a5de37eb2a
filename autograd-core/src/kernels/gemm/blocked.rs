//! Large matrices, with AVX-512, in blocks that fit the caches.
//!
//! A panel of B and a tile of rows of A stay in the first cache, a block of A in the second. Both are copied
//! so that each is read from its first element to its last: however the matrices lie in memory, and whatever
//! power of two their rows are apart, which would put them all in the same places of a cache.

use super::tile::{BYTES, Lanes, Panel, ROWS, Register, tile};
use super::{Product, at};

/// The summands, rows and columns of a block.
const DEPTH: usize = 256;
const HEIGHT: usize = 128;
const BREADTH: usize = 1024;

/// Memory that begins where a cache line does.
#[derive(Clone, Copy)]
#[repr(align(128))]
struct Line {
    _bytes: [u8; BYTES],
}

/// Room for so many elements.
fn room<T>(elements: usize) -> Vec<Line> {
    Vec::with_capacity((elements * size_of::<T>()).div_ceil(BYTES))
}

/// Computes a product.
///
/// # Safety
/// What [`Product`] says must hold.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn product<T: Lanes>(product: &Product<T>) {
    let [m, k, n] = product.lengths;
    let width = BYTES / size_of::<T>();
    let depth = k.min(DEPTH);
    let mut panels = room::<T>(depth * n.min(BREADTH).next_multiple_of(width));
    let mut tiles = room::<T>(depth * m.min(HEIGHT).next_multiple_of(ROWS));
    let (panels, tiles) = (
        panels.as_mut_ptr().cast::<T>(),
        tiles.as_mut_ptr().cast::<T>(),
    );
    for column in (0..n).step_by(BREADTH) {
        let columns = column..n.min(column + BREADTH);
        for summand in (0..k).step_by(DEPTH) {
            let summands = summand..k.min(summand + DEPTH);
            for row in (0..m).step_by(HEIGHT) {
                let rows = row..m.min(row + HEIGHT);
                // SAFETY: parts of the matrices, of which there is room for copies; those of B are there
                // from the first rows on. C is read from the second summands on, when it was written.
                unsafe {
                    let mut block = product.block(rows, summands.clone(), columns.clone());
                    if summand > 0 {
                        block.beta = T::one();
                    }
                    if row == 0 {
                        copy_panels(&block, panels);
                    }
                    copy_tiles(&block, tiles);
                    multiply(&block, tiles, panels);
                }
            }
        }
    }
}

/// Panels of as many columns as a tile has, in each of them one row after the other.
#[inline(always)]
unsafe fn copy_panels<T: Lanes>(block: &Product<T>, mut to: *mut T) {
    let [_, k, n] = block.lengths;
    let (width, lanes) = (BYTES / size_of::<T>(), T::Register::LANES);
    let b = block.b;
    for first in (0..n).step_by(width) {
        let count = width.min(n - first);
        // SAFETY: elements of B, and room for a whole panel.
        unsafe {
            if b.strides[1] == 1 {
                for p in 0..k {
                    let from = at(b.start, p, first, b.strides);
                    let row = to.add(p * width);
                    T::Register::load(from, count.min(lanes)).store(row, lanes);
                    if count > lanes {
                        let rest = T::Register::load(from.add(lanes), count - lanes);
                        rest.store(row.add(lanes), lanes);
                    }
                }
            } else {
                for j in 0..count {
                    for p in 0..k {
                        *to.add(p * width + j) = *at(b.start, p, first + j, b.strides);
                    }
                }
            }
            to = to.add(k * width);
        }
    }
}

/// Tiles of rows, in each of them one column after the other.
#[inline(always)]
unsafe fn copy_tiles<T: Lanes>(block: &Product<T>, mut to: *mut T) {
    let [m, k, _] = block.lengths;
    let a = block.a;
    for first in (0..m).step_by(ROWS) {
        let count = ROWS.min(m - first);
        // SAFETY: elements of A, and room for a whole tile.
        unsafe {
            if a.strides[0] == 1 {
                for p in 0..k {
                    let column = at(a.start, first, p, a.strides);
                    column.copy_to_nonoverlapping(to.add(p * ROWS), count);
                }
            } else {
                for i in 0..count {
                    for p in 0..k {
                        *to.add(p * ROWS + i) = *at(a.start, first + i, p, a.strides);
                    }
                }
            }
            to = to.add(k * ROWS);
        }
    }
}

/// The product of the copies.
#[inline(always)]
unsafe fn multiply<T: Lanes>(block: &Product<T>, tiles: *const T, panels: *const T) {
    let [m, k, n] = block.lengths;
    let width = BYTES / size_of::<T>();
    for first in (0..n).step_by(width) {
        // SAFETY: the copies are as large as the loops go, and C has these rows and columns.
        unsafe {
            let panel = Panel {
                start: panels.add(first * k),
                stride: width.cast_signed(),
                first,
                width: width.min(n - first),
            };
            for row in (0..m).step_by(ROWS) {
                let mut rows = block.block(row..m, 0..k, 0..n);
                rows.a.start = tiles.add(row * k);
                rows.a.strides = [1, ROWS.cast_signed()];
                tile(&rows, panel, 0);
            }
        }
    }
}
