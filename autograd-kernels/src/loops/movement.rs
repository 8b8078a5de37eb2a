//! Functions that move elements and compute none. Results are in row-major order.

#![allow(unsafe_code, reason = "each block has its argument")]

use std::mem::MaybeUninit;

use ndarray::{Array, ArrayView, Axis, CowArray, Dimension, Slice};

use super::row_major::in_row_major;
use super::wide::copied;
use crate::checks::{has_axis, size};
use crate::element::Element;
use crate::memory;
use crate::parallel::{split_mut, worth};
use crate::shape::Shape;

/// Returns an array of `shape` that has one value everywhere.
///
/// # Panics
/// If the rank of `D` is not that of the shape, or the array is larger than any memory.
#[track_caller]
pub fn full<T: Element, D: Dimension>(shape: &[usize], value: T) -> Array<T, D> {
    let mut elements = room(shape);
    elements.resize(shape.iter().product(), value);
    array(shape, elements)
}

/// Concatenates arrays along `axis`.
///
/// # Panics
/// If there are no arrays, they do not have the axis, or they differ in the length of another axis.
#[track_caller]
pub fn concat<T: Element, D: Dimension>(axis: Axis, parts: &[ArrayView<'_, T, D>]) -> Array<T, D> {
    let shape = concat_shape(axis.index(), parts);
    let parts: Vec<CowArray<T, D>> = parts.iter().map(in_row_major).collect();
    let slices: Vec<&[T]> = parts.iter().filter_map(|part| part.as_slice()).collect();
    let blocks: usize = shape[..axis.index()].iter().product();
    filled(&shape, |out| {
        split_mut(out, 1, worth::LOOP, |first, out| {
            copy_blocks(&slices, blocks, first, out);
        });
    })
}

/// Writes blocks, each of which has a piece of each slice: from the element `first` of all blocks on, all of `out`.
fn copy_blocks<T: Element>(
    slices: &[&[T]],
    blocks: usize,
    first: usize,
    mut out: &mut [MaybeUninit<T>],
) {
    let all: usize = slices.iter().map(|slice| slice.len()).sum();
    let block = (all / blocks.max(1)).max(1);
    let mut before = first % block;
    for index in first / block..blocks {
        for slice in slices {
            let width = slice.len() / blocks;
            if before >= width {
                before -= width;
                continue;
            }
            let piece = &slice[index * width..][before..width];
            before = 0;
            let (copy, rest) = out.split_at_mut(piece.len().min(out.len()));
            copied(&piece[..copy.len()], copy);
            out = rest;
        }
        if out.is_empty() {
            return;
        }
    }
}

/// Returns the shape of concatenated arrays.
#[track_caller]
fn concat_shape<T, D: Dimension>(axis: usize, parts: &[ArrayView<'_, T, D>]) -> Vec<usize> {
    let Some(first) = parts.first() else {
        panic!("concat of no tensors: at least one is needed");
    };
    has_axis("concat", first.shape(), axis);
    let mut shape = first.shape().to_vec();
    shape[axis] = 0;
    for part in parts {
        let others = part.shape();
        let fits = others.len() == shape.len()
            && (0..shape.len()).all(|other| other == axis || others[other] == shape[other]);
        assert!(
            fits,
            "concat along axis {axis} of tensors of shapes {:?} and {others:?}: the other axes differ",
            first.shape()
        );
        shape[axis] = shape[axis].saturating_add(others[axis]);
    }
    shape
}

/// Returns an array with `value` around it: `widths` has the number of elements before and after, for each axis.
///
/// # Panics
/// If there is not a pair of widths for each axis, or the result is larger than any memory.
#[track_caller]
pub fn pad<T: Element, D: Dimension>(
    x: &ArrayView<'_, T, D>,
    widths: &[(usize, usize)],
    value: T,
) -> Array<T, D> {
    assert!(
        widths.len() == x.ndim(),
        "pad of a tensor of shape {:?} by {widths:?}: each axis needs two widths",
        x.shape()
    );
    let shape: Vec<usize> = x
        .shape()
        .iter()
        .zip(widths)
        .map(|(length, (before, after))| length.saturating_add(*before).saturating_add(*after))
        .collect();
    let mut padded = full(&shape, value);
    let mut middle = padded.view_mut();
    middle.slice_each_axis_inplace(|axis| {
        let (before, _) = widths[axis.axis.index()];
        Slice::from(before..before + x.len_of(axis.axis))
    });
    middle.assign(x);
    padded
}

/// Returns an array of `shape`, all of whose elements `fill` writes.
#[track_caller]
pub(crate) fn filled<T, D: Dimension>(
    shape: &[usize],
    fill: impl FnOnce(&mut [MaybeUninit<T>]),
) -> Array<T, D> {
    let mut elements = room(shape);
    let size = shape.iter().product();
    fill(&mut elements.spare_capacity_mut()[..size]);
    // SAFETY: every element was written.
    unsafe { elements.set_len(size) };
    array(shape, elements)
}

/// Returns an empty vector with room for an array of `shape`.
#[track_caller]
pub(crate) fn room<T>(shape: &[usize]) -> Vec<T> {
    let bytes = size(shape).and_then(|size| size.checked_mul(size_of::<T>()));
    let fits = bytes.is_some_and(|bytes| isize::try_from(bytes).is_ok());
    assert!(
        fits,
        "an array of shape {shape:?} is larger than any memory"
    );
    memory::take(shape.iter().product())
}

/// Returns the array of `shape` of elements in row-major order.
#[track_caller]
pub(crate) fn array<T, D: Dimension>(shape: &[usize], elements: Vec<T>) -> Array<T, D> {
    let dimension: Option<D> = Shape::from(shape).dimension();
    let array = dimension.and_then(|dimension| Array::from_shape_vec(dimension, elements).ok());
    array
        .unwrap_or_else(|| panic!("an array of shape {shape:?} does not have the rank of its type"))
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Ix1, Ix2, s};

    use super::*;
    use crate::testing::numbers;

    #[test]
    fn arrays_of_every_layout_are_concatenated_and_padded() {
        let x = Array2::from_shape_fn((3, 4), |(i, j)| (10 * i + j) as f64);
        let square = x.slice(s![.., ..3]);
        let views = [
            square,
            square.t(),
            x.slice(s![..;-1, ..;-1]).slice_move(s![.., 1..]),
        ];
        for axis in [Axis(0), Axis(1)] {
            for parts in [&views[..], &views[1..], &[x.view(), x.view()]] {
                let whole = concat(axis, parts);
                assert_eq!(whole, ndarray::concatenate(axis, parts).unwrap());
                assert!(whole.is_standard_layout());
            }
        }
        for view in views {
            let padded = pad(&view, &[(1, 0), (0, 2)], 7.0);
            assert_eq!(padded.slice(s![1.., ..3]), view);
            assert_eq!(padded.sum(), view.sum() + 7.0 * 11.0);
        }
    }

    #[test]
    fn large_arrays_are_concatenated_on_any_number_of_threads() {
        let [x, y] = [300_001, 70].map(|width| numbers((3, width), 0.3));
        for parts in [
            [x.view(), y.view(), x.view()],
            [y.view(), x.view(), y.view()],
        ] {
            let whole = concat(Axis(1), &parts);
            assert_eq!(whole, ndarray::concatenate(Axis(1), &parts).unwrap());
        }
        let flat = x.flatten();
        let (back, front) = flat.view().split_at(Axis(0), 7);
        let rolled = concat(Axis(0), &[front, back]);
        let same = (0..flat.len()).all(|i| rolled[i] == flat[(i + 7) % flat.len()]);
        assert!(same);
    }

    #[test]
    fn empty_arrays_are_concatenated_and_padded() {
        let empty = Array2::<f64>::zeros((0, 2));
        let row = Array2::ones((1, 2));
        assert_eq!(
            concat(Axis(0), &[empty.view(), row.view(), empty.view()]),
            row
        );
        assert_eq!(
            concat(Axis(1), &[empty.view(), empty.view()]).shape(),
            [0, 4]
        );
        assert_eq!(pad(&empty.view(), &[(1, 0), (0, 0)], 1.0), row);
        assert_eq!(full::<f64, Ix2>(&[3, 0], 1.0).shape(), [3, 0]);
    }

    #[test]
    #[should_panic(
        expected = "an array of shape [9223372036854775807, 3] is larger than any memory"
    )]
    fn a_shape_that_no_memory_has_is_refused() {
        full::<f64, Ix2>(&[usize::MAX / 2, 3], 0.0);
    }

    #[test]
    #[should_panic(expected = "an array of shape [2, 3] does not have the rank of its type")]
    fn another_rank_is_refused() {
        full::<f64, Ix1>(&[2, 3], 0.0);
    }
}
