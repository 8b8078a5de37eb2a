//! Splitting a tensor along an axis.

use std::marker::PhantomData;

use ndarray::{Axis, Dimension, Slice};

use crate::kernels::checks::has_axis;
use crate::{Element, custom_function, tensor::Tensor};

/// The two parts of a tensor before and from an index on along an axis, without a copy.
#[derive(Debug)]
pub struct SplitAt<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 5], axis = Axis(1), index = 2))]
impl<T: Element, D: Dimension> SplitAt<T, D> {
    /// Returns views of the part before `index`, and of the part from `index` on.
    ///
    /// # Panics
    /// If the axis is out of range, or it is shorter.
    #[forward(outputs(before, after))]
    #[track_caller]
    pub fn forward(x: &Tensor<T, D>, axis: Axis, index: usize) -> (Tensor<T, D>, Tensor<T, D>) {
        has_axis("split", x.shape(), axis.index());
        assert!(
            index <= x.shape()[axis.index()],
            "split of a tensor of shape {:?} at {index} along axis {}: it is shorter",
            x.shape(),
            axis.index()
        );
        let part = |part| x.part(|view| view.slice_axis(axis, part));
        (part(Slice::from(..index)), part(Slice::from(index..)))
    }

    #[adjoint(x)]
    fn adjoint(grad_before: &Tensor<T, D>, grad_after: &Tensor<T, D>, axis: Axis) -> Tensor<T, D> {
        Tensor::concat(axis, &[grad_before, grad_after])
    }
}

/// Adds the parts of these lengths to `parts`. By halves: the gradients of n parts are then concatenated in
/// log n steps, instead of adding n gradients of the size of the whole.
#[track_caller]
fn split_into<T: Element, D: Dimension>(
    x: Tensor<T, D>,
    axis: Axis,
    lengths: &[usize],
    parts: &mut Vec<Tensor<T, D>>,
) {
    if lengths.len() < 2 {
        return parts.push(x);
    }
    let (before, after) = lengths.split_at(lengths.len() / 2);
    let halves = SplitAt::apply(&x, axis, before.iter().sum());
    split_into(halves.0, axis, before, parts);
    split_into(halves.1, axis, after, parts);
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Splits the tensor along `axis` into parts of these lengths, without a copy.
    ///
    /// # Panics
    /// If the axis is out of range, or the lengths do not add up to its length.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::{Axis, array}};
    ///
    /// let parts = Tensor::from(array![1.0, 2.0, 3.0]).split(Axis(0), &[1, 2]);
    /// assert_eq!(parts[1].to_array(), array![2.0, 3.0]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn split(&self, axis: Axis, lengths: &[usize]) -> Vec<Self> {
        has_axis("split", self.shape(), axis.index());
        let sum = lengths.iter().copied().fold(0, usize::saturating_add);
        assert!(
            sum == self.shape()[axis.index()],
            "split of a tensor of shape {:?} along axis {} into {lengths:?}: their sum is {sum}",
            self.shape(),
            axis.index()
        );
        if lengths.len() < 2 {
            let whole = |_| self.slice_axis(axis, Slice::from(..));
            return lengths.iter().map(whole).collect();
        }
        let mut parts = Vec::with_capacity(lengths.len());
        split_into(self.clone(), axis, lengths, &mut parts);
        parts
    }

    /// Splits the tensor along `axis` into at most `count` parts, without a copy. All but the last have one length.
    /// There are fewer parts if fewer of that length suffice; of an axis of length 0, there are `count` parts.
    ///
    /// # Panics
    /// If the axis is out of range, or `count` is 0.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::{Axis, array}};
    ///
    /// let parts = Tensor::from(array![1.0, 2.0, 3.0]).chunks(Axis(0), 2);
    /// assert_eq!(parts[0].to_array(), array![1.0, 2.0]);
    /// assert_eq!(parts[1].to_array(), array![3.0]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn chunks(&self, axis: Axis, count: usize) -> Vec<Self> {
        has_axis("chunks", self.shape(), axis.index());
        assert!(
            count > 0,
            "chunks of a tensor of shape {:?} into 0 parts: at least one is needed",
            self.shape()
        );
        let length = self.shape()[axis.index()];
        if length == 0 {
            return self.split(axis, &vec![0; count]);
        }
        let each = length.div_ceil(count);
        let mut lengths = vec![each; length / each];
        if !length.is_multiple_of(each) {
            lengths.push(length % each);
        }
        self.split(axis, &lengths)
    }
}
