//! The inverse functions of sin, cos and tan.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::{constant, unary_backward};
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// arcsin x of each element.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::Asin};
///
/// let x = Tensor::from(array![0.0, 0.6]).set_requires_grad(true);
/// Asin::apply(&x).sum().backward()?; // 1/√(1 − x²)
/// assert_eq!(x.grad(), Some(array![1.0, 1.25]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Asin<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3] in -0.9..0.9))]
impl<T: Element, D: Dimension> Asin<T, D> {
    /// Returns arcsin x of each element.
    #[doc = crate::math!(r"\frac{\mathrm{d}}{\mathrm{d}x} \arcsin x = \frac{1}{\sqrt{1 - x^2}}")]
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(
            &x,
            #[inline(always)]
            |x| kernels::asin(x),
        )
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        unary_backward(
            grad_output,
            x,
            |grad, x| grad / ((T::one() - x) * (T::one() + x)).sqrt(),
            slope,
        )
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), x)
    }
}

/// arccos x of each element.
#[derive(Debug)]
pub struct Acos<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3] in -0.9..0.9))]
impl<T: Element, D: Dimension> Acos<T, D> {
    /// Returns arccos x of each element.
    #[doc = crate::math!(r"\frac{\mathrm{d}}{\mathrm{d}x} \arccos x = -\frac{1}{\sqrt{1 - x^2}}")]
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(
            &x,
            #[inline(always)]
            |x| kernels::acos(x),
        )
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        unary_backward(
            grad_output,
            x,
            |grad, x| -(grad / ((T::one() - x) * (T::one() + x)).sqrt()),
            |x| -slope(x),
        )
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), x)
    }
}

/// arctan x of each element.
#[derive(Debug)]
pub struct Atan<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Atan<T, D> {
    /// Returns arctan x of each element.
    #[doc = crate::math!(r"\frac{\mathrm{d}}{\mathrm{d}x} \arctan x = \frac{1}{1 + x^2}")]
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(
            &x,
            #[inline(always)]
            |x| kernels::atan(x),
        )
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        unary_backward(
            grad_output,
            x,
            |grad, x| grad / (x * x + T::one()),
            |x| (x.square() + T::one()).recip(),
        )
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), x)
    }
}

/// Returns 1/√(1 − x²). The factors of (1 − x)(1 + x) are exact where x is near 1; their product's derivative would not
/// be where x is near 0, so that of −x² takes its place.
#[track_caller]
fn slope<T: Element, D: Dimension>(x: &Tensor<T, D>) -> Tensor<T, D> {
    let value = constant(x, |x| (T::one() - x) * (T::one() + x));
    let square = x.square();
    let zero = square.detach() - square;
    (value + zero).rsqrt()
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns arcsin x of each element; NaN outside of −1 to 1.
    ///
    /// [`Asin`](crate::ops::Asin) has the formula of the gradient.
    #[must_use]
    #[track_caller]
    pub fn asin(&self) -> Self {
        Asin::apply(self)
    }

    /// Returns arccos x of each element; NaN outside of −1 to 1.
    ///
    /// [`Acos`](crate::ops::Acos) has the formula of the gradient.
    #[must_use]
    #[track_caller]
    pub fn acos(&self) -> Self {
        Acos::apply(self)
    }

    /// Returns arctan x of each element.
    ///
    /// [`Atan`](crate::ops::Atan) has the formula of the gradient.
    #[must_use]
    #[track_caller]
    pub fn atan(&self) -> Self {
        Atan::apply(self)
    }
}
