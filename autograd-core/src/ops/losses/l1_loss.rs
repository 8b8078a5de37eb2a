//! |x − target|

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::{Reduction, check_shapes};
use crate::ops::add_tangents;
use crate::tensor::{Tensor, Tensor0};
use crate::{Element, custom_function, kernels};

/// |x − target| of each element. Where they are equal, the gradient is 0.
#[derive(Debug)]
pub struct L1Loss<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], target = [2, 3]))]
impl<T: Element, D: Dimension> L1Loss<T, D> {
    /// Returns |x − target| of each element.
    ///
    /// # Panics
    /// If the shapes differ.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, target: ArrayView<T, D>) -> Array<T, D> {
        check_shapes("l1_loss", &x, &target);
        kernels::zip(&x, &target, |x, target| (x - target).abs())
    }

    #[backward(x)]
    fn grad_x(grad_output: Tensor<T, D>, x: &Tensor<T, D>, target: &Tensor<T, D>) -> Tensor<T, D> {
        grad_output * signs(x, target)
    }

    #[backward(target)]
    fn grad_target(
        grad_output: Tensor<T, D>,
        x: &Tensor<T, D>,
        target: &Tensor<T, D>,
    ) -> Tensor<T, D> {
        grad_output * signs(target, x)
    }

    #[jvp]
    fn jvp(
        tangent_x: Option<&Tensor<T, D>>,
        tangent_target: Option<&Tensor<T, D>>,
        x: &Tensor<T, D>,
        target: &Tensor<T, D>,
    ) -> Option<Tensor<T, D>> {
        let tangent = add_tangents(tangent_x.cloned(), tangent_target.map(|tangent| -tangent))?;
        Some(tangent * signs(x, target))
    }
}

/// Returns the sign of x − y, 0 where they are equal, as a constant.
#[track_caller]
fn signs<T: Element, D: Dimension>(x: &Tensor<T, D>, y: &Tensor<T, D>) -> Tensor<T, D> {
    Tensor::from(kernels::zip(&x.view(), &y.view(), |x, y| {
        let difference = x - y;
        if difference.is_zero() {
            T::zero()
        } else {
            difference.signum()
        }
    }))
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns the mean or the sum of |x − target|. Where they are equal, the gradient is 0.
    #[doc = crate::math!(r"\frac{1}{n} \sum_{i=1}^n \left|x_i - \text{target}_i\right| \quad \text{or} \quad \sum_{i=1}^n \left|x_i - \text{target}_i\right|")]
    /// # Panics
    /// If the shapes differ.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Reduction};
    ///
    /// let (x, target) = (Tensor::from(array![1.0, 2.0]), Tensor::from(array![1.0, 5.0]));
    /// assert_eq!(x.l1_loss(&target, Reduction::Mean).item(), 1.5);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn l1_loss(&self, target: &Self, reduction: Reduction) -> Tensor0<T> {
        reduction.of(&self.l1_loss_unreduced(target))
    }

    /// Returns |x − target| of each element.
    ///
    /// # Panics
    /// If the shapes differ.
    #[must_use]
    #[track_caller]
    pub fn l1_loss_unreduced(&self, target: &Self) -> Self {
        L1Loss::apply(self, target)
    }
}
