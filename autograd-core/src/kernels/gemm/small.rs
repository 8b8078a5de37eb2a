//! Small matrices, with AVX-512: no buffers to fill in memory, no blocks that are mostly padding. Elements of
//! A are read where they lie, and rows of B too if they are contiguous.

use std::mem::MaybeUninit;

use super::tile::{BYTES, Lanes, Panel, ROWS, tile};
use super::{Product, at};

/// The most summands. A panel of them is kept on the stack where B is not read where it lies.
const SUMMANDS: usize = 128;

/// The most products of two elements. Beyond, copies that lie together pay.
const PRODUCTS: usize = 128 * 128 * 128;

/// Whether a product of such lengths is faster here.
pub(super) fn fits([m, k, n]: [usize; 3]) -> bool {
    k <= SUMMANDS && m.saturating_mul(k).saturating_mul(n) <= PRODUCTS
}

/// The copy of a panel, which begins where a register does.
#[repr(align(64))]
struct Copied<T>([[MaybeUninit<T>; BYTES / 4]; SUMMANDS]);

/// Computes a product that [`fits`].
///
/// # Safety
/// What [`Product`] says must hold.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn product<T: Lanes>(product: &Product<T>) {
    let [_, k, n] = product.lengths;
    let mut copied = Copied([[const { MaybeUninit::<T>::uninit() }; BYTES / 4]; SUMMANDS]);
    let memory = &mut copied.0;
    let b = product.b;
    let most = BYTES / size_of::<T>();
    for first in (0..n).step_by(most) {
        let width = most.min(n - first);
        // SAFETY: the rows `0..k` and the columns from `first`, `width` of them, are elements of B.
        unsafe {
            let mut panel = Panel {
                start: at(b.start, 0, first, b.strides),
                stride: b.strides[0],
                first,
                width,
            };
            if b.strides[1] != 1 {
                for (p, row) in memory[..k].iter_mut().enumerate() {
                    for (j, element) in row[..width].iter_mut().enumerate() {
                        element.write(*at(b.start, p, first + j, b.strides));
                    }
                }
                panel.start = memory.as_ptr().cast();
                panel.stride = (BYTES / 4).cast_signed();
            }
            for row in (0..product.lengths[0]).step_by(ROWS) {
                tile(product, panel, row);
            }
        }
    }
}
