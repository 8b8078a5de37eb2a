//! 1/x

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::unary_backward;
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// 1/x of each element.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::Recip};
///
/// let x = Tensor::from(array![2.0]).set_requires_grad(true);
/// Recip::apply(&x).sum().backward()?; // −1/x²
/// assert_eq!(x.grad(), Some(array![-0.25]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Recip<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Recip<T, D> {
    /// Returns 1/x of each element.
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(&x, T::recip)
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
        unary_backward(
            grad_output,
            output,
            |grad, y| -(grad * (y * y)),
            |output| -output.square(),
        )
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), output)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns 1/x of each element.
    #[must_use]
    #[track_caller]
    pub fn recip(&self) -> Self {
        Recip::apply(self)
    }
}
