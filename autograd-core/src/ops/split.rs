//! A tensor in parts along an axis.

use ndarray::{Axis, Dimension, Slice};

use crate::kernels::checks::has_axis;
use crate::{Element, Tensor};

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Parts of the tensor, one behind the other along an axis, of these lengths; without a copy.
    ///
    /// # Panics
    /// If there is no such axis, or the lengths do not add up to its length.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::{Axis, array};
    ///
    /// let parts = Tensor::from(array![1.0, 2.0, 3.0]).split(Axis(0), &[1, 2]);
    /// assert_eq!(parts[1].to_array(), array![2.0, 3.0]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn split(&self, axis: Axis, lengths: &[usize]) -> Vec<Self> {
        has_axis("split", self.shape(), axis.index());
        let sum = lengths
            .iter()
            .try_fold(0_usize, |sum, &length| sum.checked_add(length));
        assert!(
            sum == Some(self.shape()[axis.index()]),
            "split of a tensor of shape {:?} along axis {} into {lengths:?}: that is not its length",
            self.shape(),
            axis.index()
        );
        let mut end = 0;
        let mut parts = Vec::with_capacity(lengths.len());
        for length in lengths {
            let start = end;
            end += length;
            parts.push(self.slice_axis(axis, Slice::from(start..end)));
        }
        parts
    }

    /// At most `count` parts of the tensor, one behind the other along an axis, all but the last of one
    /// length; without a copy. Fewer, if so many of that length are more than the tensor; `count` of none.
    ///
    /// # Panics
    /// If there is no such axis, or `count` is 0.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::{Axis, array};
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
            "chunks of a tensor of shape {:?}: into none at all",
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
