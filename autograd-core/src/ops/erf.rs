//! The error function

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::unary_backward;
use crate::kernels::{self, activations};
use crate::{Element, custom_function, tensor::Tensor};

/// The error function, 2/√π ∫₀ˣ e^(−t²) dt, of each element.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::Erf};
///
/// let x = Tensor::from(array![0.0]).set_requires_grad(true);
/// Erf::apply(&x).sum().backward()?;
/// assert_eq!(x.grad(), Some(array![std::f64::consts::FRAC_2_SQRT_PI]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Erf<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Erf<T, D> {
    /// Returns the error function, 2/√π ∫₀ˣ e^(−t²) dt, of each element.
    #[doc = crate::math!(r"\operatorname{erf} x = \frac{2}{\sqrt{\pi}} \int_0^x e^{-t^2} \, \mathrm{d}t")]
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(&x, kernels::erf)
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        unary_backward(grad_output, x, activations::erf_backward, |x| {
            (-x.square()).exp() * T::from_f64(std::f64::consts::FRAC_2_SQRT_PI)
        })
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), x)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns the error function, 2/√π ∫₀ˣ e^(−t²) dt, of each element.
    ///
    /// [`Erf`](crate::ops::Erf) has the formula.
    #[must_use]
    #[track_caller]
    pub fn erf(&self) -> Self {
        Erf::apply(self)
    }
}
