//! ½ x (1 + tanh(√(2/π) (x + 0.044715 x³)))

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::unary_backward;
use crate::kernels::{self, activations};
use crate::{Element, custom_function, tensor::Tensor};

/// ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))) of each element, which is close to x Φ(x).
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::{Gelu, GeluTanh}};
///
/// let x = Tensor::from(array![-2.0, 0.5, 3.0]);
/// let difference = Gelu::apply(&x) - GeluTanh::apply(&x);
/// assert!(difference.abs().max().item() < 5e-4);
/// ```
#[derive(Debug)]
pub struct GeluTanh<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> GeluTanh<T, D> {
    /// Returns ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))) of each element, which is close to x Φ(x).
    #[doc = crate::math!(r"\frac{x}{2} \left(1 + \tanh\left(\sqrt{\frac{2}{\pi}} \left(x + 0.044715 \, x^3\right)\right)\right)")]
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(&x, activations::gelu_tanh)
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        unary_backward(grad_output, x, activations::gelu_tanh_backward, |x| {
            slope(x)
        })
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), x)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))) of each element, which is close to x Φ(x).
    ///
    /// [`GeluTanh`](crate::ops::GeluTanh) has the formula.
    #[must_use]
    #[track_caller]
    pub fn gelu_tanh(&self) -> Self {
        GeluTanh::apply(self)
    }
}

/// Returns the derivative of x σ(ax + bx³), which is the function: σ + x σ (1 − σ) (a + 3bx²).
#[track_caller]
fn slope<T: Element, D: Dimension>(x: &Tensor<T, D>) -> Tensor<T, D> {
    let [linear, cubic] = activations::GELU_TANH.map(T::from_f64);
    let bound = T::from_f64(activations::GELU_TANH_BOUND);
    let x = &x.clamp(-bound, bound);
    let square = x.square();
    let sigmoid = (x * (&square * cubic + linear)).sigmoid();
    let inner = square * (cubic * T::from_f64(3.0)) + linear;
    &sigmoid + x * &sigmoid * (-&sigmoid + T::one()) * inner
}
