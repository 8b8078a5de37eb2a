//! √Σx²

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::{DotAxes, methods, over};
use crate::kernels::Axes;
use crate::tensor::{Tensor, Tensor0};
use crate::{Element, custom_function, kernels};

/// The Euclidean norm over some axes. Where all elements are 0, the gradient is 0.
#[derive(Debug)]
pub struct Norm<T, D, E>(PhantomData<(T, D, E)>);

#[custom_function(gradcheck(x = [2, 3], axes = Axes::one(ndarray::Axis(1)), E = ndarray::Ix1))]
impl<T: Element, D: Dimension, E: Dimension> Norm<T, D, E> {
    /// Returns √Σx² over some axes, also where the squares are out of range.
    #[doc = crate::math!(r"\lVert x \rVert = \sqrt{\sum_i x_i^2}, \qquad \frac{\partial \lVert x \rVert}{\partial x_i} = \frac{x_i}{\lVert x \rVert}")]
    /// # Panics
    /// If one of the axes does not exist, or the rank of the result is not that of `E`.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, axes: Axes) -> Array<T, E> {
        axes.check("norm", x.shape());
        kernels::reduce(&x, axes, kernels::norm)
    }

    #[backward(x)]
    fn backward(
        grad_output: Tensor<T, E>,
        x: &Tensor<T, D>,
        output: &Tensor<T, E>,
        axes: Axes,
    ) -> Tensor<T, D> {
        grad_output.expand::<D>(axes, x.shape()) * over(x, output, axes)
    }

    #[jvp]
    fn jvp(
        tangent_x: &Tensor<T, D>,
        x: &Tensor<T, D>,
        output: &Tensor<T, E>,
        axes: Axes,
    ) -> Tensor<T, E> {
        DotAxes::<T, D, E>::apply(tangent_x, &over(x, output, axes), axes)
    }
}

methods!(
    Norm::apply, [norm_axis, norm_axes, norm_keepdim],
    "Euclidean norm", of "[[3.0, 4.0], [0.0, 12.0]]": rows "[5.0, 12.0]"
);

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns the Euclidean norm √Σx² of all elements. Where all are 0, the gradient is 0.
    ///
    /// [`Norm`](crate::ops::Norm) has the formula.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// assert_eq!(Tensor::from(array![3.0, -4.0]).norm().item(), 5.0);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn norm(&self) -> Tensor0<T> {
        Norm::apply(self, Axes::all())
    }
}
