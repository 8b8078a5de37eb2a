//! x − ln Σ eˣ along an axis.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Axis, Dimension};

use super::repeated_sum;
use crate::kernels::{Along, Axes};
use crate::ops::add_tangents;
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// x − ln Σ eˣ along an axis, stable.
#[derive(Debug)]
pub struct LogSoftmax<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], axis = Axis(1)))]
impl<T: Element, D: Dimension> LogSoftmax<T, D> {
    /// Returns x − ln Σ eˣ along an axis.
    #[doc = crate::math!(r"y_i = x_i - \ln \sum_j e^{x_j}")]
    /// # Panics
    /// If the axis is out of range.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, axis: Axis) -> Array<T, D> {
        let _ = Axes::one(axis).shape("log_softmax", x.shape());
        kernels::along(Along::LogSoftmax, &x, None, axis)
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor<T, D>, output: &Tensor<T, D>, axis: Axis) -> Tensor<T, D> {
        LogSoftmaxBackward::apply(grad_output, output, axis)
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, output: &Tensor<T, D>, axis: Axis) -> Tensor<T, D> {
        tangent_x - repeated_sum(&(tangent_x * output.exp()), axis)
    }
}

/// g − eʸ · Σ g along an axis: the gradient of [`LogSoftmax`], where g is the gradient of its output y.
#[derive(Debug)]
pub struct LogSoftmaxBackward<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(g = [2, 3], y = [2, 3], axis = Axis(1)))]
impl<T: Element, D: Dimension> LogSoftmaxBackward<T, D> {
    /// Returns g − eʸ · Σ g along an axis.
    #[doc = crate::math!(r"\frac{\partial L}{\partial x_i} = g_i - e^{y_i} \sum_j g_j")]
    /// Here y is the output of [`LogSoftmax`].
    ///
    /// # Panics
    /// If the shapes differ, or the axis is out of range.
    #[forward]
    #[track_caller]
    pub fn forward(g: ArrayView<T, D>, y: ArrayView<T, D>, axis: Axis) -> Array<T, D> {
        kernels::along(Along::LogSoftmaxGradient, &g, Some(&y), axis)
    }

    #[backward(g)]
    fn grad_g(grad_output: &Tensor<T, D>, y: &Tensor<T, D>, axis: Axis) -> Tensor<T, D> {
        grad_output - repeated_sum(&(grad_output * y.exp()), axis)
    }

    #[backward(y)]
    fn grad_y(
        grad_output: &Tensor<T, D>,
        g: &Tensor<T, D>,
        y: &Tensor<T, D>,
        axis: Axis,
    ) -> Tensor<T, D> {
        -(grad_output * y.exp() * repeated_sum(g, axis))
    }

    #[jvp]
    fn jvp(
        tangent_g: Option<&Tensor<T, D>>,
        tangent_y: Option<&Tensor<T, D>>,
        g: &Tensor<T, D>,
        y: &Tensor<T, D>,
        axis: Axis,
    ) -> Option<Tensor<T, D>> {
        let along_g = tangent_g.map(|tangent| Self::apply(tangent, y, axis));
        let along_y = tangent_y.map(|tangent| -(tangent * y.exp() * repeated_sum(g, axis)));
        add_tangents(along_g, along_y)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns x − ln Σ eˣ along `axis`, the logarithm of [`softmax`](Self::softmax); NaN where all elements are −∞, or
    /// one is ∞.
    ///
    /// [`LogSoftmax`](crate::ops::LogSoftmax) has the formula.
    ///
    /// # Panics
    /// If the axis is out of range.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::{Axis, array}};
    ///
    /// let x = Tensor::from(array![[1.0, 1.0], [1000.0, 0.0]]);
    /// let half = 0.5_f64.ln();
    /// assert_eq!(x.log_softmax(Axis(1)).to_array(), array![[half, half], [0.0, -1000.0]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn log_softmax(&self, axis: Axis) -> Self {
        LogSoftmax::apply(self, axis)
    }
}
