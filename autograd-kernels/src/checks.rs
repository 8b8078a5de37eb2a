//! What kernels and functions ask of axes and shapes before they begin.

use ndarray::Dimension;

/// # Panics
/// If an array of `shape` has no such axis.
#[track_caller]
pub fn has_axis(function: &str, shape: &[usize], axis: usize) {
    assert!(
        axis < shape.len(),
        "{function} of a tensor of shape {shape:?}: there is no axis {axis}"
    );
}

/// # Panics
/// If an index is outside of an axis of an array of `shape`, or there is no such axis.
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
            "{function} along axis {axis} of length {length}: the index {index} is outside of it"
        );
    }
}

/// # Panics
/// If the axes are not those of an array of `shape`, each named at most once.
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

/// # Panics
/// If a result of so many axes is to have a type of another rank.
#[track_caller]
pub fn has_rank<E: Dimension>(function: &str, shape: &[usize], rank: usize) {
    assert!(
        E::NDIM.is_none_or(|typed| typed == rank),
        "{function} of a tensor of shape {shape:?}: the result has rank {rank}, its type another"
    );
}

/// The number of elements of an array of `shape`, `None` of a shape that no array has: ndarray wants
/// the product of all lengths but zeros to fit an `isize`.
pub fn size(shape: &[usize]) -> Option<usize> {
    let lengths = shape.iter().filter(|length| **length != 0);
    let most = lengths.copied().try_fold(1, usize::checked_mul)?;
    isize::try_from(most).ok()?;
    Some(if shape.contains(&0) { 0 } else { most })
}
