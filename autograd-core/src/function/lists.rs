//! The edges or shapes of a node whose inputs or outputs include lists.

use std::fmt;
use std::ops::Range;

/// The items of `N` inputs or outputs, flattened; a list has several, an absent input or output has none.
pub struct Lists<T, const N: usize> {
    items: Box<[T]>,
    ends: [usize; N],
}

impl<T, const N: usize> Lists<T, N> {
    /// Flattens the items of each input or output.
    pub fn new(each: [Vec<T>; N]) -> Self {
        let mut end = 0;
        let ends = std::array::from_fn(|index| {
            end += each[index].len();
            end
        });
        let items = each.into_iter().flatten().collect();
        Self { items, ends }
    }

    /// Returns the index of the first item of each input or output.
    pub fn starts(&self) -> [usize; N] {
        std::array::from_fn(|index| range(&self.ends, index).start)
    }

    /// Returns the items of one input or output.
    pub(super) fn of(&self, index: usize) -> &[T] {
        &self.items[range(&self.ends, index)]
    }

    pub(super) fn items(&self) -> &[T] {
        &self.items
    }

    pub(super) fn items_mut(&mut self) -> &mut [T] {
        &mut self.items
    }

    pub(super) fn ends(&self) -> &[usize] {
        &self.ends
    }
}

impl<T: fmt::Debug, const N: usize> fmt::Debug for Lists<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lists").field(&self.items).finish()
    }
}

/// Returns the indices of the items of one input or output; without `ends`, each has one item.
#[inline]
pub(super) fn range(ends: &[usize], index: usize) -> Range<usize> {
    if ends.is_empty() {
        return index..index + 1;
    }
    let start = if index == 0 { 0 } else { ends[index - 1] };
    start..ends[index]
}

/// Returns the input or output of an item, and the item's index in it.
pub(super) fn owner(ends: &[usize], item: usize) -> (usize, usize) {
    if ends.is_empty() {
        return (item, 0);
    }
    let index = ends.partition_point(|end| *end <= item);
    (index, item - range(ends, index).start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_counted_by_input() {
        let lists = Lists::new([vec!['a'], vec![], vec!['b', 'c'], vec!['d']]);
        assert_eq!(
            (lists.ends(), lists.starts()),
            (&[1, 1, 3, 4][..], [0, 1, 1, 3])
        );
        let ranges: Vec<_> = (0..4).map(|index| range(lists.ends(), index)).collect();
        assert_eq!(ranges, [0..1, 1..1, 1..3, 3..4]);
        assert_eq!(lists.of(2), ['b', 'c']);
        let owners: Vec<_> = (0..4).map(|item| owner(lists.ends(), item)).collect();
        assert_eq!(owners, [(0, 0), (2, 0), (2, 1), (3, 0)]);
        assert_eq!((range(&[], 2), owner(&[], 2)), (2..3, (2, 0)));
    }
}
