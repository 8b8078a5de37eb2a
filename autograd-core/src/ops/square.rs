//! x²

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::unary_backward;
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// x² of each element.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::Square};
///
/// let x = Tensor::from(array![3.0]).set_requires_grad(true);
/// Square::apply(&x).sum().backward()?;
/// assert_eq!(x.grad(), Some(array![6.0]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Square<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Square<T, D> {
    /// Returns x² of each element.
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(&x, |x| x * x)
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        unary_backward(
            grad_output,
            x,
            |grad, x| grad * (x + x),
            |x| x * T::from_f64(2.0),
        )
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), x)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns x² of each element.
    #[must_use]
    #[track_caller]
    pub fn square(&self) -> Self {
        Square::apply(self)
    }
}
