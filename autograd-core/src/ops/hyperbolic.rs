//! sinh x and cosh x, which are each other's derivatives.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::unary_backward;
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// sinh x of each element.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::Sinh};
///
/// let x = Tensor::from(array![0.0, 1.0]).set_requires_grad(true);
/// Sinh::apply(&x).sum().backward()?;
/// assert_eq!(x.grad(), Some(x.cosh().to_array()));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Sinh<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Sinh<T, D> {
    /// Returns sinh x of each element.
    #[doc = crate::math!(r"\sinh x = \frac{e^x - e^{-x}}{2}")]
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(
            &x,
            #[inline(always)]
            |x| kernels::sinh(x),
        )
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        unary_backward(
            grad_output,
            x,
            #[inline(always)]
            |grad, x| grad * kernels::cosh(x),
            |x| x.cosh(),
        )
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), x)
    }
}

/// cosh x of each element.
#[derive(Debug)]
pub struct Cosh<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Cosh<T, D> {
    /// Returns cosh x of each element.
    #[doc = crate::math!(r"\cosh x = \frac{e^x + e^{-x}}{2}")]
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(
            &x,
            #[inline(always)]
            |x| kernels::cosh(x),
        )
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        unary_backward(
            grad_output,
            x,
            #[inline(always)]
            |grad, x| grad * kernels::sinh(x),
            |x| x.sinh(),
        )
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), x)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns sinh x of each element.
    ///
    /// [`Sinh`](crate::ops::Sinh) has the formula.
    #[must_use]
    #[track_caller]
    pub fn sinh(&self) -> Self {
        Sinh::apply(self)
    }

    /// Returns cosh x of each element.
    ///
    /// [`Cosh`](crate::ops::Cosh) has the formula.
    #[must_use]
    #[track_caller]
    pub fn cosh(&self) -> Self {
        Cosh::apply(self)
    }
}
