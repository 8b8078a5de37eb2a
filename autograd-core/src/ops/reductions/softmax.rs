//! eˣ / Σ eˣ along an axis.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Axis, Dimension};

use super::repeated_sum;
use crate::kernels::{Along, Axes};
use crate::ops::add_tangents;
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// eˣ / Σ eˣ along an axis, numerically stable.
#[derive(Debug)]
pub struct Softmax<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], axis = Axis(1)))]
impl<T: Element, D: Dimension> Softmax<T, D> {
    /// Returns eˣ / Σ eˣ along an axis.
    #[doc = crate::math!(r"y_i = \frac{e^{x_i}}{\sum_j e^{x_j}} = \frac{e^{x_i - m}}{\sum_j e^{x_j - m}}, \qquad m = \max_j x_j")]
    /// # Panics
    /// If the axis is out of range.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, axis: Axis) -> Array<T, D> {
        let _ = Axes::one(axis).shape("softmax", x.shape());
        kernels::along(Along::Softmax, &x, None, axis)
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor<T, D>, output: &Tensor<T, D>, axis: Axis) -> Tensor<T, D> {
        SoftmaxBackward::apply(grad_output, output, axis)
    }

    // Its Jacobian is symmetric.
    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, output: &Tensor<T, D>, axis: Axis) -> Tensor<T, D> {
        SoftmaxBackward::apply(tangent_x, output, axis)
    }
}

/// y · (g − Σ g · y) along an axis: the gradient of [`Softmax`], where g is the gradient of its output y.
#[derive(Debug)]
pub struct SoftmaxBackward<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(g = [2, 3], y = [2, 3], axis = Axis(1)))]
impl<T: Element, D: Dimension> SoftmaxBackward<T, D> {
    /// Returns y · (g − Σ g · y) along an axis.
    #[doc = crate::math!(r"\frac{\partial L}{\partial x_i} = y_i \left(g_i - \sum_j g_j \, y_j\right), \qquad y = \operatorname{softmax}(x)")]
    /// # Panics
    /// If the shapes differ, or the axis is out of range.
    #[forward]
    #[track_caller]
    pub fn forward(g: ArrayView<T, D>, y: ArrayView<T, D>, axis: Axis) -> Array<T, D> {
        kernels::along(Along::SoftmaxGradient, &g, Some(&y), axis)
    }

    #[backward(g)]
    fn grad_g(grad_output: &Tensor<T, D>, y: &Tensor<T, D>, axis: Axis) -> Tensor<T, D> {
        Self::apply(grad_output, y, axis)
    }

    // The y before the parenthesis, and the one in the sum.
    #[backward(y)]
    fn grad_y(
        grad_output: &Tensor<T, D>,
        g: &Tensor<T, D>,
        y: &Tensor<T, D>,
        axis: Axis,
    ) -> Tensor<T, D> {
        let along = |x: &Tensor<T, D>| repeated_sum(&(x * y), axis);
        grad_output * (g - along(g)) - g * along(grad_output)
    }

    #[jvp]
    fn jvp(
        tangent_g: Option<&Tensor<T, D>>,
        tangent_y: Option<&Tensor<T, D>>,
        g: &Tensor<T, D>,
        y: &Tensor<T, D>,
        axis: Axis,
    ) -> Option<Tensor<T, D>> {
        let along = |x: &Tensor<T, D>| repeated_sum(&(g * x), axis);
        let along_g = tangent_g.map(|tangent| Self::apply(tangent, y, axis));
        let along_y = tangent_y.map(|tangent| tangent * (g - along(y)) - y * along(tangent));
        add_tangents(along_g, along_y)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns eˣ / Σ eˣ along `axis`, numerically stable; NaN where all elements are −∞, or one is ∞.
    ///
    /// [`Softmax`](crate::ops::Softmax) has the formula.
    ///
    /// # Panics
    /// If the axis is out of range.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::{Axis, array}};
    ///
    /// let x = Tensor::from(array![[1.0, 1.0], [1000.0, 0.0]]);
    /// assert_eq!(x.softmax(Axis(1)).to_array(), array![[0.5, 0.5], [1.0, 0.0]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn softmax(&self, axis: Axis) -> Self {
        Softmax::apply(self, axis)
    }
}
