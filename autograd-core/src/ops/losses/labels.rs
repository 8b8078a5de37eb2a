//! Labels: the index of a class for each row.

use ndarray::Array1;

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

/// Returns 1 for each label that counts and 0 for those that are ignored; `None` if all count.
pub(super) fn counted<T: Element>(
    labels: &[usize],
    ignore_index: Option<usize>,
) -> Option<Tensor1<T>> {
    let ignored = ignore_index.filter(|ignored| labels.contains(ignored))?;
    let count = |&label: &usize| {
        if label == ignored {
            T::zero()
        } else {
            T::one()
        }
    };
    Some(Tensor1::from(
        labels.iter().map(count).collect::<Array1<T>>(),
    ))
}

/// Returns how many labels count.
pub(super) fn count<T: Element>(labels: &[usize], ignore_index: Option<usize>) -> T {
    let count = labels
        .iter()
        .filter(|&&label| ignore_index != Some(label))
        .count() as f64;
    T::from_f64(count)
}
