//! Many elements into few.

use ndarray::{Array, ArrayView, ArrayViewD, Axis, Dimension, IxDyn};

use crate::element::Element;

/// How many elements are added one after the other before pairs of such sums are added. The error
/// then grows with the logarithm of the number of elements, not with the number.
const BLOCK: usize = 128;

/// Independent partial sums, which the processor adds side by side.
const LANES: usize = 16;

/// The sum of all elements, pairwise.
///
/// ```
/// use autograd_core::kernels::sum;
/// use autograd_core::ndarray::{Array1, array};
///
/// assert_eq!(sum(&array![[1.0, 2.0], [3.0, 4.0]].view()), 10.0);
/// // One after the other, the sum of 0.1 in `f32` would be off by hundreds.
/// let many = Array1::from_elem(10_000_000, 0.1_f32);
/// assert!((sum(&many.view()) - 1_000_000.0).abs() < 1.0);
/// ```
pub fn sum<T: Element, D: Dimension>(x: &ArrayView<'_, T, D>) -> T {
    match x.as_slice_memory_order() {
        Some(elements) => pairwise(elements),
        None => pairwise(&x.iter().copied().collect::<Vec<T>>()),
    }
}

fn pairwise<T: Element>(elements: &[T]) -> T {
    if elements.len() > BLOCK {
        let (left, right) = elements.split_at((elements.len() / 2).next_multiple_of(LANES));
        return pairwise(left) + pairwise(right);
    }
    let mut lanes = [T::zero(); LANES];
    let (chunks, rest) = elements.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &element) in lanes.iter_mut().zip(chunk) {
            *lane += element;
        }
    }
    let rest = rest.iter().fold(T::zero(), |sum, &element| sum + element);
    lanes.iter().fold(rest, |sum, &lane| sum + lane)
}

/// The sum over the axes along which an array of `shape` was repeated to the shape of `x`: the reverse
/// of broadcasting.
///
/// # Panics
/// If `shape` does not broadcast to the shape of `x`, or `E` has another rank than `shape`.
///
/// ```
/// use autograd_core::kernels::sum_to;
/// use autograd_core::ndarray::{Ix1, Ix2, array};
///
/// let x = array![[1.0, 2.0], [3.0, 4.0]];
/// assert_eq!(sum_to::<_, _, Ix1>(&x.view(), &[2]), array![4.0, 6.0]);
/// assert_eq!(sum_to::<_, _, Ix2>(&x.view(), &[2, 1]), array![[3.0], [7.0]]);
/// ```
#[track_caller]
pub fn sum_to<T: Element, D: Dimension, E: Dimension>(
    x: &ArrayView<'_, T, D>,
    shape: &[usize],
) -> Array<T, E> {
    let extra = x.ndim().checked_sub(shape.len());
    let fits = extra.is_some_and(|extra| {
        let kept = x.shape()[extra..].iter().zip(shape);
        kept.into_iter().all(|(&from, &to)| from == to || to == 1)
    });
    assert!(fits, "shape {:?} is not {shape:?} broadcast", x.shape());
    let extra = extra.unwrap_or(0);
    let mut rest: ArrayViewD<'_, T> = x.view().into_dyn();
    let mut owned;
    for axis in (0..x.ndim()).rev() {
        let kept = axis.checked_sub(extra).map(|kept| shape[kept]);
        if kept == Some(rest.len_of(Axis(axis))) {
            continue;
        }
        owned = sum_axis(&rest, axis);
        if kept.is_some() {
            owned.insert_axis_inplace(Axis(axis));
        }
        rest = owned.view();
    }
    let summed = rest.to_owned();
    summed
        .into_dimensionality()
        .expect("the rank asked for is the shape's")
}

/// The sum along one axis, pairwise where the axis lies contiguous.
fn sum_axis<T: Element>(x: &ArrayViewD<'_, T>, axis: usize) -> Array<T, IxDyn> {
    let last = axis + 1 == x.ndim();
    if last && x.is_standard_layout() {
        return x.map_axis(Axis(axis), |lane| sum(&lane));
    }
    x.sum_axis(Axis(axis))
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
    fn every_length_is_summed_whole() {
        for length in (0..300).chain([1000, 4096, 4097]) {
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
    #[should_panic(expected = "shape [2, 3, 4] is not [2, 4] broadcast")]
    fn a_shape_that_does_not_fit_is_refused() {
        sum_to::<_, _, Ix2>(&counting([2, 3, 4]).view(), &[2, 4]);
    }
}
