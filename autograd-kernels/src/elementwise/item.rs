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

/// Returns the number of numbers of all items.
pub(super) fn numbers(items: &[Item]) -> usize {
    items.iter().map(|item| item.numbers()).sum()
}

/// The most numbers of a formula: there are loops for so many groups of them.
#[doc(hidden)]
pub const MOST_NUMBERS: usize = 64;
