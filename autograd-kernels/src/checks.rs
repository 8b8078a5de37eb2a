//! Checks of axes and shapes, for kernels and functions, and the words of their messages.

use std::fmt::Display;

use ndarray::Dimension;

/// Checks that an array of `shape` has the axis `axis`.
///
/// # Panics
/// If `axis` is not one of its axes.
#[track_caller]
pub fn has_axis(function: &str, shape: &[usize], axis: usize) {
    assert!(
        axis < shape.len(),
        "{function} of a tensor of shape {shape:?}: there is no axis {axis}"
    );
}

/// Checks that indices are within an axis of an array of `shape`.
///
/// # Panics
/// If an index is out of range, or the axis is out of range.
#[track_caller]
pub fn has_indices<'a>(
    function: &str,
    shape: &[usize],
    axis: usize,
    indices: impl IntoIterator<Item = &'a usize>,
) {
    has_axis(function, shape, axis);
    let length = shape[axis];
    if let Some(index) = indices.into_iter().find(|index| **index >= length) {
        panic!(
            "{function} along axis {axis} of length {length}: the index {index} is out of range"
        );
    }
}

/// Checks that an array of `shape` has the axes, and that none is named twice.
///
/// # Panics
/// If an axis does not exist or is named twice.
#[track_caller]
pub fn has_each_axis(function: &str, shape: &[usize], axes: &[usize]) {
    for (position, &axis) in axes.iter().enumerate() {
        has_axis(function, shape, axis);
        assert!(
            !axes[..position].contains(&axis),
            "{function} of a tensor of shape {shape:?}: the axis {axis} is named twice in {axes:?}"
        );
    }
}

/// Checks that the dimension `E` has the rank `rank` of a result.
///
/// # Panics
/// If the ranks differ.
#[track_caller]
pub fn has_rank<E: Dimension>(function: &str, shape: &[usize], rank: usize) {
    assert!(
        E::NDIM.is_none_or(|typed| typed == rank),
        "{function} of a tensor of shape {shape:?}: the result has rank {rank}, which is not that of its type"
    );
}

/// Returns the number of elements of an array of `shape`, or `None` if no array has that shape: in ndarray the
/// product of all lengths that are not 0 must fit into an `isize`.
pub fn size(shape: &[usize]) -> Option<usize> {
    let most = shape
        .iter()
        .copied()
        .filter(|&length| length != 0)
        .try_fold(1, usize::checked_mul)?;
    isize::try_from(most).ok()?;
    Some(if shape.contains(&0) { 0 } else { most })
}

/// Returns a number with its noun: `1 gradient`, `2 gradients`.
pub fn counted<N: Display + PartialEq + From<u8>>(number: N, one: &str, many: &str) -> String {
    let noun = if number == N::from(1) { one } else { many };
    format!("{number} {noun}")
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_singular() {
        let words = [0_usize, 1, 2].map(|number| counted(number, "axis", "axes"));
        assert_eq!(words, ["0 axes", "1 axis", "2 axes"]);
    }
}
