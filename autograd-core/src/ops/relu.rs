//! max(x, 0)

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::{constant, unary_backward};
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// max(x, 0) of each element.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::Relu};
///
/// let x = Tensor::from(array![-1.0, 2.0]).set_requires_grad(true);
/// Relu::apply(&x).sum().backward()?;
/// assert_eq!(x.grad(), Some(array![0.0, 1.0]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Relu<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Relu<T, D> {
    /// Returns max(x, 0) of each element.
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(&x, move |x| if x <= T::zero() { T::zero() } else { x })
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
        unary_backward(
            grad_output,
            output,
            |grad, y| if y <= T::zero() { T::zero() } else { grad },
            |output| {
                constant(
                    output,
                    |y| if y <= T::zero() { T::zero() } else { T::one() },
                )
            },
        )
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), output)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns max(x, 0) of each element, with the derivative 0 at 0.
    #[must_use]
    #[track_caller]
    pub fn relu(&self) -> Self {
        Relu::apply(self)
    }
}
