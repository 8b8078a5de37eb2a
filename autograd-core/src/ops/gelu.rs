//! x Φ(x)

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};
use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::unary_backward;
use crate::kernels::{self, activations};
use crate::{Element, custom_function, tensor::Tensor};

/// x Φ(x) of each element, where Φ is the distribution function of the standard normal distribution.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::Gelu};
///
/// let x = Tensor::from(array![0.0]).set_requires_grad(true);
/// Gelu::apply(&x).sum().backward()?;
/// assert_eq!(x.grad(), Some(array![0.5])); // Φ(0)
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Gelu<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Gelu<T, D> {
    /// Returns x Φ(x) of each element, where Φ is the distribution function of the standard normal distribution.
    #[doc = crate::math!(r"x \, \Phi(x) = \frac{x}{2} \left(1 + \operatorname{erf} \frac{x}{\sqrt{2}}\right)")]
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(&x, kernels::gelu)
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        unary_backward(grad_output, x, activations::gelu_backward, |x| slope(x))
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), x)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns x Φ(x) of each element, where Φ is the distribution function of the standard normal distribution.
    ///
    /// [`Gelu`](crate::ops::Gelu) has the formula.
    #[must_use]
    #[track_caller]
    pub fn gelu(&self) -> Self {
        Gelu::apply(self)
    }
}

/// Returns Φ(x) + x φ(x).
#[track_caller]
fn slope<T: Element, D: Dimension>(x: &Tensor<T, D>) -> Tensor<T, D> {
    let [half, scale, peak] =
        [0.5, FRAC_1_SQRT_2, 0.5 * FRAC_1_SQRT_2 * FRAC_2_SQRT_PI].map(T::from_f64);
    let below = (x * scale).erf() * half + half;
    below + x * (x.square() * -half).exp() * peak
}
