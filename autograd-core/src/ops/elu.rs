//! x, or α(eˣ − 1) where x is negative.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::{constant, unary_backward};
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// x of each positive element, α(eˣ − 1) of the others.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::Elu};
///
/// let x = Tensor::from(array![3.0, 0.0]).set_requires_grad(true);
/// Elu::apply(&x, 2.0).sum().backward()?;
/// assert_eq!(x.grad(), Some(array![1.0, 2.0])); // αeˣ on the left
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Elu<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], alpha = 1.5))]
impl<T: Element, D: Dimension> Elu<T, D> {
    /// Returns x of each positive element, α(eˣ − 1) of the others.
    #[doc = crate::math!(
        r"\begin{cases}"
        r"    x & x > 0 \\"
        r"    \alpha \left(e^x - 1\right) & x \le 0"
        r"\end{cases}"
    )]
    #[forward]
    pub fn forward(x: ArrayView<T, D>, alpha: T) -> Array<T, D> {
        // Both sides are computed: a loop without branches is vector code.
        kernels::map(&x, move |x| {
            let left = alpha * kernels::exp_m1(x);
            if x > T::zero() { x } else { left }
        })
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, x: &Tensor<T, D>, alpha: T) -> Tensor<T, D> {
        unary_backward(
            grad_output,
            x,
            move |grad, x| {
                let left = grad * alpha * kernels::exp(x);
                if x > T::zero() { grad } else { left }
            },
            |x| slope(x, alpha),
        )
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, x: &Tensor<T, D>, alpha: T) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), x, alpha)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns x of each positive element, α(eˣ − 1) of the others.
    ///
    /// [`Elu`](crate::ops::Elu) has the formula.
    #[must_use]
    #[track_caller]
    pub fn elu(&self, alpha: T) -> Self {
        Elu::apply(self, alpha)
    }
}

/// Returns 1 where x is positive, α eˣ elsewhere.
#[track_caller]
fn slope<T: Element, D: Dimension>(x: &Tensor<T, D>, alpha: T) -> Tensor<T, D> {
    let left = constant(x, move |x| if x > T::zero() { T::zero() } else { alpha });
    let right = constant(x, |x| if x > T::zero() { T::one() } else { T::zero() });
    // Large numbers are clamped: ∞ · 0 would not be 0.
    left * x.clamp(T::neg_infinity(), T::zero()).exp() + right
}
