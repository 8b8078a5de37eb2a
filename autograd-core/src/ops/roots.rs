//! √x and 1/√x.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::unary_backward;
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// √x of each element.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::Sqrt};
///
/// let x = Tensor::from(array![4.0]).set_requires_grad(true);
/// Sqrt::apply(&x).sum().backward()?; // 1/(2√x)
/// assert_eq!(x.grad(), Some(array![0.25]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Sqrt<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Sqrt<T, D> {
    /// Returns √x of each element.
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(&x, T::sqrt)
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
        unary_backward(
            grad_output,
            output,
            |grad, y| grad / (y + y),
            |output| output.recip() * T::from_f64(0.5),
        )
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), output)
    }
}

/// 1/√x of each element.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::Rsqrt};
///
/// let x = Tensor::from(array![4.0]).set_requires_grad(true);
/// Rsqrt::apply(&x).sum().backward()?; // −1/(2x√x)
/// assert_eq!(x.grad(), Some(array![-0.0625]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Rsqrt<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Rsqrt<T, D> {
    /// Returns 1/√x of each element.
    #[doc = crate::math!(r"\frac{1}{\sqrt{x}}, \qquad \frac{\mathrm{d}}{\mathrm{d}x} \frac{1}{\sqrt{x}} = -\frac{1}{2 \sqrt{x}^3}")]
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(&x, |x| x.sqrt().recip())
    }

    // d x^(−½)/dx = −½ x^(−3/2)
    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
        unary_backward(
            grad_output,
            output,
            |grad, y| T::from_f64(-0.5) * grad * (y * y * y),
            |output| output.powi(3) * T::from_f64(-0.5),
        )
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), output)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns √x of each element.
    #[must_use]
    #[track_caller]
    pub fn sqrt(&self) -> Self {
        Sqrt::apply(self)
    }

    /// Returns 1/√x of each element.
    ///
    /// [`Rsqrt`](crate::ops::Rsqrt) has the formula.
    #[must_use]
    #[track_caller]
    pub fn rsqrt(&self) -> Self {
        Rsqrt::apply(self)
    }
}
