//! What tensors have for each element: numbers, or rows of numbers.

/// What a tensor has for each element of the results.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    Number,
    /// A row of this many numbers, along a last axis.
    Row(usize),
}

impl Item {
    /// Returns the number of numbers.
    #[must_use]
    pub const fn numbers(self) -> usize {
        match self {
            Self::Number => 1,
            Self::Row(length) => length,
        }
    }

    /// Returns the length of a row.
    #[must_use]
    pub const fn row(self) -> Option<usize> {
        match self {
            Self::Number => None,
            Self::Row(length) => Some(length),
        }
    }
}

/// The longest rows that loops read and write where they are: compilers have fast code for rows of up to so many numbers.
const LONGEST: usize = 4;

impl Item {
    /// Returns whether loops have a slice for each number, which the rows are taken apart to; `are_pairs` where the formula
    /// is one of pairs.
    pub(super) const fn is_apart(self, are_pairs: bool) -> bool {
        match self {
            Self::Number => false,
            Self::Row(length) => length > LONGEST || are_pairs,
        }
    }

    /// Returns the number of slices that loops have for it: one for each number, or one for all of them.
    pub(super) const fn slices(self, are_pairs: bool) -> usize {
        if self.is_apart(are_pairs) {
            self.numbers()
        } else {
            1
        }
    }
}

/// Where a number is in the slices of its items.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    pub(super) slice: usize,
    /// The place of the first element.
    pub(super) offset: usize,
    /// The distance between elements, which is the number of numbers of the slice.
    pub(super) width: usize,
}

/// The spot of a number that is an item: in the first slice.
pub(super) const NUMBER: Spot = Spot {
    slice: 0,
    offset: 0,
    width: 1,
};

/// Returns the spots of all numbers.
pub(super) const fn spots<const N: usize>(items: &[Item], are_pairs: bool) -> [Spot; N] {
    let mut spots = [NUMBER; N];
    let (mut item, mut start, mut slice) = (0, 0, 0);
    while item < items.len() {
        let (length, is_apart) = (items[item].numbers(), items[item].is_apart(are_pairs));
        let mut number = 0;
        while number < length {
            spots[start + number] = if is_apart {
                Spot {
                    slice: slice + number,
                    offset: 0,
                    width: 1,
                }
            } else {
                Spot {
                    slice,
                    offset: number,
                    width: length,
                }
            };
            number += 1;
        }
        start += length;
        slice += items[item].slices(are_pairs);
        item += 1;
    }
    spots
}

/// Returns the number of slices of all items.
pub(super) const fn slices(items: &[Item], are_pairs: bool) -> usize {
    let (mut item, mut slices) = (0, 0);
    while item < items.len() {
        slices += items[item].slices(are_pairs);
        item += 1;
    }
    slices
}

/// Returns the spots of some of these numbers, from `start` on, as if their slices were the first ones.
pub(super) const fn part<const N: usize>(all: &[Spot], start: usize) -> [Spot; N] {
    let mut spots = [NUMBER; N];
    let mut number = 0;
    while number < N {
        spots[number] = all[start + number];
        spots[number].slice -= all[start].slice;
        number += 1;
    }
    spots
}

/// Returns the number of numbers of each slice, if it is the same for all.
pub(super) const fn common_width(spots: &[Spot]) -> Option<usize> {
    let mut number = 0;
    while number < spots.len() {
        if spots[number].width != spots[0].width {
            return None;
        }
        number += 1;
    }
    if spots.is_empty() {
        Some(1)
    } else {
        Some(spots[0].width)
    }
}

/// Returns what there is for the item of each number.
#[doc(hidden)]
#[must_use]
pub const fn of_numbers<X: Copy, const N: usize>(
    items: &[Item],
    of_items: &[X],
    of_none: X,
) -> [X; N] {
    let mut of_numbers = [of_none; N];
    let (mut item, mut start) = (0, 0);
    while item < items.len() && item < of_items.len() {
        let end = start + items[item].numbers();
        while start < end {
            of_numbers[start] = of_items[item];
            start += 1;
        }
        item += 1;
    }
    of_numbers
}

/// Returns the number of numbers of all items.
pub(super) fn numbers(items: &[Item]) -> usize {
    items.iter().map(|item| item.numbers()).sum()
}

/// The most numbers of a formula: there are loops for so many groups of them.
#[doc(hidden)]
pub const MOST_NUMBERS: usize = 96;
