//! tan x

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::{elementary, unary_backward};
use crate::{Element, custom_function, tensor::Tensor};

/// tan x of each element.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::Tan};
///
/// let x = Tensor::from(array![0.0, 1.0]).set_requires_grad(true);
/// let y = Tan::apply(&x);
/// y.sum().backward()?;
/// assert_eq!(x.grad(), Some((y.square() + 1.0).to_array()));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Tan<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Tan<T, D> {
    /// Returns tan x of each element.
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        elementary::tan(&x)
    }

    // d tan x/dx = 1 + tan² x
    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
        unary_backward(
            grad_output,
            output,
            |grad, y| grad * (y * y + T::one()),
            |output| output.square() + T::one(),
        )
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), output)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns tan x of each element.
    #[must_use]
    #[track_caller]
    pub fn tan(&self) -> Self {
        Tan::apply(self)
    }
}
