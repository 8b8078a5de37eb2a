//! Sums over one, several or all axes.

use std::ops::Range;

use ndarray::{Array, ArrayView, ArrayViewD, Axis, Dimension, IxDyn};

use super::along::{BLOCK, COLUMNS};
use super::axes::Axes;
use super::each_lane::of_each_lane;
use super::lanes::{Lanes, reduced};
use super::map::zip;
use super::pairwise::pairwise;
use crate::element::Element;

/// Returns the sum of all elements, added pairwise.
pub fn sum<T: Element, D: Dimension>(x: &ArrayView<'_, T, D>) -> T {
    match x.as_slice_memory_order() {
        Some(elements) => sum_slice(elements),
        None => sum_slice(&x.iter().copied().collect::<Vec<T>>()),
    }
}

/// Returns the sum of the elements of a slice, added pairwise.
pub fn sum_slice<T: Element>(x: &[T]) -> T {
    pairwise(x, x, |x, _| x)
}

/// Returns Σ x · y of two slices, added pairwise.
///
/// # Panics
/// If the lengths differ.
#[track_caller]
pub fn dot_slices<T: Element>(x: &[T], y: &[T]) -> T {
    assert!(
        x.len() == y.len(),
        "slices of the lengths {} and {}",
        x.len(),
        y.len()
    );
    pairwise(x, y, |x, y| x * y)
}

/// Returns the sum over `axes`, added pairwise.
///
/// # Panics
/// If one of the axes does not exist, or the rank of `E` is not that of the result.
///
/// ```
/// use pullback::kernels::{Axes, sum_over};
/// use pullback::ndarray::{Array1, Array2, Axis, array};
///
/// let x = array![[1.0, 2.0], [3.0, 4.0]];
/// let columns: Array1<f64> = sum_over(&x.view(), Axes::one(Axis(0)));
/// assert_eq!(columns, array![4.0, 6.0]);
/// let whole: Array2<f64> = sum_over(&x.view(), Axes::all().keepdim());
/// assert_eq!(whole, array![[10.0]]);
/// ```
#[track_caller]
pub fn sum_over<T: Element, D: Dimension, E: Dimension>(
    x: &ArrayView<'_, T, D>,
    axes: Axes,
) -> Array<T, E> {
    let shape = axes.shape("sum", x.shape());
    if let Some(last) = last_of_several(x.shape(), axes) {
        let partial: Array<T, D> = sum_over(x, last.keepdim());
        return sum_over(&partial.view(), axes);
    }
    let lanes = Lanes::of(x, axes);
    let sums = sums(&lanes.elements, &lanes.elements, lanes.shape(), |x, _| x);
    reduced(sums, &shape)
}

/// Returns the last run of adjacent `axes`, if a kept axis separates it from others: summed first, it leaves less
/// to sum and nothing to copy.
fn last_of_several(shape: &[usize], axes: Axes) -> Option<Axes> {
    let mut left = (0..shape.len()).rev().filter(|&axis| shape[axis] != 1);
    let last = left.find(|&axis| axes.contains(axis))?;
    let mut run = vec![last];
    run.extend(left.by_ref().take_while(|&axis| axes.contains(axis)));
    left.any(|axis| axes.contains(axis)).then(|| Axes::of(&run))
}

/// Returns Σ x · y over `axes`, added pairwise.
///
/// # Panics
/// If the shapes differ, one of the axes does not exist, or the rank of `E` is not that of the result.
#[track_caller]
pub fn dot_axes<T: Element, D: Dimension, E: Dimension>(
    x: &ArrayView<'_, T, D>,
    y: &ArrayView<'_, T, D>,
    axes: Axes,
) -> Array<T, E> {
    let is_plain = x.is_standard_layout() && y.is_standard_layout() && x.shape() == y.shape();
    if !is_plain || last_of_several(x.shape(), axes).is_some() {
        return sum_over(&zip(x, y, |x, y| x * y).view(), axes);
    }
    let shape = axes.shape("dot", x.shape());
    let (x, y) = (Lanes::of(x, axes), Lanes::of(y, axes));
    let sums = sums(&x.elements, &y.elements, x.shape(), |x, y| x * y);
    reduced(sums, &shape)
}

/// Returns Σ f(x, y) over the rows of each block: see [`Lanes`].
fn sums<T: Element>(
    x: &[T],
    y: &[T],
    shape: [usize; 3],
    f: impl Fn(T, T) -> T + Copy + Sync,
) -> Vec<T> {
    let [_, length, inner] = shape;
    let block = length * inner;
    of_each_lane(shape, T::zero(), |blocks, columns, results| {
        let range = blocks.start * block..blocks.end * block;
        let pairs = x[range.clone()]
            .chunks_exact(block)
            .zip(y[range].chunks_exact(block));
        for ((x, y), sums) in pairs.zip(results.chunks_exact_mut(columns.len())) {
            if inner == 1 {
                sums[0] = pairwise(x, y, f);
                continue;
            }
            let firsts = columns.clone().step_by(COLUMNS);
            for (first, sums) in firsts.zip(sums.chunks_mut(COLUMNS)) {
                let columns = first..first + sums.len();
                add_rows(x, y, inner, &columns, f, sums);
            }
        }
    })
}

/// Adds f(x, y) of some columns of all rows to `sums`, pairwise as [`pairwise`] does.
fn add_rows<T: Element>(
    x: &[T],
    y: &[T],
    inner: usize,
    columns: &Range<usize>,
    f: impl Fn(T, T) -> T + Copy + Sync,
    sums: &mut [T],
) {
    let rows = x.len() / inner;
    if rows > BLOCK {
        let middle = rows / 2 * inner;
        let mut second = [T::zero(); COLUMNS];
        let second = &mut second[..sums.len()];
        add_rows(&x[..middle], &y[..middle], inner, columns, f, sums);
        add_rows(&x[middle..], &y[middle..], inner, columns, f, second);
        for (sum, &second) in sums.iter_mut().zip(&*second) {
            *sum += second;
        }
        return;
    }
    for (x, y) in x.chunks_exact(inner).zip(y.chunks_exact(inner)) {
        let row = x[columns.clone()].iter().zip(&y[columns.clone()]);
        for (sum, (&x, &y)) in sums.iter_mut().zip(row) {
            *sum += f(x, y);
        }
    }
}

/// Returns the sum over the axes along which an array of `shape` was repeated to the shape of `x`: the
/// reverse of broadcasting.
///
/// # Panics
/// If `shape` does not broadcast to the shape of `x`, or the rank of `E` is not that of `shape`.
#[track_caller]
pub fn sum_to<T: Element, D: Dimension, E: Dimension>(
    x: &ArrayView<'_, T, D>,
    shape: &[usize],
) -> Array<T, E> {
    let extra = x.ndim().checked_sub(shape.len());
    let fits = extra.is_some_and(|extra| {
        x.shape()[extra..]
            .iter()
            .zip(shape)
            .all(|(&from, &to)| from == to || to == 1)
    });
    assert!(
        fits,
        "sum_to of a tensor of shape {:?} to {shape:?}: the lengths do not fit",
        x.shape()
    );
    let extra = extra.unwrap_or(0);
    let mut rest: ArrayViewD<'_, T> = x.view().into_dyn();
    let mut owned;
    for axis in (0..x.ndim()).rev() {
        let kept = axis.checked_sub(extra).map(|kept| shape[kept]);
        if kept == Some(rest.len_of(Axis(axis))) {
            continue;
        }
        owned = sum_over::<T, IxDyn, IxDyn>(&rest, Axes::one(Axis(axis)));
        if kept.is_some() {
            owned.insert_axis_inplace(Axis(axis));
        }
        rest = owned.view();
    }
    rest.to_owned()
        .into_dimensionality()
        .expect("the rank asked for is the shape's")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array1, Array2, Array3, Ix0, Ix1, Ix2, s};

    fn counting(shape: [usize; 3]) -> Array3<f64> {
        let mut next = 0.0;
        Array3::from_shape_simple_fn(shape, || {
            next += 1.0;
            next
        })
    }

    #[test]
    fn sums_of_every_layout_are_exact() {
        for length in [0, 1, 15, 300, 4097] {
            let x = Array1::from_shape_fn(length, |i| i as f64);
            let expected = (length * length.saturating_sub(1) / 2) as f64;
            assert_eq!(sum(&x.view()), expected, "{length}");
            assert_eq!(sum(&x.slice(s![..;-1])), expected, "{length}");
        }
        assert_eq!(
            sum(&counting([4, 5, 6]).slice(s![.., ..;2, 1..])),
            counting([4, 5, 6]).slice(s![.., ..;2, 1..]).sum()
        );
    }

    #[test]
    fn columns_are_summed_pairwise() {
        for (rows, columns) in [(1, 2), (127, 3), (129, 64), (1000, 65), (70_000, 2)] {
            let x = Array2::from_shape_fn((rows, columns), |(i, j)| (i % 7 + j) as f32);
            let sums: Array1<f32> = sum_over(&x.view(), Axes::one(Axis(0)));
            let squares: Array1<f32> = dot_axes(&x.view(), &x.view(), Axes::one(Axis(0)));
            for (j, column) in x.columns().into_iter().enumerate() {
                let exact: f32 = column.iter().sum();
                assert_eq!(sums[j], exact);
                let exact: f64 = column.iter().map(|&x| f64::from(x * x)).sum();
                assert!((f64::from(squares[j]) - exact).abs() <= 1e-6 * exact);
            }
        }
        let tenths = Array2::from_elem((1_000_000, 2), 0.1_f32);
        let sums: Array1<f32> = sum_over(&tenths.view(), Axes::one(Axis(0)));
        assert!((sums[1] - 100_000.0).abs() < 0.1);
    }

    #[test]
    fn sums_undo_broadcasting() {
        let x = counting([2, 3, 4]);
        let expected = x.sum_axis(Axis(0));
        assert_eq!(sum_to::<_, _, Ix2>(&x.view(), &[3, 4]), expected);
        assert_eq!(
            sum_to::<_, _, Ix1>(&x.view(), &[4]),
            expected.sum_axis(Axis(0))
        );
        assert_eq!(sum_to::<_, _, Ix0>(&x.view(), &[]).into_scalar(), 300.0);
        let column: Array2<f64> = sum_to(&x.view(), &[3, 1]);
        assert_eq!(column.column(0), expected.sum_axis(Axis(1)));
        let same: Array3<f64> = sum_to(&x.view(), &[2, 3, 4]);
        assert_eq!(same, x);
        let empty = Array2::<f64>::zeros((0, 3));
        assert_eq!(sum_to::<_, _, Ix1>(&empty.view(), &[3]), Array1::zeros(3));
    }

    #[test]
    #[should_panic(
        expected = "sum_to of a tensor of shape [2, 3, 4] to [2, 4]: the lengths do not fit"
    )]
    fn a_shape_that_does_not_fit_is_refused() {
        sum_to::<_, _, Ix2>(&counting([2, 3, 4]).view(), &[2, 4]);
    }
}
