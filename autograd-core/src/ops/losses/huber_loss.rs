//! The Huber loss: squares near the target, absolute values far from it.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::{Reduction, check_shapes, times_slope};
use crate::ops::add_tangents;
use crate::tensor::{Tensor, Tensor0};
use crate::{Element, custom_function, kernels};

/// ½ d² of each d = x − target up to δ, and δ (|d| − ½ δ) beyond.
#[derive(Debug)]
pub struct HuberLoss<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [3, 4], target = [3, 4], delta = 0.3))]
impl<T: Element, D: Dimension> HuberLoss<T, D> {
    /// Returns ½ d² of each d = x − target up to δ, and δ (|d| − ½ δ) beyond.
    #[doc = crate::math!(
        r"\begin{cases}"
        r"    \frac{1}{2} d^2 & \left|d\right| \le \delta \\"
        r"    \delta \left(\left|d\right| - \frac{1}{2} \delta\right) & \left|d\right| > \delta"
        r"\end{cases}"
    )]
    /// # Panics
    /// If the shapes differ, or `delta` is not positive.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, target: ArrayView<T, D>, delta: T) -> Array<T, D> {
        check_shapes("huber_loss", &x, &target);
        assert!(
            delta > T::zero(),
            "huber_loss with delta {delta}: it must be positive"
        );
        let half = T::from_f64(0.5);
        // Both sides are computed: a loop without branches is vector code.
        kernels::zip(&x, &target, move |x, target| {
            let distance = (x - target).abs();
            let (far, near) = (
                delta * (distance - half * delta),
                half * distance * distance,
            );
            if distance > delta { far } else { near }
        })
    }

    #[backward(x)]
    fn grad_x(
        grad_output: &Tensor<T, D>,
        x: &Tensor<T, D>,
        target: &Tensor<T, D>,
        delta: T,
    ) -> Tensor<T, D> {
        times_slope(grad_output, (x, target), limited(delta), |x, target| {
            slopes(x, target, delta)
        })
    }

    #[backward(target)]
    fn grad_target(
        grad_output: &Tensor<T, D>,
        x: &Tensor<T, D>,
        target: &Tensor<T, D>,
        delta: T,
    ) -> Tensor<T, D> {
        times_slope(grad_output, (target, x), limited(delta), |target, x| {
            slopes(target, x, delta)
        })
    }

    #[jvp]
    fn jvp(
        tangent_x: Option<&Tensor<T, D>>,
        tangent_target: Option<&Tensor<T, D>>,
        x: &Tensor<T, D>,
        target: &Tensor<T, D>,
        delta: T,
    ) -> Option<Tensor<T, D>> {
        let tangent = add_tangents(tangent_x.cloned(), tangent_target.map(|tangent| -tangent))?;
        Some(slopes(x, target, delta) * tangent)
    }
}

/// Returns the difference of two numbers, limited to the range from −δ to δ.
fn limited<T: Element>(delta: T) -> impl Fn(T, T) -> T + Copy + Sync {
    move |x, y| {
        let difference = x - y;
        let raised = if difference < -delta {
            -delta
        } else {
            difference
        };
        if raised > delta { delta } else { raised }
    }
}

/// Returns x − y, limited to the range from −δ to δ.
#[track_caller]
fn slopes<T: Element, D: Dimension>(x: &Tensor<T, D>, y: &Tensor<T, D>, delta: T) -> Tensor<T, D> {
    (x - y).clamp(-delta, delta)
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns the mean or the sum of [`huber_loss_unreduced`](Self::huber_loss_unreduced).
    ///
    /// # Panics
    /// If the shapes differ, or `delta` is not positive.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Reduction};
    ///
    /// let (x, target) = (Tensor::from(array![1.0, 2.0]), Tensor::from(array![2.0, 5.0]));
    /// assert_eq!(x.huber_loss(&target, 1.0, Reduction::Sum).item(), 0.5 + 2.5);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn huber_loss(&self, target: &Self, delta: T, reduction: Reduction) -> Tensor0<T> {
        reduction.of(&self.huber_loss_unreduced(target, delta))
    }

    /// Returns ½ d² of each d = x − target up to δ, and δ (|d| − ½ δ) beyond.
    ///
    /// [`HuberLoss`](crate::ops::HuberLoss) has the formula.
    ///
    /// # Panics
    /// If the shapes differ, or `delta` is not positive.
    #[must_use]
    #[track_caller]
    pub fn huber_loss_unreduced(&self, target: &Self, delta: T) -> Self {
        HuberLoss::apply(self, target, delta)
    }
}
