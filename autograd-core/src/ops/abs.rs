//! |x|

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::{constant, unary_backward};
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// |x| of each element.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::Abs};
///
/// let x = Tensor::from(array![2.0, -3.0, 0.0]).set_requires_grad(true);
/// Abs::apply(&x).sum().backward()?;
/// assert_eq!(x.grad(), Some(array![1.0, -1.0, 0.0]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Abs<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Abs<T, D> {
    /// Returns |x| of each element.
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(&x, T::abs)
    }

    // Piecewise constant: its derivative is 0.
    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        unary_backward(
            grad_output,
            x,
            |grad, x| grad * sign(x),
            |x| constant(x, sign),
        )
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), x)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns |x| of each element, with the derivative 0 at 0.
    #[must_use]
    #[track_caller]
    pub fn abs(&self) -> Self {
        Abs::apply(self)
    }
}

/// Returns −1, 0 or 1; of NaN, NaN.
fn sign<T: Element>(x: T) -> T {
    if x == T::zero() { x } else { x.signum() }
}
