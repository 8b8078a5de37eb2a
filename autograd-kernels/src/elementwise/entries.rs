//! The entries of a block of elements, in lists that have one for each element of the results.

use super::evaluation::BLOCK;

/// The place of an element in a block, less than [`BLOCK`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Place(pub(crate) usize);

/// The elements of a block, among all elements of the results in row-major order.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    pub(crate) first: usize,
    /// At least 1, and at most [`BLOCK`].
    pub(crate) count: usize,
}

/// One element, where no list has entries for each.
pub(crate) const ONE: Elements = Elements { first: 0, count: 1 };

/// The entries of the elements of a block. The last one is repeated, as numbers are after the last element.
///
/// They are copied: the loop reads them without a check of their index, and whether the list has so many is checked once
/// for the block.
#[doc(hidden)]
#[derive(Debug)]
pub struct Entries<V>([V; BLOCK]);

/// Returns the entries of the elements of a block.
#[doc(hidden)]
#[cfg_attr(optimized, inline(always))]
#[must_use]
pub fn entries<V: Copy>(list: &[V], elements: Elements) -> Entries<V> {
    let list = &list[elements.first..][..elements.count];
    if let Some(whole) = list.first_chunk() {
        return Entries(*whole);
    }
    let mut block = [list[list.len() - 1]; BLOCK];
    block[..list.len()].copy_from_slice(list);
    Entries(block)
}

// `Clone`, so that the compiler reports a type that is not `Copy` once.
impl<V: Clone> Entries<V> {
    /// Returns the entry of the element at a place.
    #[cfg_attr(optimized, inline(always))]
    #[must_use]
    pub fn at(&self, place: Place) -> V {
        // SAFETY: places are less than the length of a block.
        #[expect(unsafe_code, reason = "a check would make the elements run one by one")]
        unsafe {
            self.0.get_unchecked(place.0).clone()
        }
    }
}
