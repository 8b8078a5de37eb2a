//! Binary cross-entropy.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::{Reduction, check_shapes};
use crate::ops::joined;
use crate::{Element, Tensor, Tensor0, custom_function, kernels};

/// ln (1 + eˣ) − x · target of each element, stable; also the probabilities p = 1 / (1 + e⁻ˣ), of which the
/// gradient is made.
#[derive(Debug)]
pub struct BceWithLogits<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], target = [2, 3]))]
impl<T: Element, D: Dimension> BceWithLogits<T, D> {
    /// The losses and the probabilities of each element.
    ///
    /// # Panics
    /// If the shapes differ.
    #[forward(outputs(losses, probabilities))]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, target: ArrayView<T, D>) -> (Array<T, D>, Array<T, D>) {
        check_shapes("bce_with_logits", &x, &target);
        let losses = kernels::zip(&x, &target, |x, target| {
            // ln (1 + eˣ) is x + ln (1 + e⁻ˣ), too. NaN stays itself.
            let positive = if x < T::zero() { T::zero() } else { x };
            positive - x * target + (-x.abs()).exp().ln_1p()
        });
        let probabilities = kernels::map(&x, |x| {
            let small = (-x.abs()).exp();
            let numerator = if x < T::zero() { small } else { T::one() };
            numerator / (T::one() + small)
        });
        (losses, probabilities)
    }

    #[backward(x)]
    fn grad_x(
        grad_losses: Option<&Tensor<T, D>>,
        grad_probabilities: Option<&Tensor<T, D>>,
        target: &Tensor<T, D>,
        probabilities: &Tensor<T, D>,
    ) -> Option<Tensor<T, D>> {
        let along_losses = grad_losses.map(|grad| (probabilities - target) * grad);
        let along_probabilities = grad_probabilities.map(|grad| slopes(probabilities) * grad);
        joined(along_losses, along_probabilities)
    }

    #[backward(target)]
    fn grad_target(grad_losses: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        -(grad_losses * x)
    }

    #[jvp]
    fn jvp(
        tangent_x: Option<&Tensor<T, D>>,
        tangent_target: Option<&Tensor<T, D>>,
        x: &Tensor<T, D>,
        target: &Tensor<T, D>,
        probabilities: &Tensor<T, D>,
    ) -> (Option<Tensor<T, D>>, Option<Tensor<T, D>>) {
        let along_x = tangent_x.map(|tangent| (probabilities - target) * tangent);
        let along_target = tangent_target.map(|tangent| -(tangent * x));
        let of_probabilities = tangent_x.map(|tangent| slopes(probabilities) * tangent);
        (joined(along_x, along_target), of_probabilities)
    }
}

/// dp / dx = p (1 − p)
#[track_caller]
fn slopes<T: Element, D: Dimension>(probabilities: &Tensor<T, D>) -> Tensor<T, D> {
    (-probabilities + T::one()) * probabilities
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// The mean or the sum of [`bce_with_logits_each`](Self::bce_with_logits_each).
    ///
    /// # Panics
    /// If the shapes differ.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    /// use autograd_core::ops::Reduction;
    ///
    /// let (x, target) = (Tensor::from(array![0.0, -1000.0]), Tensor::from(array![1.0, 0.0]));
    /// let loss = x.bce_with_logits(&target, Reduction::Mean);
    /// assert_eq!(loss.item(), 2.0_f64.ln() / 2.0);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn bce_with_logits(&self, target: &Self, reduction: Reduction) -> Tensor0<T> {
        reduction.of(&self.bce_with_logits_each(target))
    }

    /// −target · ln p − (1 − target) · ln (1 − p) of each element, with the probability p = 1 / (1 + e⁻ˣ);
    /// computed from x, so that it is right for p near 0 and 1.
    ///
    /// # Panics
    /// If the shapes differ.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    ///
    /// let (x, target) = (Tensor::from(array![0.0, 1000.0]), Tensor::from(array![1.0, 0.0]));
    /// assert_eq!(x.bce_with_logits_each(&target).to_array(), array![2.0_f64.ln(), 1000.0]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn bce_with_logits_each(&self, target: &Self) -> Self {
        BceWithLogits::apply(self, target).0
    }
}
