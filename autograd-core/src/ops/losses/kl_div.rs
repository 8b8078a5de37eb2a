//! The Kullback-Leibler divergence.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::{Reduction, check_shapes};
use crate::ops::add_tangents;
use crate::tensor::{Tensor, Tensor0};
use crate::{Element, custom_function, kernels};

/// target · (ln target − x) of each element, where x is the logarithm of a probability; 0 where the target is 0.
#[derive(Debug)]
pub struct KlDiv<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], target = [2, 3]))]
impl<T: Element, D: Dimension> KlDiv<T, D> {
    /// Returns target · (ln target − x) of each element.
    #[doc = crate::math!(r"\ell_i = t_i \left(\ln t_i - x_i\right), \qquad \sum_i \ell_i = \sum_i t_i \ln \frac{t_i}{p_i} \quad \text{for} \quad x_i = \ln p_i")]
    /// Here t is the target.
    ///
    /// # Panics
    /// If the shapes differ.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, target: ArrayView<T, D>) -> Array<T, D> {
        check_shapes("kl_div", &x, &target);
        kernels::zip(&x, &target, |x, target| {
            if target.is_zero() {
                T::zero()
            } else {
                target * (target.ln() - x)
            }
        })
    }

    #[backward(x)]
    fn grad_x(grad_output: &Tensor<T, D>, target: &Tensor<T, D>) -> Tensor<T, D> {
        -(grad_output * target)
    }

    #[backward(target)]
    fn grad_target(
        grad_output: &Tensor<T, D>,
        x: &Tensor<T, D>,
        target: &Tensor<T, D>,
    ) -> Tensor<T, D> {
        (target.ln() - x + T::one()) * grad_output
    }

    #[jvp]
    fn jvp(
        tangent_x: Option<&Tensor<T, D>>,
        tangent_target: Option<&Tensor<T, D>>,
        x: &Tensor<T, D>,
        target: &Tensor<T, D>,
    ) -> Option<Tensor<T, D>> {
        let along_x = tangent_x.map(|tangent| -(tangent * target));
        let along_target = tangent_target.map(|tangent| (target.ln() - x + T::one()) * tangent);
        add_tangents(along_x, along_target)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns the mean or the sum of [`kl_div_unreduced`](Self::kl_div_unreduced). For the mean divergence of several
    /// distributions, divide the sum by their number.
    ///
    /// # Panics
    /// If the shapes differ.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Reduction};
    ///
    /// let (x, target) = (Tensor::from(array![0.5, 0.5]).ln(), Tensor::from(array![1.0, 0.0]));
    /// assert_eq!(x.kl_div(&target, Reduction::Sum).item(), 2.0_f64.ln());
    /// ```
    #[must_use]
    #[track_caller]
    pub fn kl_div(&self, target: &Self, reduction: Reduction) -> Tensor0<T> {
        reduction.of(&self.kl_div_unreduced(target))
    }

    /// Returns target · (ln target − x) of each element, where x is the logarithm of a probability and the target is
    /// a probability; 0 where the target is 0.
    ///
    /// [`KlDiv`](crate::ops::KlDiv) has the formula.
    ///
    /// # Panics
    /// If the shapes differ.
    #[must_use]
    #[track_caller]
    pub fn kl_div_unreduced(&self, target: &Self) -> Self {
        KlDiv::apply(self, target)
    }
}
