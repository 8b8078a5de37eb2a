//! (x − target)²

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::{Reduction, check_shapes, times_slope};
use crate::ops::add_tangents;
use crate::tensor::{Tensor, Tensor0};
use crate::{Element, custom_function, kernels};

/// (x − target)² of each element.
#[derive(Debug)]
pub struct MseLoss<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], target = [2, 3]))]
impl<T: Element, D: Dimension> MseLoss<T, D> {
    /// Returns (x − target)² of each element.
    ///
    /// # Panics
    /// If the shapes differ.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, target: ArrayView<T, D>) -> Array<T, D> {
        check_shapes("mse_loss", &x, &target);
        kernels::zip(&x, &target, |x, target| (x - target) * (x - target))
    }

    #[backward(x)]
    fn grad_x(grad_output: &Tensor<T, D>, x: &Tensor<T, D>, target: &Tensor<T, D>) -> Tensor<T, D> {
        times_slope(
            grad_output,
            (x, target),
            |x, y| (x - y) * T::from_f64(2.0),
            slope,
        )
    }

    #[backward(target)]
    fn grad_target(
        grad_output: &Tensor<T, D>,
        x: &Tensor<T, D>,
        target: &Tensor<T, D>,
    ) -> Tensor<T, D> {
        times_slope(
            grad_output,
            (target, x),
            |x, y| (x - y) * T::from_f64(2.0),
            slope,
        )
    }

    #[jvp]
    fn jvp(
        tangent_x: Option<&Tensor<T, D>>,
        tangent_target: Option<&Tensor<T, D>>,
        x: &Tensor<T, D>,
        target: &Tensor<T, D>,
    ) -> Option<Tensor<T, D>> {
        let tangent = add_tangents(tangent_x.cloned(), tangent_target.map(|tangent| -tangent))?;
        Some(slope(x, target) * tangent)
    }
}

/// Returns 2 (x − y).
#[track_caller]
fn slope<T: Element, D: Dimension>(x: &Tensor<T, D>, y: &Tensor<T, D>) -> Tensor<T, D> {
    (x - y) * T::from_f64(2.0)
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns the mean or the sum of (x − target)².
    #[doc = crate::math!(r"\frac{1}{n} \sum_{i=1}^n \left(x_i - \text{target}_i\right)^2 \quad \text{or} \quad \sum_{i=1}^n \left(x_i - \text{target}_i\right)^2")]
    /// # Panics
    /// If the shapes differ.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Reduction};
    ///
    /// let (x, target) = (Tensor::from(array![1.0, 2.0]), Tensor::from(array![1.0, 5.0]));
    /// assert_eq!(x.mse_loss(&target, Reduction::Mean).item(), 4.5);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn mse_loss(&self, target: &Self, reduction: Reduction) -> Tensor0<T> {
        reduction.of(&self.mse_loss_unreduced(target))
    }

    /// Returns (x − target)² of each element.
    ///
    /// # Panics
    /// If the shapes differ.
    #[must_use]
    #[track_caller]
    pub fn mse_loss_unreduced(&self, target: &Self) -> Self {
        MseLoss::apply(self, target)
    }
}
