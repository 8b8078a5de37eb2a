//! The lanes of a block, which the loops over steps compute together.

use std::mem::MaybeUninit;
use std::ops::Range;

use ndarray::{ArrayViewMut2, Axis};

use crate::elementwise::angles::Angles;
use crate::elementwise::entries::{Elements, Place};
use crate::elementwise::evaluation::{BLOCK, LANES};
use crate::elementwise::order::Order;
use crate::elementwise::work::Block;

/// A result that has a row of lanes for each step, in the order in which steps are computed.
pub(super) type Rows<'a, T> = ArrayViewMut2<'a, MaybeUninit<T>>;

/// The lanes of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    pub(super) length: usize,
    /// The length up to a multiple of the elements of a register.
    pub(super) padded: usize,
}

impl Lanes {
    /// Returns the places of the lanes.
    #[cfg_attr(optimized, inline(always))]
    pub(super) fn places(self) -> impl Iterator<Item = Place> {
        assert!(self.padded <= BLOCK, "a block");
        (0..self.padded).map(Place)
    }

    /// Returns the places of the lanes of each replay, which has so many.
    #[cfg_attr(optimized, inline(always))]
    pub(super) fn parts(self, width: usize) -> impl Iterator<Item = Range<usize>> {
        let parts = (0..self.padded).step_by(width);
        parts.map(move |first| first..self.padded.min(first + width))
    }

    /// Returns angles of the lanes. One or two lanes are computed by themselves, which takes as long if they are near.
    pub(super) fn angles(self) -> Angles {
        Angles::new(self.padded >= LANES)
    }

    pub(super) fn elements(self) -> Elements {
        Elements {
            first: 0,
            count: self.length,
        }
    }

    /// Copies a block to a row of a result.
    #[cfg_attr(optimized, inline(always))]
    pub(super) fn copy<T: Copy>(self, block: &Block<T>, rows: &mut Rows<'_, T>, row: usize) {
        if self.length == 1 {
            // Alone, it would take longer to find out how its row is laid out.
            rows[[row, 0]] = block[0];
            return;
        }
        let mut row = rows.index_axis_mut(Axis(0), row);
        match row.as_slice_mut() {
            Some(slice) => match slice.first_chunk_mut() {
                // Of a length that the compiler knows.
                Some(whole) => *whole = *block,
                None => slice.copy_from_slice(&block[..self.length]),
            },
            None => {
                // No iterator over the block: to compare its address would let the compiler take it for an input.
                for (at, element) in row.iter_mut().enumerate() {
                    *element = block[at];
                }
            }
        }
    }
}

/// Copies the lanes of a block: of one, without a call.
#[cfg_attr(optimized, inline(always))]
pub(super) fn copy_lanes<T: Copy>(lanes: &[T], row: &mut [T]) {
    match (lanes, &mut *row) {
        ([lane], [element]) => *element = *lane,
        (lanes, row) => row.copy_from_slice(lanes),
    }
}

/// Copies the lanes of blocks.
#[cfg_attr(optimized, inline(always))]
pub(super) fn copy_blocks<T: Copy, D: Order, const N: usize>(
    lanes: Lanes,
    from: &D::Of<[[T; BLOCK]; N]>,
    to: &mut D::Of<[[T; BLOCK]; N]>,
) {
    for component in 0..D::COUNT {
        for number in 0..N {
            let from = &from.as_ref()[component][number][..lanes.padded];
            copy_lanes(from, &mut to.as_mut()[component][number][..lanes.padded]);
        }
    }
}

/// The elements of a block, as a loop reads them.
#[cfg_attr(optimized, inline(always))]
pub(super) fn block<T: Copy>(blocks: &[T], index: usize) -> &[T; BLOCK] {
    // INVARIANT: `run` makes whole blocks.
    blocks[index * BLOCK..].first_chunk().expect("a block")
}

#[cfg_attr(optimized, inline(always))]
pub(super) fn block_mut<T: Copy>(blocks: &mut [T], index: usize) -> &mut [T; BLOCK] {
    // INVARIANT: `run` makes whole blocks.
    blocks[index * BLOCK..].first_chunk_mut().expect("a block")
}

/// Replaces an element of a block.
#[cfg_attr(optimized, inline(always))]
pub(super) fn replace<T>(block: &mut [T; BLOCK], at: Place, element: T) {
    // SAFETY: places are less than the length of a block.
    #[expect(unsafe_code, reason = "see `Input`")]
    let place = unsafe { block.get_unchecked_mut(at.0) };
    *place = element;
}
