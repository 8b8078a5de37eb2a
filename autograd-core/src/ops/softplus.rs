//! ln(1 + eˣ)

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::unary_backward;
use crate::kernels::{self, activations};
use crate::{Element, custom_function, tensor::Tensor};

/// ln(1 + eˣ) of each element, which never overflows.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::Softplus};
///
/// let x = Tensor::from(array![0.0, 1000.0]).set_requires_grad(true);
/// let y = Softplus::apply(&x);
/// assert_eq!(y.view()[1], 1000.0);
/// y.sum().backward()?;
/// assert_eq!(x.grad(), Some(array![0.5, 1.0]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Softplus<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Softplus<T, D> {
    /// Returns ln(1 + eˣ) of each element, which never overflows.
    #[doc = crate::math!(r"\ln\left(1 + e^x\right) = \max(x, 0) + \ln\left(1 + e^{-\left|x\right|}\right)")]
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(&x, activations::softplus)
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        unary_backward(grad_output, x, activations::softplus_backward, |x| {
            x.sigmoid()
        })
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), x)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns ln(1 + eˣ) of each element, which never overflows.
    ///
    /// [`Softplus`](crate::ops::Softplus) has the formula.
    #[must_use]
    #[track_caller]
    pub fn softplus(&self) -> Self {
        Softplus::apply(self)
    }
}
