//! Functions that move elements and compute none. Results are in row-major order.

#![allow(unsafe_code, reason = "each block has its argument")]

use std::mem::MaybeUninit;

use ndarray::{Array, ArrayView, Axis, CowArray, Dimension};

use super::row_major::in_row_major;
use super::wide::{copied, set};
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
    let x = in_row_major(x);
    // INVARIANT: it is in row-major order.
    let elements = x.as_slice().expect("one piece");
    // Axes at the end that get nothing are a part of a row.
    let last = widths.iter().rposition(|widths| *widths != (0, 0));
    let last = last.unwrap_or(0);
    filled(&shape, |out| {
        if out.is_empty() {
            return;
        }
        let [row, width] = [&shape, x.shape()].map(|shape| shape[last..].iter().product::<usize>());
        let inner: usize = shape.iter().skip(last + 1).product();
        let before = widths.get(last).map_or(0, |(before, _)| before * inner);
        split_mut(out, row, worth::LOOP.div_ceil(row), |first, out| {
            for (index, out) in out.chunks_exact_mut(row).enumerate() {
                let (left, right) = match row_inside(first + index, x.shape(), &widths[..last]) {
                    None => (out, &mut [][..]),
                    Some(from) => {
                        let (left, rest) = out.split_at_mut(before);
                        let (middle, right) = rest.split_at_mut(width);
                        copied(&elements[from * width..][..width], middle);
                        (left, right)
                    }
                };
                set(value, left);
                set(value, right);
            }
        });
    })
}

/// Returns the row of an array that is a row of the padded array, whose first axes have these widths; `None` if that is
/// padding.
fn row_inside(mut row: usize, shape: &[usize], widths: &[(usize, usize)]) -> Option<usize> {
    let (mut inside, mut rows) = (0, 1);
    for (&length, (before, after)) in shape.iter().zip(widths).rev() {
        let padded = length + before + after;
        let index = (row % padded).checked_sub(*before)?;
        if index >= length {
            return None;
        }
        inside += index * rows;
        row /= padded;
        rows *= length;
    }
    Some(inside)
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
    use ndarray::{Array2, Array4, Ix1, Ix2, Slice, s};

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
            for [rows, columns] in [[(1, 0), (0, 2)], [(0, 3), (0, 0)], [(0, 0), (0, 0)]] {
                let padded = pad(&view, &[rows, columns], 7.0);
                let size = [3 + rows.0 + rows.1, 3 + columns.0 + columns.1];
                assert_eq!(padded.shape(), size);
                assert_eq!(
                    padded.slice(s![rows.0.., columns.0..]).slice(s![..3, ..3]),
                    view
                );
                let added = (size[0] * size[1] - 9) as f64;
                assert_eq!(padded.sum(), view.sum() + 7.0 * added);
            }
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
    fn large_arrays_are_padded_on_any_number_of_threads() {
        let x = numbers((3, 2, 50_001), 0.3)
            .into_shape_with_order((3, 2, 3, 16_667))
            .unwrap();
        for widths in [
            [(0, 0), (1, 2), (0, 1), (3, 4)],
            [(2, 0), (1, 0), (0, 1), (0, 0)],
        ] {
            let padded = pad(&x.view(), &widths, f64::NAN);
            let mut whole = Array4::from_elem(
                std::array::from_fn::<_, 4, _>(|axis| {
                    x.shape()[axis] + widths[axis].0 + widths[axis].1
                }),
                f64::NAN,
            );
            let mut middle = whole.view_mut();
            middle.slice_each_axis_inplace(|axis| {
                let (before, _) = widths[axis.axis.index()];
                Slice::from(before..before + x.len_of(axis.axis))
            });
            middle.assign(&x);
            assert!(
                padded
                    .iter()
                    .map(|x| x.to_bits())
                    .eq(whole.iter().map(|x| x.to_bits()))
            );
        }
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
        assert_eq!(pad(&empty.view(), &[(0, 0), (1, 0)], 1.0).shape(), [0, 3]);
        assert_eq!(pad(&ndarray::arr0(2.0).view(), &[], 1.0)[()], 2.0);
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
