//! ln(1 + x)

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::unary_backward;
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// ln(1 + x) of each element, also exact near 0.
///
/// ```
/// use pullback::{ndarray::array, ops::{Ln, Ln1p}};
///
/// let x = array![1e-20_f64];
/// assert_eq!(Ln1p::forward(x.view()), array![1e-20]);
/// assert_eq!(Ln::forward((1.0 + &x).view()), array![0.0]);
/// ```
#[derive(Debug)]
pub struct Ln1p<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Ln1p<T, D> {
    /// Returns ln(1 + x) of each element, also exact near 0.
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(&x, kernels::ln_1p)
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        unary_backward(
            grad_output,
            x,
            |grad, x| grad / (x + T::one()),
            |x| (x + T::one()).recip(),
        )
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), x)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns ln(1 + x) of each element, also exact near 0.
    #[must_use]
    #[track_caller]
    pub fn ln_1p(&self) -> Self {
        Ln1p::apply(self)
    }
}
