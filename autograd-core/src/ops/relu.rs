//! max(x, 0), and a variant with a slope where x is negative.

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

/// x of each positive element, slope · x of the others.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::LeakyRelu};
///
/// let x = Tensor::from(array![-1.0, 2.0]).set_requires_grad(true);
/// LeakyRelu::apply(&x, 0.1).sum().backward()?;
/// assert_eq!(x.grad(), Some(array![0.1, 1.0]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct LeakyRelu<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], slope = 0.1))]
impl<T: Element, D: Dimension> LeakyRelu<T, D> {
    /// Returns x of each positive element, slope · x of the others.
    #[doc = crate::math!(
        r"\begin{cases}"
        r"    x & x > 0 \\"
        r"    \text{slope} \cdot x & x \le 0"
        r"\end{cases}"
    )]
    #[forward]
    pub fn forward(x: ArrayView<T, D>, slope: T) -> Array<T, D> {
        kernels::map(&x, move |x| if x > T::zero() { x } else { x * slope })
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, x: &Tensor<T, D>, slope: T) -> Tensor<T, D> {
        unary_backward(
            grad_output,
            x,
            move |grad, x| if x > T::zero() { grad } else { grad * slope },
            |x| constant(x, move |x| if x > T::zero() { T::one() } else { slope }),
        )
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, x: &Tensor<T, D>, slope: T) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), x, slope)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns max(x, 0) of each element, with the derivative 0 at 0.
    #[must_use]
    #[track_caller]
    pub fn relu(&self) -> Self {
        Relu::apply(self)
    }

    /// Returns x of each positive element, slope · x of the others, with the derivative `slope` at 0.
    ///
    /// [`LeakyRelu`](crate::ops::LeakyRelu) has the formula.
    #[must_use]
    #[track_caller]
    pub fn leaky_relu(&self, slope: T) -> Self {
        LeakyRelu::apply(self, slope)
    }
}
