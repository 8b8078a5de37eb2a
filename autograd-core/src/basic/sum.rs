//! Σx and its mean.

use std::iter;
use std::marker::PhantomData;

use ndarray::{Array, Array0, ArrayView, Dimension};

use crate::tensor::{Tensor, Tensor0};
use crate::{Element, custom_function, kernels};

/// The sum of all elements, added pairwise.
#[derive(Debug)]
pub struct Sum<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Sum<T, D> {
    /// Returns Σx of all elements.
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array0<T> {
        Array0::from_elem((), kernels::sum(&x))
    }

    #[adjoint(x)]
    fn adjoint(grad_output: &Tensor0<T>, shape_x: &[usize]) -> Tensor<T, D> {
        grad_output.broadcast_to(shape_x)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns the sum of all elements, added pairwise; 0 if there are none.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// assert_eq!(Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]).sum().item(), 10.0);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn sum(&self) -> Tensor0<T> {
        Sum::apply(self)
    }

    /// Returns the mean of all elements; NaN if there are none.
    #[must_use]
    #[track_caller]
    pub fn mean(&self) -> Tensor0<T> {
        mean_of(self, self.sum(), self.len(), Self::sum)
    }
}

/// Returns the mean of each `count` elements of `x`, whose sums are `sums`; also where only a sum is out of range. `sum`
/// adds the same elements of another tensor.
#[track_caller]
pub(crate) fn mean_of<T: Element, D: Dimension, E: Dimension>(
    x: &Tensor<T, D>,
    sums: Tensor<T, E>,
    count: usize,
    sum: impl FnOnce(&Tensor<T, D>) -> Tensor<T, E>,
) -> Tensor<T, E> {
    let means = sums / T::from_f64(count as f64);
    if means.view().iter().all(|mean| mean.is_finite()) {
        return means;
    }
    // Division by a power of two is exact.
    let power = count.next_power_of_two() as f64;
    sum(&(x / T::from_f64(power))) * T::from_f64(power / count as f64)
}

/// The sum of tensors of one shape, from the first to the last; of none, 0 if their rank is 0.
///
/// # Panics
/// If there are no tensors and the rank is not 0, as their sum would have no shape; or if shapes do not broadcast.
///
/// ```
/// use pullback::{Tensor, Tensor0, Tensor1, ndarray::array};
///
/// let total: Tensor1<f64> = [array![1.0, 2.0], array![10.0, 20.0]].map(Tensor::from).iter().sum();
/// assert_eq!(total.to_array(), array![11.0, 22.0]);
/// assert_eq!(std::iter::empty::<Tensor0<f64>>().sum::<Tensor0<f64>>().item(), 0.0);
/// ```
impl<T: Element, D: Dimension> iter::Sum for Tensor<T, D> {
    fn sum<I: Iterator<Item = Self>>(tensors: I) -> Self {
        tensors
            .reduce(|sum, tensor| sum + tensor)
            .unwrap_or_else(nothing)
    }
}

impl<'a, T: Element, D: Dimension> iter::Sum<&'a Self> for Tensor<T, D> {
    fn sum<I: Iterator<Item = &'a Self>>(mut tensors: I) -> Self {
        match tensors.next() {
            Some(first) => tensors.fold(first.clone(), |sum, tensor| sum + tensor),
            None => nothing(),
        }
    }
}

/// Returns the sum of no tensors.
fn nothing<T: Element, D: Dimension>() -> Tensor<T, D> {
    assert!(D::NDIM == Some(0), "the sum of no tensors has no shape");
    Tensor::from(Array::zeros(D::default()))
}
