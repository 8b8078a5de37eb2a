//! xᵖ for any power.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::{unary_backward, zeros};
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// xᵖ of each element, for any number p.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::Powf};
///
/// let x = Tensor::from(array![4.0]).set_requires_grad(true);
/// Powf::apply(&x, 1.5).sum().backward()?; // p xᵖ⁻¹
/// assert_eq!(x.grad(), Some(array![3.0]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Powf<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], p = 2.5))]
impl<T: Element, D: Dimension> Powf<T, D> {
    /// Returns xᵖ of each element, for any number p.
    #[forward]
    pub fn forward(x: ArrayView<T, D>, p: T) -> Array<T, D> {
        kernels::map(
            &x,
            #[inline(always)]
            move |x| kernels::powf(x, p),
        )
    }

    // p xᵖ⁻¹, and 0 for p = 0, at x = 0 too
    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, x: &Tensor<T, D>, p: T) -> Tensor<T, D> {
        if p == T::zero() {
            return zeros(x.shape());
        }
        let lower = p - T::one();
        unary_backward(
            grad_output,
            x,
            #[inline(always)]
            move |grad, x| grad * (p * kernels::powf(x, lower)),
            |x| x.powf(lower) * p,
        )
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, x: &Tensor<T, D>, p: T) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), x, p)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns xᵖ of each element, for any number p; NaN for negative elements if p is not whole.
    #[must_use]
    #[track_caller]
    pub fn powf(&self, p: T) -> Self {
        Powf::apply(self, p)
    }
}
