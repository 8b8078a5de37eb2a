//! Slicing, without a copy.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Axis, Dimension, SliceArg, SliceInfoElem};

use crate::kernels::checks::{has_axis, has_rank};
use crate::kernels::counted;
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// A part of a tensor, without a copy.
#[derive(Debug)]
pub struct Slice<T, D, E>(PhantomData<(T, D, E)>);

#[custom_function(gradcheck(x = [3, 4], slice = ndarray::s![1, ..;-2].as_ref(), E = ndarray::Ix1))]
impl<T: Element, D: Dimension, E: Dimension> Slice<T, D, E> {
    /// Returns a view of the part that `slice` selects.
    ///
    /// # Panics
    /// If `slice` does not fit `x`, or the rank of the part is not that of `E`.
    #[forward]
    #[track_caller]
    pub fn forward(x: &Tensor<T, D>, slice: &[SliceInfoElem]) -> Tensor<T, E> {
        fits(x.shape(), slice);
        let taken = slice.iter().filter(|part| part.is_index()).count();
        has_rank::<E>("slice", x.shape(), slice.len() - taken);
        x.part(|view| view.slice(slice))
    }

    /// Returns zeros, with `grad_output` as the part.
    #[adjoint(x)]
    fn adjoint(
        grad_output: ArrayView<T, E>,
        slice: &[SliceInfoElem],
        shape_x: &[usize],
    ) -> Array<T, D> {
        let mut whole = kernels::full(shape_x, T::zero());
        let mut part = whole.view_mut().into_dyn().slice_move(slice);
        part.assign(&grad_output);
        whole
    }
}

/// Checks that `slice` has an entry for each axis of an array of `shape`, within the axis.
///
/// # Panics
/// If it does not.
#[track_caller]
fn fits(shape: &[usize], slice: &[SliceInfoElem]) {
    let entries = slice.iter().filter(|entry| !entry.is_new_axis());
    assert!(
        entries.clone().count() == shape.len(),
        "slice of a tensor of shape {shape:?}: there are entries for {}",
        counted(entries.count(), "axis", "axes")
    );
    for (axis, entry) in entries.enumerate() {
        within("slice", shape, axis, entry);
    }
}

/// Checks that `entry` is within its axis, for the function of this name.
///
/// # Panics
/// If it is not.
#[track_caller]
fn within(name: &str, shape: &[usize], axis: usize, entry: &SliceInfoElem) {
    assert!(
        is_within(entry, shape[axis]),
        "{name} of a tensor of shape {shape:?}: `{entry}` is not within the axis {axis}"
    );
}

/// Returns whether `entry` is within an axis of some length.
fn is_within(entry: &SliceInfoElem, length: usize) -> bool {
    // Negative indices count from the end.
    let position = |index: isize| match index {
        0.. => Some(index.unsigned_abs()),
        _ => length.checked_sub(index.unsigned_abs()),
    };
    match *entry {
        SliceInfoElem::Slice { start, end, step } => {
            let is_border = |index| position(index).is_some_and(|position| position <= length);
            step != 0 && is_border(start) && end.is_none_or(is_border)
        }
        SliceInfoElem::Index(index) => position(index).is_some_and(|position| position < length),
        SliceInfoElem::NewAxis => true,
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns a part of the tensor, without a copy. As for an [`Array`], ndarray's [`s!`](ndarray::s) writes the
    /// argument: ranges, negative steps, single indices, new axes.
    ///
    /// # Panics
    /// If a range or an index is not within its axis, or a step is 0.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::{array, s}};
    ///
    /// let x = Tensor::from(array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    /// assert_eq!(x.slice(s![1, ..;-1]).to_array(), array![6.0, 5.0, 4.0]);
    /// assert_eq!(x.slice(s![.., 1..]).to_array(), array![[2.0, 3.0], [5.0, 6.0]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn slice<I: SliceArg<D>>(&self, slice: I) -> Tensor<T, I::OutDim> {
        Slice::apply(self, slice.as_ref())
    }

    /// Returns a part of the tensor along `axis`, without a copy.
    ///
    /// # Panics
    /// If the axis is out of range, or the part is not within it.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::{Axis, Slice, array}};
    ///
    /// let x = Tensor::from(array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    /// assert_eq!(x.slice_axis(Axis(1), Slice::from(1..)).to_array(), array![[2.0, 3.0], [5.0, 6.0]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn slice_axis(&self, axis: Axis, part: ndarray::Slice) -> Self {
        has_axis("slice_axis", self.shape(), axis.index());
        let mut slice = vec![SliceInfoElem::from(..); self.ndim()];
        slice[axis.index()] = part.into();
        within(
            "slice_axis",
            self.shape(),
            axis.index(),
            &slice[axis.index()],
        );
        Slice::apply(self, &slice)
    }
}
