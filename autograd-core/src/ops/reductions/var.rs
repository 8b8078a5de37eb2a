//! The variance over some axes, and its square root.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::mean::mean_over;
use super::{DotAxes, methods, over};
use crate::kernels::{Axes, Reduction};
use crate::tensor::{Tensor, Tensor0};
use crate::{Element, custom_function, kernels};

/// The variance over some axes, Σ (x − x̄)² / (n − ddof).
#[derive(Debug)]
pub struct Var<T, D, E>(PhantomData<(T, D, E)>);

#[custom_function(gradcheck(x = [2, 3], axes = Axes::one(ndarray::Axis(1)), ddof = 1, E = ndarray::Ix1))]
impl<T: Element, D: Dimension, E: Dimension> Var<T, D, E> {
    /// Returns the variance over some axes, Σ (x − x̄)² / (n − ddof).
    #[doc = crate::math!(r"s^2 = \frac{1}{n - \text{ddof}} \sum_{i=1}^n \left(x_i - \bar{x}\right)^2, \qquad \bar{x} = \frac{1}{n} \sum_{i=1}^n x_i")]
    /// # Panics
    /// If one of the axes does not exist, or the rank of the result is not that of `E`.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, axes: Axes, ddof: usize) -> Array<T, E> {
        axes.check("var", x.shape());
        let freedom: T = freedom(x.shape(), axes, ddof);
        let squares: Array<T, E> = kernels::reduce_lanes(Reduction::SquaredDeviations, &x, axes);
        squares / freedom
    }

    #[backward(x)]
    fn backward(
        grad_output: Tensor<T, E>,
        x: &Tensor<T, D>,
        axes: Axes,
        ddof: usize,
    ) -> Tensor<T, D> {
        let scaled = grad_output * (T::from_f64(2.0) / freedom::<T>(x.shape(), axes, ddof));
        scaled.expand::<D>(axes, x.shape()) * centered::<T, D, E>(x, axes)
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, x: &Tensor<T, D>, axes: Axes, ddof: usize) -> Tensor<T, E> {
        let along = DotAxes::<T, D, E>::apply(tangent_x, &centered::<T, D, E>(x, axes), axes);
        along * (T::from_f64(2.0) / freedom::<T>(x.shape(), axes, ddof))
    }
}

/// The standard deviation over some axes, the square root of [`Var`]. Where all elements are equal, the gradient is 0.
#[derive(Debug)]
pub struct Std<T, D, E>(PhantomData<(T, D, E)>);

#[custom_function(gradcheck(x = [2, 3], axes = Axes::one(ndarray::Axis(1)), ddof = 1, E = ndarray::Ix1))]
impl<T: Element, D: Dimension, E: Dimension> Std<T, D, E> {
    /// Returns the standard deviation over some axes, √(Σ (x − x̄)² / (n − ddof)).
    #[doc = crate::math!(r"s = \sqrt{\frac{1}{n - \text{ddof}} \sum_{i=1}^n \left(x_i - \bar{x}\right)^2}")]
    /// # Panics
    /// If one of the axes does not exist, or the rank of the result is not that of `E`.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, axes: Axes, ddof: usize) -> Array<T, E> {
        axes.check("std", x.shape());
        let freedom: T = freedom(x.shape(), axes, ddof);
        kernels::reduce(&x, axes, |lane| kernels::std(lane, freedom))
    }

    #[backward(x)]
    fn backward(
        grad_output: Tensor<T, E>,
        x: &Tensor<T, D>,
        output: &Tensor<T, E>,
        axes: Axes,
        ddof: usize,
    ) -> Tensor<T, D> {
        let scaled = grad_output / freedom::<T>(x.shape(), axes, ddof);
        scaled.expand::<D>(axes, x.shape()) * unit(x, output, axes)
    }

    #[jvp]
    fn jvp(
        tangent_x: &Tensor<T, D>,
        x: &Tensor<T, D>,
        output: &Tensor<T, E>,
        axes: Axes,
        ddof: usize,
    ) -> Tensor<T, E> {
        let unit = unit(x, output, axes);
        DotAxes::<T, D, E>::apply(tangent_x, &unit, axes) / freedom::<T>(x.shape(), axes, ddof)
    }
}

/// Returns n − ddof; 0 if there are fewer elements.
fn freedom<T: Element>(shape: &[usize], axes: Axes, ddof: usize) -> T {
    T::from_f64(axes.count(shape).saturating_sub(ddof) as f64)
}

/// Returns x − x̄.
#[track_caller]
fn centered<T: Element, D: Dimension, E: Dimension>(x: &Tensor<T, D>, axes: Axes) -> Tensor<T, D> {
    x - mean_over::<T, D, E>(x, axes).expand::<D>(axes, x.shape())
}

/// Returns (x − x̄) / `std`, also where x − x̄ is out of range.
#[track_caller]
fn unit<T: Element, D: Dimension, E: Dimension>(
    x: &Tensor<T, D>,
    std: &Tensor<T, E>,
    axes: Axes,
) -> Tensor<T, D> {
    // A difference is at most std · √n.
    let root = (axes.count(x.shape()) as f64).sqrt();
    let limit = T::max_value() / T::from_f64(2.0 * root);
    if std.view().iter().all(|&std| std <= limit) {
        return over(&centered::<T, D, E>(x, axes), std, axes);
    }
    let fourth = T::from_f64(0.25);
    over(
        &centered::<T, D, E>(&(x * fourth), axes),
        &(std * fourth),
        axes,
    )
}

methods!(
    Var::apply; ddof: usize = "0", [var_axis, var_axes, var_keepdim],
    "variance, with the divisor n − `ddof`,", of "[[1.0, 2.0], [3.0, 6.0]]":
    rows "[0.25, 2.25]"
);

methods!(
    Std::apply; ddof: usize = "0", [std_axis, std_axes, std_keepdim],
    "standard deviation, with the divisor n − `ddof` under the root,", of "[[1.0, 2.0], [3.0, 6.0_f64]]":
    rows "[0.5, 1.5]"
);

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns the variance of all elements, Σ (x − x̄)² / (n − `ddof`); NaN if there are too few.
    ///
    /// [`Var`](crate::ops::Var) has the formula.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// assert_eq!(Tensor::from(array![1.0, 2.0, 6.0]).var(1).item(), 7.0);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn var(&self, ddof: usize) -> Tensor0<T> {
        Var::apply(self, Axes::all(), ddof)
    }

    /// Returns the standard deviation of all elements, the square root of [`var`](Self::var). Where all are equal, the
    /// gradient is 0.
    ///
    /// [`Std`](crate::ops::Std) has the formula.
    #[must_use]
    #[track_caller]
    pub fn std(&self, ddof: usize) -> Tensor0<T> {
        Std::apply(self, Axes::all(), ddof)
    }
}
