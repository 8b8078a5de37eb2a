//! Elements shifted along an axis, cyclically.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Axis, Dimension};

use crate::kernels::checks::has_axis;
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// A tensor with its elements shifted along an axis, cyclically.
#[derive(Debug)]
pub struct Roll<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 5], axis = Axis(1), shift = 2))]
impl<T: Element, D: Dimension> Roll<T, D> {
    /// Returns `x` with its elements shifted by `shift` positions along `axis`.
    ///
    /// # Panics
    /// If the axis is out of range.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, axis: Axis, shift: isize) -> Array<T, D> {
        has_axis("roll", x.shape(), axis.index());
        let length = x.len_of(axis);
        let (front, back) = x.split_at(axis, length - steps(shift, length));
        kernels::concat(axis, &[back, front])
    }

    #[adjoint(x)]
    fn adjoint(grad_output: ArrayView<T, D>, axis: Axis, shift: isize) -> Array<T, D> {
        let length = grad_output.len_of(axis);
        // Less than the length, so that the sign can be changed.
        let back = (length - steps(shift, length)).cast_signed();
        Self::forward(grad_output, axis, back)
    }
}

/// Returns the shift forward, less than the length of the axis, that has the same result.
fn steps(shift: isize, length: usize) -> usize {
    match length {
        0 => 0,
        _ => shift.rem_euclid(length.cast_signed()).cast_unsigned(),
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Shifts the elements by `shift` positions along `axis`. Elements that are shifted beyond one end continue at the
    /// other.
    ///
    /// # Panics
    /// If the axis is out of range.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::{Axis, array}};
    ///
    /// let x = Tensor::from(array![1.0, 2.0, 3.0]);
    /// assert_eq!(x.roll(Axis(0), 1).to_array(), array![3.0, 1.0, 2.0]);
    /// assert_eq!(x.roll(Axis(0), -1).to_array(), array![2.0, 3.0, 1.0]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn roll(&self, axis: Axis, shift: isize) -> Self {
        Roll::apply(self, axis, shift)
    }
}
