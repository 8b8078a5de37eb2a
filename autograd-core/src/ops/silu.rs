//! x / (1 + e⁻ˣ)

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::unary_backward;
use crate::kernels::{self, activations};
use crate::{Element, custom_function, tensor::Tensor};

/// x / (1 + e⁻ˣ) of each element, also known as swish.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::Silu};
///
/// let x = Tensor::from(array![0.0, 1000.0]).set_requires_grad(true);
/// Silu::apply(&x).sum().backward()?;
/// assert_eq!(x.grad(), Some(array![0.5, 1.0]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Silu<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Silu<T, D> {
    /// Returns x / (1 + e⁻ˣ) of each element, also known as swish.
    #[doc = crate::math!(r"x \, \sigma(x) = \frac{x}{1 + e^{-x}}")]
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(&x, activations::silu)
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        unary_backward(grad_output, x, activations::silu_backward, |x| slope(x))
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), x)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns x / (1 + e⁻ˣ) of each element, also known as swish.
    ///
    /// [`Silu`](crate::ops::Silu) has the formula.
    #[must_use]
    #[track_caller]
    pub fn silu(&self) -> Self {
        Silu::apply(self)
    }
}

/// Returns σ + xσ(1 − σ), with σ = 1 / (1 + e⁻ˣ).
#[track_caller]
fn slope<T: Element, D: Dimension>(x: &Tensor<T, D>) -> Tensor<T, D> {
    let sigmoid = x.sigmoid();
    &sigmoid + x * &sigmoid * (-&sigmoid + T::one())
}
