//! xⁿ for a whole n.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::zeros;
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// xⁿ of each element, for a whole n.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::Powi};
///
/// let x = Tensor::from(array![2.0, 0.0]).set_requires_grad(true);
/// Powi::apply(&x, 3).sum().backward()?; // n xⁿ⁻¹
/// assert_eq!(x.grad(), Some(array![12.0, 0.0]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Powi<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], n = 3))]
impl<T: Element, D: Dimension> Powi<T, D> {
    /// Returns xⁿ of each element.
    #[forward]
    pub fn forward(x: ArrayView<T, D>, n: i32) -> Array<T, D> {
        // Products for small constant powers, a loop for each element for others.
        match n {
            1 => x.to_owned(),
            2 => kernels::map(&x, |x| x.powi(2)),
            3 => kernels::map(&x, |x| x.powi(3)),
            4 => kernels::map(&x, |x| x.powi(4)),
            _ => kernels::map(&x, |x| x.powi(n)),
        }
    }

    // n xⁿ⁻¹, and 0 for n = 0, at x = 0 too
    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, x: &Tensor<T, D>, n: i32) -> Tensor<T, D> {
        if n == 0 {
            return zeros(x.shape());
        }
        let lower = match n.checked_sub(1) {
            Some(lower) => x.powi(lower),
            None => x.powi(n) / x,
        };
        grad_output * lower * T::from_f64(f64::from(n))
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, x: &Tensor<T, D>, n: i32) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), x, n)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns xⁿ of each element, for a whole n.
    #[must_use]
    #[track_caller]
    pub fn powi(&self, n: i32) -> Self {
        Powi::apply(self, n)
    }
}
