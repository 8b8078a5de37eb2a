//! tanh x

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::unary_backward;
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// tanh x of each element.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::Tanh};
///
/// let x = Tensor::from(array![0.0, 1000.0]).set_requires_grad(true);
/// Tanh::apply(&x).sum().backward()?; // 1 − y²
/// assert_eq!(x.grad(), Some(array![1.0, 0.0]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Tanh<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Tanh<T, D> {
    /// Returns tanh x of each element.
    #[doc = crate::math!(r"\tanh x = \frac{e^x - e^{-x}}{e^x + e^{-x}}, \qquad \tanh' x = 1 - \tanh^2 x")]
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(
            &x,
            #[inline(always)]
            |x| kernels::tanh(x),
        )
    }

    // d tanh x/dx = 1 − tanh² x
    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
        unary_backward(
            grad_output,
            output,
            |grad, y| grad * (T::one() - y * y),
            |output| -output.square() + T::one(),
        )
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), output)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns tanh x of each element.
    ///
    /// [`Tanh`](crate::ops::Tanh) has the formula.
    #[must_use]
    #[track_caller]
    pub fn tanh(&self) -> Self {
        Tanh::apply(self)
    }
}
