//! Selecting elements by index, and adding to them.

use ndarray::{Array, ArrayView, ArrayViewMut, Axis, Dimension, Slice, Zip};

use crate::checks::has_indices;
use crate::element::Element;
use crate::loops::movement::{array, filled, full, room};
use crate::loops::row_major::in_row_major;
use crate::loops::wide::copied;
use crate::parallel::{split_mut, worth};

/// The fewest elements of a part, which are added to on several threads.
const WIDE: usize = 16;

/// Returns the parts of an array at `indices` along `axis`, in their order.
///
/// # Panics
/// If the axis is out of range, or an index is out of range.
#[track_caller]
pub fn index_select<T: Element, D: Dimension>(
    x: &ArrayView<'_, T, D>,
    axis: Axis,
    indices: &[usize],
) -> Array<T, D> {
    has_indices("index_select", x.shape(), axis.index(), indices);
    let mut shape = x.shape().to_vec();
    shape[axis.index()] = indices.len();
    let Some(slice) = x.as_slice() else {
        let mut selected = full(&shape, T::zero());
        for (position, &index) in indices.iter().enumerate() {
            let part = x.slice_axis(axis, one(index));
            selected.slice_axis_mut(axis, one(position)).assign(&part);
        }
        return selected;
    };
    let (_, width) = around(&shape, axis);
    // Of an empty array there are no rows.
    let (length, row, count) = (x.len_of(axis), width.max(1), indices.len().max(1));
    filled(&shape, |out| {
        split_mut(out, width, worth::LOOP.div_ceil(row), |first, out| {
            let (mut block, mut position) = (first / count, first % count);
            for out in out.chunks_exact_mut(row) {
                let start = (block * length + indices[position]) * width;
                copied(&slice[start..][..width], out);
                position += 1;
                if position == count {
                    (block, position) = (block + 1, 0);
                }
            }
        });
    })
}

/// Adds the parts of `source` to the parts of `x` at `indices` along `axis`. For an index that is named several
/// times, all its parts are added.
///
/// # Panics
/// If the axis is out of range, an index is out of range, or `source` does not have the shape of the parts at the
/// indices.
#[track_caller]
pub fn index_add<T: Element, D: Dimension>(
    x: &mut ArrayViewMut<'_, T, D>,
    axis: Axis,
    indices: &[usize],
    source: &ArrayView<'_, T, D>,
) {
    has_indices("index_add", x.shape(), axis.index(), indices);
    let mut shape = x.shape().to_vec();
    shape[axis.index()] = indices.len();
    assert!(
        source.shape() == shape,
        "index_add of a tensor of shape {:?}: the parts at the indices have shape {shape:?}, and the source {:?}",
        x.shape(),
        source.shape()
    );
    let (blocks, width) = around(&shape, axis);
    let length = x.len_of(axis);
    let source = in_row_major(source);
    if let (Some(elements), Some(source)) = (x.as_slice_mut(), source.as_slice()) {
        // Each thread looks at all indices, and adds to its own parts in their order.
        let row = width.max(1);
        let at_least = if width < WIDE {
            elements.len()
        } else {
            worth::LOOP.div_ceil(row)
        };
        split_mut(elements, width, at_least, |first, elements| {
            for block in 0..blocks {
                let places = indices.iter().map(|index| block * length + index);
                let parts = source[block * indices.len() * width..].chunks_exact(row);
                for (place, part) in places.zip(parts) {
                    let own = place.checked_sub(first);
                    if let Some(target) =
                        own.and_then(|own| elements.get_mut(own * width..)?.get_mut(..width))
                    {
                        for (element, &addend) in target.iter_mut().zip(part) {
                            *element += addend;
                        }
                    }
                }
            }
        });
        return;
    }
    for (position, &index) in indices.iter().enumerate() {
        let mut part = x.slice_axis_mut(axis, one(index));
        part += &source.slice_axis(axis, one(position));
    }
}

/// Returns, for each lane along `axis`, the elements at the indices in the same lane of `indices`:
/// `y[i, j] = x[indices[i, j], j]` along the first of two axes.
///
/// # Panics
/// If the axis is out of range, an index is out of range, or `indices` is longer than `x` along another axis.
#[track_caller]
pub fn gather<T: Element, D: Dimension>(
    x: &ArrayView<'_, T, D>,
    axis: Axis,
    indices: &ArrayView<'_, usize, D>,
) -> Array<T, D> {
    has_lanes("gather", x.shape(), axis, indices);
    if are_strided(indices, x.shape(), axis)
        && let Some(x) = x.as_slice()
    {
        let mut elements = room(indices.shape());
        each_position(x.len(), axis, indices, |position| {
            elements.push(x[position]);
        });
        return array(indices.shape(), elements);
    }
    let mut x = x.view();
    x.slice_each_axis_inplace(|other| lane_slice(other.axis, axis, indices.shape()));
    let mut gathered = full(indices.shape(), T::zero());
    Zip::from(gathered.lanes_mut(axis))
        .and(indices.lanes(axis))
        .and(x.lanes(axis))
        .for_each(|gathered, indices, x| {
            for (element, &index) in gathered.into_iter().zip(indices) {
                *element = x[index];
            }
        });
    gathered
}

/// Adds each element of `source` to the element of `x` at its index, in the same lane along `axis`:
/// `x[indices[i, j], j] += source[i, j]` along the first of two axes.
///
/// # Panics
/// If the axis is out of range, an index is out of range, `indices` is longer than `x` along another axis, or the
/// shapes of `source` and `indices` differ.
#[track_caller]
pub fn scatter_add<T: Element, D: Dimension>(
    x: &mut ArrayViewMut<'_, T, D>,
    axis: Axis,
    indices: &ArrayView<'_, usize, D>,
    source: &ArrayView<'_, T, D>,
) {
    has_lanes("scatter_add", x.shape(), axis, indices);
    assert!(
        source.shape() == indices.shape(),
        "scatter_add of a tensor of shape {:?} with indices of shape {:?}",
        source.shape(),
        indices.shape()
    );
    if are_strided(indices, x.shape(), axis)
        && let Some(x) = x.as_slice_mut()
    {
        let addends = in_row_major(source);
        let mut addends = addends.iter();
        each_position(x.len(), axis, indices, |position| {
            // There is an addend for each index.
            if let Some(&addend) = addends.next() {
                x[position] += addend;
            }
        });
        return;
    }
    let mut x = x.view_mut();
    x.slice_each_axis_inplace(|other| lane_slice(other.axis, axis, indices.shape()));
    Zip::from(x.lanes_mut(axis))
        .and(indices.lanes(axis))
        .and(source.lanes(axis))
        .for_each(|mut x, indices, source| {
            for (&addend, &index) in source.into_iter().zip(indices) {
                x[index] += addend;
            }
        });
}

/// Checks that `indices` are indices of lanes of an array of `shape`.
///
/// # Panics
/// If an index is out of range.
#[track_caller]
fn has_lanes<D: Dimension>(
    function: &str,
    shape: &[usize],
    axis: Axis,
    indices: &ArrayView<'_, usize, D>,
) {
    has_indices(function, shape, axis.index(), indices);
    let others = indices.shape();
    let fits = others.len() == shape.len()
        && (0..shape.len()).all(|other| other == axis.index() || others[other] <= shape[other]);
    assert!(
        fits,
        "{function} along axis {} of a tensor of shape {shape:?} with indices of shape {others:?}: \
         they have lanes that the tensor does not have",
        axis.index()
    );
}

/// Returns whether the lanes of an array of `shape` along an axis are not contiguous, and all have indices: it is
/// then slow to visit one after the other.
fn are_strided<D: Dimension>(
    indices: &ArrayView<'_, usize, D>,
    shape: &[usize],
    axis: Axis,
) -> bool {
    let mut others = (0..shape.len()).filter(|&other| other != axis.index());
    axis.index() + 1 < shape.len() && others.all(|other| indices.shape()[other] == shape[other])
}

/// Calls `f` with the position of the element at each index in an array of `size` elements in row-major order, each
/// lane of which has indices. Visits the elements in the order that they have in memory.
fn each_position<D: Dimension>(
    size: usize,
    axis: Axis,
    indices: &ArrayView<'_, usize, D>,
    mut f: impl FnMut(usize),
) {
    let (blocks, width) = around(indices.shape(), axis);
    let indices = in_row_major(indices);
    let Some(indices) = indices.as_slice().filter(|indices| !indices.is_empty()) else {
        return;
    };
    let (of_x, of_indices) = (size / blocks, indices.len() / blocks);
    for (number, block) in indices.chunks_exact(of_indices).enumerate() {
        let start = number * of_x;
        for row in block.chunks_exact(width) {
            for (column, index) in row.iter().enumerate() {
                f(start + index * width + column);
            }
        }
    }
}

/// Returns the part of an axis whose lanes have indices.
fn lane_slice(axis: Axis, along: Axis, indices: &[usize]) -> Slice {
    if axis == along {
        Slice::from(..)
    } else {
        Slice::from(..indices[axis.index()])
    }
}

/// Returns how many blocks an array consists of, and how many elements each of their parts along the axis has.
fn around(shape: &[usize], axis: Axis) -> (usize, usize) {
    let (outer, inner) = shape.split_at(axis.index());
    (outer.iter().product(), inner[1..].iter().product())
}

/// Returns the part of length 1 at `index`.
fn one(index: usize) -> Slice {
    Slice::from(index..index + 1)
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Array3, s};

    use super::*;

    fn counting() -> Array3<f64> {
        Array3::from_shape_fn((3, 4, 2), |(i, j, k)| (100 * i + 10 * j + k) as f64)
    }

    /// Returns an equal array, with another axis innermost in memory.
    fn swapped(x: &Array3<f64>) -> Array3<f64> {
        let moved = x.view().permuted_axes([2, 0, 1]);
        let moved = moved.as_standard_layout().into_owned();
        let swapped = moved.permuted_axes([1, 2, 0]);
        assert!(swapped == x && !swapped.is_standard_layout());
        swapped
    }

    #[test]
    fn selecting_and_adding_along_every_axis() {
        for x in [counting(), swapped(&counting())] {
            for axis in 0..3 {
                let indices = [1, 0, 1];
                let selected = index_select(&x.view(), Axis(axis), &indices);
                assert_eq!(selected, x.select(Axis(axis), &indices));
                assert!(selected.is_standard_layout());
                for source in [selected.clone(), swapped(&selected)] {
                    let mut sum = x.clone();
                    index_add(&mut sum.view_mut(), Axis(axis), &indices, &source.view());
                    let mut expected = x.clone();
                    for (position, index) in indices.into_iter().enumerate() {
                        let mut part = expected.index_axis_mut(Axis(axis), index);
                        part += &source.index_axis(Axis(axis), position);
                    }
                    assert_eq!(sum, expected);
                }
            }
        }
    }

    #[test]
    fn large_parts_are_selected_and_added_to_on_any_number_of_threads() {
        let x = Array3::from_shape_fn((3, 90, 700), |(i, j, k)| (1000 * i + 10 * j + k) as f64);
        let indices: Vec<usize> = (0..200).map(|position| position * 37 % 90).collect();
        for axis in [0, 1] {
            let indices: Vec<usize> = indices.iter().map(|i| i % x.shape()[axis]).collect();
            let selected = index_select(&x.view(), Axis(axis), &indices);
            assert_eq!(selected, x.select(Axis(axis), &indices));
            let mut sum = x.clone();
            index_add(&mut sum.view_mut(), Axis(axis), &indices, &selected.view());
            let mut expected = x.clone();
            for (position, &index) in indices.iter().enumerate() {
                let mut part = expected.index_axis_mut(Axis(axis), index);
                part += &selected.index_axis(Axis(axis), position);
            }
            assert_eq!(sum, expected);
        }
    }

    #[test]
    fn each_lane_has_its_own_indices() {
        let x = counting();
        let indices = Array3::from_shape_fn((2, 4, 2), |(i, j, k)| (i + j + k) % 3);
        let gathered = gather(&x.view(), Axis(0), &indices.view());
        let mut sum = x.clone();
        scatter_add(
            &mut sum.view_mut(),
            Axis(0),
            &indices.view(),
            &gathered.view(),
        );
        let mut expected = x.clone();
        for ((i, j, k), &index) in indices.indexed_iter() {
            assert_eq!(gathered[[i, j, k]], x[[index, j, k]]);
            expected[[index, j, k]] += x[[index, j, k]];
        }
        assert_eq!(sum, expected);
        // Fewer lanes of indices than of elements.
        let few = indices.slice(s![.., ..3, ..1]);
        let fewer = gather(&x.view(), Axis(0), &few);
        assert_eq!(fewer, gathered.slice(s![.., ..3, ..1]));
    }

    #[test]
    fn no_indices_find_nothing() {
        let x = Array2::<f64>::ones((0, 2));
        assert_eq!(index_select(&x.view(), Axis(0), &[]).shape(), [0, 2]);
        assert_eq!(index_select(&x.view(), Axis(1), &[1, 1, 1]).shape(), [0, 3]);
        let flat = Array2::<f64>::ones((2, 0));
        assert_eq!(index_select(&flat.view(), Axis(0), &[1, 0]).shape(), [2, 0]);
        assert_eq!(
            gather(&x.view(), Axis(0), &Array2::zeros((0, 2)).view()).shape(),
            [0, 2]
        );
        let mut sum = Array2::<f64>::ones((2, 2));
        index_add(&mut sum.view_mut(), Axis(0), &[], &x.view());
        scatter_add(
            &mut sum.view_mut(),
            Axis(0),
            &Array2::zeros((0, 2)).view(),
            &x.view(),
        );
        assert_eq!(sum, Array2::<f64>::ones((2, 2)));
    }
}
