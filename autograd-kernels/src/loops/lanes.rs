//! Loops over lanes: the elements along one axis, or along the axes that are reduced.
//!
//! A lane is passed as a slice, in any layout of the array. Where its elements are not contiguous, a few neighboring
//! lanes at a time are copied into a buffer.

use std::borrow::Cow;

use ndarray::{Array, ArrayView, Axis, Dimension};

use super::axes::Axes;
use super::broadcast::repeated;
use super::wide::copied;
use crate::element::Element;
use crate::memory;
use crate::parallel::{each_part, shares, worth};
use crate::shape::Shape;

/// The number of neighboring lanes that are copied at a time: the `f32`s of a cache line.
const NEIGHBORS: usize = 16;

/// Elements as `outer` blocks of `length` rows of `inner` elements: a lane is a column of a block.
pub(crate) struct Lanes<'a, T: Element> {
    pub(crate) elements: Cow<'a, [T]>,
    pub(crate) outer: usize,
    pub(crate) length: usize,
    pub(crate) inner: usize,
}

impl<'a, T: Element> Lanes<'a, T> {
    /// Returns the lanes of `x` along the reduced axes, in the row-major order of the other axes.
    ///
    /// # Panics
    /// If there is no memory for a result of each lane.
    #[track_caller]
    pub(crate) fn of<D: Dimension>(x: &'a ArrayView<'_, T, D>, reduced_axes: Axes) -> Self {
        // Of no elements there can be more lanes than there is memory for.
        if x.is_empty() {
            let shape = reduced_axes.shape("reduce", x.shape());
            assert!(
                memory::has_room::<T>(shape.size()),
                "a reduction of shape {:?}: there is no memory for a result of shape {shape} of {}",
                x.shape(),
                T::TYPE
            );
        }
        let axes = order(x, reduced_axes).unwrap_or_else(|| (0..x.ndim()).collect());
        let (kept, reduced): (Vec<usize>, Vec<usize>) =
            axes.iter().partition(|axis| !reduced_axes.contains(**axis));
        if let Some([outer, length, inner]) = blocks(&axes, x.shape(), reduced_axes) {
            return Self {
                elements: elements(x, &axes),
                outer,
                length,
                inner,
            };
        }
        let size = |axes: &[usize]| axes.iter().map(|&axis| x.len_of(Axis(axis))).product();
        Self {
            outer: size(&kept),
            length: size(&reduced),
            inner: 1,
            elements: elements(x, &[kept, reduced].concat()),
        }
    }

    /// Returns the numbers of blocks, of their rows, and of the elements of a row.
    pub(super) const fn shape(&self) -> [usize; 3] {
        [self.outer, self.length, self.inner]
    }

    /// Calls `f` with each lane.
    fn for_each(&self, mut f: impl FnMut(&[T])) {
        if self.length == 0 {
            (0..self.outer * self.inner).for_each(|_| f(&[]));
        } else if self.inner == 1 {
            self.elements.chunks_exact(self.length).for_each(f);
        } else if self.inner > 0 {
            let mut lanes = LaneBuffer::new(self.length);
            for block in self.elements.chunks_exact(self.length * self.inner) {
                for first in (0..self.inner).step_by(NEIGHBORS) {
                    let count = lanes.gather(block, self.inner, first);
                    (0..count).for_each(|position| f(lanes.lane(position)));
                }
            }
        }
    }
}

/// Returns the axes in the order that they have in memory, if there are no gaps between the elements and the kept
/// axes are in their own order. A transposed matrix is then reduced without a copy.
fn order<T, D: Dimension>(x: &ArrayView<'_, T, D>, reduced_axes: Axes) -> Option<Vec<usize>> {
    let mut axes: Vec<usize> = (0..x.ndim()).collect();
    if x.is_standard_layout() || x.as_slice_memory_order().is_none() {
        return Some(axes);
    }
    axes.sort_by_key(|&axis| std::cmp::Reverse(x.stride_of(Axis(axis))));
    let is_kept = |axis: &&usize| !reduced_axes.contains(**axis) && x.len_of(Axis(**axis)) != 1;
    axes.iter().filter(is_kept).is_sorted().then_some(axes)
}

/// Returns the elements with the axes in another order.
fn elements<'a, T: Element, D: Dimension>(
    x: &'a ArrayView<'_, T, D>,
    axes: &[usize],
) -> Cow<'a, [T]> {
    if axes.is_sorted() {
        return rows(x);
    }
    let permuted = x.view().into_dyn().permuted_axes(axes);
    match x.as_slice_memory_order() {
        Some(elements) if permuted.is_standard_layout() => Cow::Borrowed(elements),
        _ => Cow::Owned(permuted.iter().copied().collect()),
    }
}

/// Returns the elements in row-major order.
pub(crate) fn rows<'a, T: Element, D: Dimension>(x: &'a ArrayView<'_, T, D>) -> Cow<'a, [T]> {
    match (x.as_slice(), repeated(x)) {
        (Some(elements), _) => Cow::Borrowed(elements),
        // The gradient of a sum is repeated.
        (_, Some(element)) => Cow::Owned(vec![element; x.len()]),
        _ => Cow::Owned(x.iter().copied().collect()),
    }
}

/// Returns the blocks that the axes of a `shape`, in this order, make up: see [`Lanes`]. `None` if the reduced axes,
/// apart from axes of length 1, are not adjacent.
pub(super) fn blocks(axes: &[usize], shape: &[usize], reduced_axes: Axes) -> Option<[usize; 3]> {
    let mut blocks = [1; 3];
    let mut block = 0;
    for &axis in axes.iter().filter(|&&axis| shape[axis] != 1) {
        block = match (block, reduced_axes.contains(axis)) {
            (0, false) => 0,
            (0 | 1, true) => 1,
            (_, false) => 2,
            (_, true) => return None,
        };
        blocks[block] *= shape[axis];
    }
    Some(blocks)
}

/// A few neighboring lanes of a block, one after the other. Between them are gaps, so that lanes whose length is a
/// power of two do not compete for one line of the cache.
struct LaneBuffer<T> {
    elements: Vec<T>,
    length: usize,
    stride: usize,
}

impl<T: Element> LaneBuffer<T> {
    fn new(length: usize) -> Self {
        let stride = length + NEIGHBORS;
        Self {
            elements: vec![T::zero(); stride * NEIGHBORS],
            length,
            stride,
        }
    }

    /// Copies lanes from column `first` on while there is room, and returns their number.
    fn gather(&mut self, block: &[T], inner: usize, first: usize) -> usize {
        let columns = first..inner.min(first + NEIGHBORS);
        for (index, row) in block.chunks_exact(inner).enumerate() {
            let to = self.elements[index..].iter_mut().step_by(self.stride);
            for (to, &element) in to.zip(&row[columns.clone()]) {
                *to = element;
            }
        }
        columns.len()
    }

    /// Copies the lanes back, as the reverse of [`gather`](Self::gather).
    fn scatter(&self, block: &mut [T], inner: usize, first: usize) {
        let columns = first..inner.min(first + NEIGHBORS);
        for (index, row) in block.chunks_exact_mut(inner).enumerate() {
            let from = self.elements[index..].iter().step_by(self.stride);
            for (to, &element) in row[columns.clone()].iter_mut().zip(from) {
                *to = element;
            }
        }
    }

    fn lane(&self, position: usize) -> &[T] {
        &self.elements[position * self.stride..][..self.length]
    }

    fn lane_mut(&mut self, position: usize) -> &mut [T] {
        &mut self.elements[position * self.stride..][..self.length]
    }
}

/// Returns `f` of each lane along the reduced axes. A lane is in row-major order, unless it has several axes that
/// have another order in memory.
///
/// # Panics
/// If one of the axes does not exist, or the rank of `E` is not that of the result.
///
/// ```
/// use pullback::kernels::{Axes, reduce};
/// use pullback::ndarray::{Array1, Axis, array};
///
/// let x = array![[1.0, 2.0], [3.0, 4.0]];
/// let last: Array1<f64> = reduce(&x.view(), Axes::one(Axis(0)), |column| column[1]);
/// assert_eq!(last, array![3.0, 4.0]);
/// ```
#[track_caller]
pub fn reduce<T: Element, U, D: Dimension, E: Dimension>(
    x: &ArrayView<'_, T, D>,
    reduced_axes: Axes,
    mut f: impl FnMut(&[T]) -> U,
) -> Array<U, E> {
    let shape = reduced_axes.shape("reduce", x.shape());
    let lanes = Lanes::of(x, reduced_axes);
    let mut results = memory::take(shape.size());
    lanes.for_each(|lane| results.push(f(lane)));
    reduced(results, &shape)
}

/// Returns the array of results in row-major order.
#[track_caller]
pub(crate) fn reduced<U, E: Dimension>(results: Vec<U>, shape: &Shape) -> Array<U, E> {
    let Some(dimension) = shape.dimension::<E>() else {
        panic!(
            "a result of shape {shape} does not have rank {:?}",
            E::NDIM.unwrap_or_default()
        );
    };
    // INVARIANT: there is a result for each entry of the shape.
    Array::from_shape_vec(dimension, results).expect("a result for each")
}

/// Returns a copy of `x` whose lanes along `axis` `f` has changed in place, and what it has returned for each. `f` takes
/// the index of a lane, in the row-major order of the other axes. Large blocks of lanes are changed on several threads.
///
/// # Panics
/// If the axis is out of range.
///
/// ```
/// use pullback::kernels::map_lanes;
/// use pullback::ndarray::{Axis, array};
///
/// let x = array![[1.0, 2.0], [3.0, 4.0]];
/// let (shares, sums) = map_lanes(&x.view(), Axis(0), |_, lane| {
///     let sum: f64 = lane.iter().sum();
///     lane.iter_mut().for_each(|x| *x /= sum);
///     sum
/// });
/// assert_eq!(sums, [4.0, 6.0]);
/// assert_eq!(shares.row(0), array![0.25, 2.0 / 6.0]);
/// ```
#[track_caller]
pub fn map_lanes<T: Element, R: Send, D: Dimension>(
    x: &ArrayView<'_, T, D>,
    axis: Axis,
    f: impl Fn(usize, &mut [T]) -> R + Sync,
) -> (Array<T, D>, Vec<R>) {
    let reduced_axes = Axes::one(axis);
    let shape = reduced_axes.shape("a function of the lanes", x.shape());
    let axes: Vec<usize> = (0..x.ndim()).collect();
    let [outer, length, inner] = blocks(&axes, x.shape(), reduced_axes).unwrap_or([1; 3]);
    let block = length * inner;
    let source = rows(x);
    assert_eq!(outer * block, source.len(), "the blocks of all elements");
    let mut results: Vec<T> = memory::take(x.len());
    let parts = shares(outer, 1, worth::FORMULA.div_ceil(block.max(1)));
    let mut found: Vec<Vec<R>> = parts.iter().map(|_| Vec::new()).collect();
    let mut rest = &mut results.spare_capacity_mut()[..source.len()];
    let parts = parts.into_iter().zip(&mut found).map(|(part, found)| {
        let (elements, after) = std::mem::take(&mut rest).split_at_mut(part.len() * block);
        rest = after;
        (part, elements, found)
    });
    each_part(parts.collect(), |(part, elements, found)| {
        let first = part.start * inner;
        found.reserve_exact(part.len() * inner);
        let mut each = |lane: &mut [T]| found.push(f(first + found.len(), lane));
        let mut source = &source[part.start * block..];
        let mut rest = elements;
        // A copy of the next elements, each in its place, which is in the fastest cache if they are few.
        let mut next = |count: usize| {
            let (x, out);
            (x, source) = source.split_at(count);
            (out, rest) = std::mem::take(&mut rest).split_at_mut(count);
            copied(x, out)
        };
        if inner == 1 || length == 0 {
            return (0..part.len() * inner).for_each(|_| each(next(length)));
        }
        let mut lanes = LaneBuffer::new(length);
        for _ in part {
            let block = next(block);
            for first in (0..inner).step_by(NEIGHBORS) {
                let count = lanes.gather(block, inner, first);
                (0..count).for_each(|position| each(lanes.lane_mut(position)));
                lanes.scatter(block, inner, first);
            }
        }
    });
    let mut returned = Vec::with_capacity(shape.size());
    returned.extend(found.into_iter().flatten());
    // SAFETY: every element was copied, block by block, and there is no other: see the assertion.
    #[expect(unsafe_code, reason = "see above")]
    unsafe {
        results.set_len(x.len());
    }
    // INVARIANT: they are as many as those of `x`.
    let results = Array::from_shape_vec(x.raw_dim(), results).expect("one for each");
    (results, returned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::sum::{dot_axes, sum_over};
    use ndarray::{Array3, Array4, ArrayD, IxDyn, s};

    fn counting() -> Array4<f64> {
        let mut next = 0.0;
        Array4::from_shape_simple_fn((2, 3, 1, 37), || {
            next += 1.0;
            next
        })
    }

    /// Sums with ndarray, axis after axis.
    fn by_ndarray(x: &ArrayD<f64>, reduced_axes: Axes) -> ArrayD<f64> {
        (0..x.ndim())
            .rev()
            .filter(|&axis| reduced_axes.contains(axis))
            .fold(x.clone(), |x, axis| x.sum_axis(Axis(axis)))
    }

    #[test]
    fn lanes_of_every_layout_are_whole() {
        let x = counting();
        let views = [
            x.view(),
            x.t(),
            x.slice(s![..;-1, .., .., 1..;3]),
            x.slice(s![.., 1..1, .., ..]),
            x.view().permuted_axes([3, 1, 0, 2]),
            x.view().permuted_axes([1, 3, 2, 0]),
        ];
        for view in views {
            let owned = view.to_owned().into_dyn();
            for axes in 0..16_usize {
                let axes: Vec<usize> = (0..4).filter(|axis| axes >> axis & 1 == 1).collect();
                let reduced_axes = Axes::of(&axes);
                let sums: ArrayD<f64> = reduce(&view, reduced_axes, |lane| lane.iter().sum());
                assert_eq!(sums, by_ndarray(&owned, reduced_axes), "{axes:?}");
                let sums: ArrayD<f64> = sum_over(&view, reduced_axes);
                assert_eq!(sums, by_ndarray(&owned, reduced_axes), "{axes:?}");
                let dots: ArrayD<f64> = dot_axes(&view, &view, reduced_axes);
                assert_eq!(
                    dots,
                    by_ndarray(&(&owned * &owned), reduced_axes),
                    "{axes:?}"
                );
                let counts: ArrayD<usize> = reduce(&view, reduced_axes.keepdim(), <[f64]>::len);
                assert!(
                    counts
                        .iter()
                        .all(|&count| count == reduced_axes.count(view.shape()))
                );
            }
            for axis in 0..4 {
                let mut expected = view.to_owned();
                expected.invert_axis(Axis(axis));
                let (found, firsts) = map_lanes(&view, Axis(axis), |index, lane| {
                    lane.reverse();
                    (index, lane.last().copied())
                });
                assert_eq!(found, expected);
                let lanes = view.lanes(Axis(axis)).into_iter().enumerate();
                let expected = lanes.map(|(index, lane)| (index, lane.first().copied()));
                assert_eq!(firsts, expected.collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn lanes_are_in_the_order_of_the_axes() {
        let x = counting();
        let lanes: Array3<Vec<f64>> = reduce(&x.view(), Axes::one(Axis(1)), <[f64]>::to_vec);
        for ((i, j, k), lane) in lanes.indexed_iter() {
            assert_eq!(lane, &x.slice(s![i, .., j, k]).to_vec());
        }
        let same: ArrayD<f64> = reduce(&x.view(), Axes::of(&[]), |lane| lane[0]);
        assert_eq!(same, x.into_dyn());
    }

    #[test]
    #[should_panic(expected = "a result of shape [3] does not have rank 2")]
    fn a_result_of_another_rank_is_refused() {
        let x = ArrayD::<f64>::zeros(IxDyn(&[2, 3]));
        let _: ndarray::Array2<f64> = reduce(&x.view(), Axes::one(Axis(0)), |_| 0.0);
    }
}
