//! 1 / (1 + e⁻ˣ)

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::unary_backward;
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// 1 / (1 + e⁻ˣ) of each element.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::Sigmoid};
///
/// let x = Tensor::from(array![0.0, 1000.0]).set_requires_grad(true);
/// Sigmoid::apply(&x).sum().backward()?; // y (1 − y)
/// assert_eq!(x.grad(), Some(array![0.25, 0.0]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Sigmoid<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Sigmoid<T, D> {
    /// Returns 1 / (1 + e⁻ˣ) of each element.
    #[doc = crate::math!(r"\sigma(x) = \frac{1}{1 + e^{-x}}, \qquad \sigma'(x) = \sigma(x) \left(1 - \sigma(x)\right)")]
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(
            &x,
            #[inline(always)]
            |x| kernels::sigmoid(x),
        )
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
        unary_backward(
            grad_output,
            output,
            |grad, y| grad * (y * (T::one() - y)),
            |output| output * (-output + T::one()),
        )
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), output)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns 1 / (1 + e⁻ˣ) of each element.
    ///
    /// [`Sigmoid`](crate::ops::Sigmoid) has the formula.
    #[must_use]
    #[track_caller]
    pub fn sigmoid(&self) -> Self {
        Sigmoid::apply(self)
    }
}
