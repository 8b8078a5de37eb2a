//! Groups of numbers: the variables of one loop.

use std::marker::PhantomData;
use std::ops::Range;

use super::formula::Formula;
use super::item::Item;
use super::order::Variables;

/// The most inputs of a formula that one loop has as variables all at once.
pub(crate) const MOST_AT_ONCE: usize = 12;

/// The most variables of a group: so many tangents beside a value stay in registers.
pub(crate) const WIDEST: usize = 4;

/// Numbers that one loop has as variables: the one of an input that is a number, or some of those of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// The first of its numbers, among all.
    pub(super) start: usize,
    pub(super) count: usize,
}

/// Returns the group `index` of all groups, in the order of the inputs; an empty one if there are not so many. The
/// groups of a row have nearly the same length.
pub(super) const fn group(items: &[Item], mut index: usize) -> Group {
    let (mut start, mut input) = (0, 0);
    while input < items.len() {
        let length = items[input].numbers();
        let parts = length.div_ceil(WIDEST);
        if index < parts {
            let (each, longer) = (length / parts, length % parts);
            let before = index * each + if index < longer { index } else { longer };
            return Group {
                start: start + before,
                count: each + if index < longer { 1 } else { 0 },
            };
        }
        index -= parts;
        start += length;
        input += 1;
    }
    Group { start, count: 0 }
}

/// Returns the numbers of the groups of one input.
pub(super) fn groups(items: &[Item], input: usize) -> Range<usize> {
    let count = |item: &Item| item.numbers().div_ceil(WIDEST);
    let first = items[..input].iter().map(count).sum();
    first..first + count(&items[input])
}

/// The group `INDEX` of the inputs of `F`.
pub(super) struct OneGroup<F, const I: usize, const O: usize, const INDEX: usize>(PhantomData<F>);

impl<F: Formula<I, O>, const I: usize, const O: usize, const INDEX: usize>
    OneGroup<F, I, O, INDEX>
{
    pub(super) const GROUP: Group = group(F::INPUTS, INDEX);
}

impl<F: Formula<I, O>, const I: usize, const O: usize, const INDEX: usize> Variables
    for OneGroup<F, I, O, INDEX>
{
    const START: usize = Self::GROUP.start;

    #[cfg_attr(optimized, inline(always))]
    fn place(input: usize) -> Option<usize> {
        let group = const { Self::GROUP };
        if input >= group.start && input < group.start + group.count {
            Some(input - group.start)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_parts_of_one_input() {
        let items = [Item::Row(9), Item::Number, Item::Row(4), Item::Row(5)];
        let found: Vec<_> = (0..8).map(|index| group(&items, index)).collect();
        let expected = [
            (0, 3),
            (3, 3),
            (6, 3),
            (9, 1),
            (10, 4),
            (14, 3),
            (17, 2),
            (19, 0),
        ];
        let expected = expected.map(|(start, count)| Group { start, count });
        assert_eq!(found, expected);
        let of_inputs: Vec<_> = (0..4).map(|input| groups(&items, input)).collect();
        assert_eq!(of_inputs, [0..3, 3..4, 4..5, 5..7]);
    }
}
