//! Binary cross-entropy.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::{Reduction, check_shapes, times_slope};
use crate::ops::add_tangents;
use crate::tensor::{Tensor, Tensor0};
use crate::{Element, custom_function, kernels};

/// ln (1 + eˣ) − x · target of each element, stable.
#[derive(Debug)]
pub struct BceWithLogits<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], target = [2, 3]))]
impl<T: Element, D: Dimension> BceWithLogits<T, D> {
    /// Returns ln(1 + eˣ) − x · target of each element.
    #[doc = crate::math!(r"\ln\left(1 + e^x\right) - x \, t = -t \ln \sigma(x) - (1 - t) \ln\left(1 - \sigma(x)\right)")]
    /// Here t is the target, and σ is [`Sigmoid`](crate::ops::Sigmoid).
    ///
    /// # Panics
    /// If the shapes differ.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, target: ArrayView<T, D>) -> Array<T, D> {
        check_shapes("bce_with_logits", &x, &target);
        kernels::zip(
            &x,
            &target,
            #[inline(always)]
            |x, target| {
                // −x · target or, where x is positive, x · (1 − target): no difference of large numbers is small.
                let side = if x > T::zero() { T::one() } else { T::zero() };
                kernels::softplus(-x.abs()) + x * (side - target)
            },
        )
    }

    #[backward(x)]
    fn grad_x(grad_output: &Tensor<T, D>, x: &Tensor<T, D>, target: &Tensor<T, D>) -> Tensor<T, D> {
        times_slope(
            grad_output,
            (x, target),
            #[inline(always)]
            |x, target| kernels::sigmoid(x) - target,
            |x, target| x.sigmoid() - target,
        )
    }

    #[backward(target)]
    fn grad_target(grad_output: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        -(grad_output * x)
    }

    #[jvp]
    fn jvp(
        tangent_x: Option<&Tensor<T, D>>,
        tangent_target: Option<&Tensor<T, D>>,
        x: &Tensor<T, D>,
        target: &Tensor<T, D>,
    ) -> Option<Tensor<T, D>> {
        let along_x = tangent_x.map(|tangent| (x.sigmoid() - target) * tangent);
        let along_target = tangent_target.map(|tangent| -(tangent * x));
        add_tangents(along_x, along_target)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns the mean or the sum of [`bce_with_logits_unreduced`](Self::bce_with_logits_unreduced).
    ///
    /// # Panics
    /// If the shapes differ.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Reduction};
    ///
    /// let (x, target) = (Tensor::from(array![0.0, -1000.0]), Tensor::from(array![1.0, 0.0]));
    /// let loss = x.bce_with_logits(&target, Reduction::Mean);
    /// assert!((loss.item() - 2.0_f64.ln() / 2.0).abs() < 1e-15);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn bce_with_logits(&self, target: &Self, reduction: Reduction) -> Tensor0<T> {
        reduction.of(&self.bce_with_logits_unreduced(target))
    }

    /// Returns −target · ln p − (1 − target) · ln (1 − p) of each element, with the probability p = 1 / (1 + e⁻ˣ). It
    /// is computed from x, so that it is exact for p near 0 and 1.
    ///
    /// [`BceWithLogits`](crate::ops::BceWithLogits) has the formula.
    ///
    /// # Panics
    /// If the shapes differ.
    #[must_use]
    #[track_caller]
    pub fn bce_with_logits_unreduced(&self, target: &Self) -> Self {
        BceWithLogits::apply(self, target)
    }
}
