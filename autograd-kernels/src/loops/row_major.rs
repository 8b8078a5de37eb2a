//! Copies in row-major order.

use std::mem::MaybeUninit;

use ndarray::{
    Array, ArrayView, ArrayView2, ArrayViewD, ArrayViewMut, ArrayViewMut2, ArrayViewMutD,
};
use ndarray::{Axis, CowArray, Dimension, Ix2, Slice, Zip};

use super::broadcast::repeated;
use super::map::filled;
use super::wide::copied;
use crate::parallel::{split_mut, worth};

/// The number of lanes that are copied at a time where lanes of the source become columns: few enough that their next
/// elements stay in the fastest cache, even if they are a power of two apart.
const LANES: usize = 8;

/// Returns a copy of an array of any layout in row-major order.
///
/// ```
/// use pullback::kernels::row_major;
/// use pullback::ndarray::array;
///
/// let x = array![[1.0, 2.0], [3.0, 4.0]];
/// let transposed = row_major(&x.t());
/// assert_eq!(transposed.as_slice(), Some(&[1.0, 3.0, 2.0, 4.0][..]));
/// ```
#[track_caller]
pub fn row_major<T: Copy + Send + Sync, D: Dimension>(x: &ArrayView<'_, T, D>) -> Array<T, D> {
    filled(x, |out| {
        if x.ndim() == 0 || x.is_empty() {
            return copy_rows(x, out);
        }
        let row = out.len() / x.shape()[0];
        let axis = transposed_axis(x);
        split_mut(out, row, worth::LOOP.div_ceil(row), |first, out| {
            let end = first + out.len() / row;
            let x = x.slice_axis(Axis(0), Slice::from(first..end));
            match axis {
                Some(axis) => copy_transposed(&x, axis, out),
                None => copy_rows(&x, out),
            }
        });
    })
}

/// Writes the elements row by row.
fn copy_rows<T: Copy, D: Dimension>(x: &ArrayView<'_, T, D>, mut out: &mut [MaybeUninit<T>]) {
    if let Some(slice) = x.as_slice() {
        copied(slice, out);
        return;
    }
    for x in x.rows() {
        let (row, rest) = out.split_at_mut(x.len());
        match (x.to_slice(), repeated(&x)) {
            (Some(slice), _) => {
                copied(slice, row);
            }
            (None, Some(element)) => row.fill(MaybeUninit::new(element)),
            (None, None) => {
                for (out, &x) in row.iter_mut().zip(x) {
                    out.write(x);
                }
            }
        }
        out = rest;
    }
}

/// Returns the array itself if it is in row-major order, else a copy that is.
pub(crate) fn in_row_major<'a, T: Copy + Send + Sync, D: Dimension>(
    x: &'a ArrayView<'_, T, D>,
) -> CowArray<'a, T, D> {
    match x.as_slice() {
        Some(_) => CowArray::from(x.view()),
        None => CowArray::from(row_major(x)),
    }
}

/// Returns the axis along which elements are contiguous, if it is not the last one: rows of the copy are then
/// scattered over the memory of the source. `None` for few rows or short ones, which gain nothing.
fn transposed_axis<T, D: Dimension>(x: &ArrayView<'_, T, D>) -> Option<usize> {
    let (&last, others) = x.shape().split_last()?;
    let axis = (0..others.len()).find(|&axis| others[axis] >= LANES && x.strides()[axis] == 1)?;
    (last >= LANES).then_some(axis)
}

/// Writes the elements of `x`, which are contiguous along `axis`.
fn copy_transposed<T: Copy, D: Dimension>(
    x: &ArrayView<'_, T, D>,
    axis: usize,
    out: &mut [MaybeUninit<T>],
) {
    // INVARIANT: there is a place for each element.
    let target = ArrayViewMut::from_shape(x.raw_dim(), out).expect("as many elements");
    // The axis becomes the last but one.
    let mut order: Vec<usize> = (0..x.ndim()).filter(|&other| other != axis).collect();
    order.insert(x.ndim() - 2, axis);
    let target = target.into_dyn().permuted_axes(&order[..]);
    planes(target, x.view().into_dyn().permuted_axes(&order[..]));
}

/// Copies plane by plane.
fn planes<T: Copy>(mut target: ArrayViewMutD<'_, MaybeUninit<T>>, x: ArrayViewD<'_, T>) {
    if x.ndim() > 2 {
        for (target, x) in target.outer_iter_mut().zip(x.outer_iter()) {
            planes(target, x);
        }
        return;
    }
    // INVARIANT: the contiguous axis and the last one are left.
    let target = target.into_dimensionality::<Ix2>().expect("two axes");
    let x = x.into_dimensionality::<Ix2>().expect("two axes");
    copy_columns(target, &x, MaybeUninit::new);
}

/// Copies columns, each contiguous in `x`, into rows, each contiguous in `target`, as `element` makes the elements of one
/// from those of the other.
pub(crate) fn copy_columns<T: Copy, U>(
    mut target: ArrayViewMut2<'_, U>,
    x: &ArrayView2<'_, T>,
    element: impl Fn(T) -> U,
) {
    let strips = target.axis_chunks_iter_mut(Axis(1), LANES);
    for (mut target, x) in strips.zip(x.axis_chunks_iter(Axis(1), LANES)) {
        let columns: Option<Vec<&[T]>> = x.columns().into_iter().map(|c| c.to_slice()).collect();
        let columns: Option<[&[T]; LANES]> = columns.and_then(|columns| columns.try_into().ok());
        let Some(columns) = columns else {
            Zip::from(&mut target)
                .and(&x)
                .for_each(|out, &x| *out = element(x));
            continue;
        };
        for (position, row) in target.rows_mut().into_iter().enumerate() {
            for (out, column) in row.into_iter().zip(columns) {
                *out = element(column[position]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Array4, s};

    use super::*;

    #[test]
    fn arrays_of_every_layout_are_copied() {
        let x = Array4::from_shape_fn((3, 9, 2, 17), |(i, j, k, l)| {
            (1000 * i + 100 * j + 50 * k + l) as f64
        });
        let mut orders = vec![];
        for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
            for (c, d) in [(0, 1), (0, 3), (2, 3), (1, 2)] {
                let mut order = [0, 1, 2, 3];
                order.swap(a, b);
                order.swap(c, d);
                orders.push(order);
            }
        }
        for order in orders {
            let view = x.view().permuted_axes(order);
            for view in [
                view,
                view.slice(s![.., ..;-1, .., ..]),
                view.slice(s![.., .., .., ..;-1]),
                view.slice(s![..;2, 1.., .., 1..]),
                view.slice(s![.., .., ..1, ..0]),
            ] {
                let copy = row_major(&view);
                assert_eq!(copy, view);
                assert!(copy.is_standard_layout());
            }
        }
    }

    #[test]
    fn large_arrays_are_copied_on_any_number_of_threads() {
        let x = Array4::from_shape_fn((5, 3, 60, 70), |(i, j, k, l)| {
            (100_000 * i + 10_000 * j + 100 * k + l) as f64
        });
        for order in [[0, 2, 3, 1], [3, 2, 1, 0], [1, 0, 2, 3], [0, 1, 3, 2]] {
            let view = x.view().permuted_axes(order);
            assert_eq!(row_major(&view), view);
            assert_eq!(
                row_major(&view.slice(s![1.., ..;-1, .., ..])),
                view.slice(s![1.., ..;-1, .., ..])
            );
        }
    }

    #[test]
    fn matrices_of_many_sizes_are_transposed() {
        for rows in [1, 7, 8, 9, 16, 33] {
            for columns in [1, 7, 8, 9, 16, 33] {
                let x = Array2::from_shape_fn((rows, columns), |(i, j)| (100 * i + j) as f32);
                assert_eq!(row_major(&x.t()), x.t());
                let repeated = x.broadcast((8, rows, columns)).unwrap();
                assert_eq!(
                    row_major(&repeated.view().permuted_axes([1, 2, 0])).sum(),
                    8.0 * x.sum()
                );
            }
        }
    }
}
