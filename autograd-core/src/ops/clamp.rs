//! x limited to a range.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::{constant, unary_backward};
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// Each element limited to a range.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::Clamp};
///
/// let x = Tensor::from(array![-1.0, 0.5, 2.0]).set_requires_grad(true);
/// Clamp::apply(&x, 0.0, 1.0).sum().backward()?;
/// assert_eq!(x.grad(), Some(array![0.0, 1.0, 0.0]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Clamp<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], min = 0.7, max = 1.2))]
impl<T: Element, D: Dimension> Clamp<T, D> {
    /// Returns min(max(x, min), max) of each element.
    ///
    /// # Panics
    /// If a bound is NaN.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, min: T, max: T) -> Array<T, D> {
        assert!(
            !min.is_nan() && !max.is_nan(),
            "clamp between {min} and {max}: a bound is NaN"
        );
        kernels::map(&x, move |x| {
            let raised = if x < min { min } else { x };
            if raised > max { max } else { raised }
        })
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, x: &Tensor<T, D>, min: T, max: T) -> Tensor<T, D> {
        unary_backward(
            grad_output,
            x,
            move |grad, x| {
                if x >= min && x <= max {
                    grad
                } else {
                    T::zero()
                }
            },
            |x| constant(x, move |x| T::from_f64(f64::from(x >= min && x <= max))),
        )
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, x: &Tensor<T, D>, min: T, max: T) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), x, min, max)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns each element limited to the range from `min` to `max`, which may be infinite; `max` if `min` is larger.
    /// The derivative is 1 at the bounds.
    ///
    /// # Panics
    /// If a bound is NaN.
    #[must_use]
    #[track_caller]
    pub fn clamp(&self, min: T, max: T) -> Self {
        Clamp::apply(self, min, max)
    }
}
