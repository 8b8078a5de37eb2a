//! The maximum and the minimum of two tensors, element by element.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, DimMax, Dimension};

use super::{add_tangents, unary_backward};
use crate::basic::operators::{Common, broadcast};
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// The maximum of two tensors of one shape, element by element; the method broadcasts.
#[derive(Debug)]
pub struct Maximum<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], y = [2, 3]))]
impl<T: Element, D: Dimension> Maximum<T, D> {
    /// Returns max(x, y), element by element; NaN if either is NaN.
    ///
    /// # Panics
    /// If the shapes differ.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, y: ArrayView<T, D>) -> Array<T, D> {
        kernels::zip(&x, &y, |x, y| if x > y || x.is_nan() { x } else { y })
    }

    #[backward(x)]
    fn grad_x(grad_output: Tensor<T, D>, x: &Tensor<T, D>, y: &Tensor<T, D>) -> Tensor<T, D> {
        times(grad_output, &weight(x, y, |x, y| x < y))
    }

    #[backward(y)]
    fn grad_y(grad_output: Tensor<T, D>, x: &Tensor<T, D>, y: &Tensor<T, D>) -> Tensor<T, D> {
        times(grad_output, &weight(y, x, |y, x| y < x))
    }

    #[jvp]
    fn jvp(
        tangent_x: Option<&Tensor<T, D>>,
        tangent_y: Option<&Tensor<T, D>>,
        x: &Tensor<T, D>,
        y: &Tensor<T, D>,
    ) -> Option<Tensor<T, D>> {
        let along_x = tangent_x.map(|tangent| tangent * weight(x, y, |x, y| x < y));
        let along_y = tangent_y.map(|tangent| tangent * weight(y, x, |y, x| y < x));
        add_tangents(along_x, along_y)
    }
}

/// The minimum of two tensors of one shape, element by element; the method broadcasts.
#[derive(Debug)]
pub struct Minimum<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], y = [2, 3]))]
impl<T: Element, D: Dimension> Minimum<T, D> {
    /// Returns min(x, y), element by element; NaN if either is NaN.
    ///
    /// # Panics
    /// If the shapes differ.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, y: ArrayView<T, D>) -> Array<T, D> {
        kernels::zip(&x, &y, |x, y| if x < y || x.is_nan() { x } else { y })
    }

    #[backward(x)]
    fn grad_x(grad_output: Tensor<T, D>, x: &Tensor<T, D>, y: &Tensor<T, D>) -> Tensor<T, D> {
        times(grad_output, &weight(x, y, |x, y| x > y))
    }

    #[backward(y)]
    fn grad_y(grad_output: Tensor<T, D>, x: &Tensor<T, D>, y: &Tensor<T, D>) -> Tensor<T, D> {
        times(grad_output, &weight(y, x, |y, x| y > x))
    }

    #[jvp]
    fn jvp(
        tangent_x: Option<&Tensor<T, D>>,
        tangent_y: Option<&Tensor<T, D>>,
        x: &Tensor<T, D>,
        y: &Tensor<T, D>,
    ) -> Option<Tensor<T, D>> {
        let along_x = tangent_x.map(|tangent| tangent * weight(x, y, |x, y| x > y));
        let along_y = tangent_y.map(|tangent| tangent * weight(y, x, |y, x| y > x));
        add_tangents(along_x, along_y)
    }
}

/// Returns the factor of the gradient of `x`, as a constant: 1, but 0 where it `loses` and ½ where the two are equal.
fn weight<T: Element, D: Dimension>(
    x: &Tensor<T, D>,
    y: &Tensor<T, D>,
    loses: impl Fn(T, T) -> bool + Sync,
) -> Tensor<T, D> {
    let half = T::from_f64(0.5);
    let each = move |x, y| match x == y {
        true => half,
        false if loses(x, y) => T::zero(),
        false => T::one(),
    };
    kernels::zip(&x.view(), &y.view(), each).into()
}

/// Multiplies the gradient by a weight. Where the weight is 0, the product is 0, even if the gradient is infinite.
#[track_caller]
fn times<T: Element, D: Dimension>(
    grad_output: Tensor<T, D>,
    weight: &Tensor<T, D>,
) -> Tensor<T, D> {
    let each = |grad, weight: T| {
        if weight.is_zero() {
            weight
        } else {
            grad * weight
        }
    };
    unary_backward(grad_output, weight, each, Tensor::clone)
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns the maximum of two tensors, element by element. They broadcast as operands of operators do. If either
    /// element is NaN, so is the maximum; if they are equal, each has half of the gradient.
    ///
    /// # Panics
    /// If the shapes do not broadcast.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let (x, y) = (Tensor::from(array![1.0, 5.0]), Tensor::from(array![4.0]));
    /// assert_eq!(x.maximum(&y).to_array(), array![4.0, 5.0]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn maximum<E: Dimension>(&self, other: &Tensor<T, E>) -> Tensor<T, Common<D, E>>
    where
        D: DimMax<E>,
    {
        let (x, y) = broadcast(self, other, "maximum");
        Maximum::apply(&x, &y)
    }

    /// Returns the minimum of two tensors, element by element. They broadcast as operands of operators do. If either
    /// element is NaN, so is the minimum; if they are equal, each has half of the gradient.
    ///
    /// # Panics
    /// If the shapes do not broadcast.
    #[must_use]
    #[track_caller]
    pub fn minimum<E: Dimension>(&self, other: &Tensor<T, E>) -> Tensor<T, Common<D, E>>
    where
        D: DimMax<E>,
    {
        let (x, y) = broadcast(self, other, "minimum");
        Minimum::apply(&x, &y)
    }
}
