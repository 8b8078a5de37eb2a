//! Labels: the index of a class for each row.

use ndarray::{Array1, Ix0};

use crate::ops::zeros;
use crate::{Element, kernels, tensor::Tensor1};

/// Checks that there is a label for each row of a matrix of `shape`, and that it is a class or ignored.
#[track_caller]
pub(super) fn check(name: &str, shape: &[usize], labels: &[usize], ignore_index: Option<usize>) {
    let [rows, classes] = *shape else {
        unreachable!("a matrix")
    };
    assert!(
        labels.len() == rows,
        "{name} of shape {shape:?} with {}: one for each row is needed",
        kernels::counted(labels.len(), "label", "labels")
    );
    let is_wrong = |label: usize| label >= classes && ignore_index != Some(label);
    if let Some(row) = labels.iter().position(|&label| is_wrong(label)) {
        panic!(
            "{name} of shape {shape:?}: the label {} of row {row} is not a class: it must be below {classes}",
            labels[row]
        );
    }
}

/// Returns x where the label counts, and 0 where it is ignored, even if x is infinite or NaN there.
#[track_caller]
pub(super) fn counted<T: Element>(
    x: &Tensor1<T>,
    labels: &[usize],
    ignore_index: Option<usize>,
) -> Tensor1<T> {
    let Some(ignored) = ignore_index.filter(|ignored| labels.contains(ignored)) else {
        return x.clone();
    };
    let counts: Array1<bool> = labels.iter().map(|&label| label != ignored).collect();
    x.where_(&counts, &zeros::<T, Ix0>(&[]))
}

/// Returns how many labels count.
pub(super) fn count<T: Element>(labels: &[usize], ignore_index: Option<usize>) -> T {
    let count = labels
        .iter()
        .filter(|&&label| ignore_index != Some(label))
        .count() as f64;
    T::from_f64(count)
}
