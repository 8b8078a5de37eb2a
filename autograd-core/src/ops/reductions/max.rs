//! The maximum and the minimum, and their indices.

use std::marker::PhantomData;

use ndarray::{Array, Array0, ArrayView, Axis, Dimension};

use super::{gather, methods, one, scatter};
use crate::kernels::{Axes, Reduction};
use crate::tensor::{Tensor, Tensor0};
use crate::{Element, custom_function, kernels};

/// The maximum or the minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extremum {
    /// The maximum.
    Max,
    /// The minimum.
    Min,
}

impl Extremum {
    fn name(self) -> &'static str {
        match self {
            Self::Max => "max",
            Self::Min => "min",
        }
    }

    fn reduction(self) -> Reduction {
        match self {
            Self::Max => Reduction::Max,
            Self::Min => Reduction::Min,
        }
    }

    /// Checks that each result has at least one element.
    #[track_caller]
    fn check(self, name: &str, shape: &[usize], axes: Axes) {
        axes.check(name, shape);
        assert!(
            axes.count(shape) > 0,
            "{name} of shape {shape:?}: an empty tensor has no {}",
            if self == Self::Max {
                "maximum"
            } else {
                "minimum"
            }
        );
    }
}

/// The maximum or minimum over some axes. If several elements are equal to it, they share the gradient evenly. NaN is
/// both.
#[derive(Debug)]
pub struct SharedExtremum<T, D, E>(PhantomData<(T, D, E)>);

#[custom_function(gradcheck(
    x = [2, 3], axes = Axes::one(Axis(1)), extremum = Extremum::Min, E = ndarray::Ix1
))]
impl<T: Element, D: Dimension, E: Dimension> SharedExtremum<T, D, E> {
    /// Returns the maximum or minimum over `axes`.
    ///
    /// # Panics
    /// If one of the axes does not exist, there are no elements, or the rank of the result is not that of `E`.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, axes: Axes, extremum: Extremum) -> Array<T, E> {
        extremum.check(extremum.name(), x.shape(), axes);
        kernels::reduce_lanes(extremum.reduction(), &x, axes)
    }

    #[backward(x)]
    fn backward(
        grad_output: &Tensor<T, E>,
        x: &Tensor<T, D>,
        output: &Tensor<T, E>,
        axes: Axes,
    ) -> Tensor<T, D> {
        weights(x, output, axes) * grad_output.expand::<D>(axes, x.shape())
    }

    #[jvp]
    fn jvp(
        tangent_x: &Tensor<T, D>,
        x: &Tensor<T, D>,
        output: &Tensor<T, E>,
        axes: Axes,
    ) -> Tensor<T, E> {
        (weights(x, output, axes) * tangent_x).sum_to_axes(axes)
    }
}

/// Returns 1 over the number of extremes for each element that is one, and 0 for the others, as a constant.
fn weights<T: Element, D: Dimension, E: Dimension>(
    x: &Tensor<T, D>,
    output: &Tensor<T, E>,
    axes: Axes,
) -> Tensor<T, D> {
    let (x, output) = (x.detach(), output.detach());
    let extremes = output.expand::<D>(axes, x.shape());
    let is_extreme = kernels::zip(&x.view(), &extremes.view(), |x, extreme| {
        let is_one = x == extreme || x.is_nan() && extreme.is_nan();
        if is_one { T::one() } else { T::zero() }
    });
    let is_extreme = Tensor::from(is_extreme);
    let count: Tensor<T, E> = is_extreme.sum_to_axes(axes);
    is_extreme / count.expand::<D>(axes, x.shape())
}

/// The maximum or minimum along one axis, and the index of the first element equal to it, for each lane in row-major
/// order. Only that element has the gradient. NaN is both maximum and minimum.
#[derive(Debug)]
pub struct FirstExtremum<T, D, E>(PhantomData<(T, D, E)>);

#[custom_function(gradcheck(
    x = [2, 3], axes = Axes::one(Axis(1)).keepdim(), extremum = Extremum::Max, E = ndarray::Ix2
))]
impl<T: Element, D: Dimension, E: Dimension> FirstExtremum<T, D, E> {
    /// Returns the maximum or minimum along one axis, and the index of the first element equal to it.
    ///
    /// # Panics
    /// If `axes` is not one axis, the axis is out of range, it has length 0, or the rank of the result is not that of `E`.
    #[forward(outputs(output, indices))]
    #[track_caller]
    pub fn forward(
        x: ArrayView<T, D>,
        axes: Axes,
        extremum: Extremum,
    ) -> (Array<T, E>, Vec<usize>) {
        extremum.check(extremum.name(), x.shape(), axes);
        let _ = one(extremum.name(), axes);
        kernels::first_extremes(extremum.reduction(), &x, axes)
    }

    #[backward(x)]
    fn backward(
        grad_output: &Tensor<T, E>,
        indices: &[usize],
        axes: Axes,
        shape_x: &[usize],
    ) -> Tensor<T, D> {
        scatter(grad_output, indices, axes, shape_x)
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, indices: &[usize], axes: Axes) -> Tensor<T, E> {
        gather(tangent_x, indices, axes)
    }
}

methods!(
    |x, axes| FirstExtremum::apply(x, axes, Extremum::Max).0,
    |x, axes| SharedExtremum::apply(x, axes, Extremum::Max),
    [max_axis, max_axes, max_keepdim], "maximum",
    single "The gradient goes to the first maximal element.", several "Several maximal elements share the gradient.",
    of "[[1.0, 2.0], [3.0, 6.0]]": rows "[2.0, 6.0]"
);

methods!(
    |x, axes| FirstExtremum::apply(x, axes, Extremum::Min).0,
    |x, axes| SharedExtremum::apply(x, axes, Extremum::Min),
    [min_axis, min_axes, min_keepdim], "minimum",
    single "The gradient goes to the first minimal element.", several "Several minimal elements share the gradient.",
    of "[[1.0, 2.0], [3.0, 6.0]]": rows "[1.0, 3.0]"
);

/// Returns the index of the first extreme of each lane along `axis`.
#[track_caller]
fn indices_along<T: Element, D: Dimension>(
    x: &Tensor<T, D>,
    axis: Axis,
    extremum: Extremum,
    name: &str,
) -> Array<usize, D::Smaller> {
    let axes = Axes::one(axis);
    extremum.check(name, x.shape(), axes);
    let view = x.view();
    let (extremes, indices): (Array<T, D::Smaller>, _) =
        kernels::first_extremes(extremum.reduction(), &view, axes);
    // INVARIANT: an index for each extreme.
    Array::from_shape_vec(extremes.raw_dim(), indices).expect("one for each")
}

/// Returns the index of the first extreme in row-major order.
#[track_caller]
fn index<T: Element, D: Dimension>(x: &Tensor<T, D>, extremum: Extremum, name: &str) -> usize {
    extremum.check(name, x.shape(), Axes::all());
    let view = x.view();
    let rows = view.as_standard_layout();
    let (_, indices): (Array0<T>, _) =
        kernels::first_extremes(extremum.reduction(), &rows.view(), Axes::all());
    indices[0]
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns the maximum of all elements: NaN if an element is NaN. Several maximal elements share the gradient
    /// evenly.
    ///
    /// # Panics
    /// If there are no elements.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let x = Tensor::from(array![2.0, 2.0, 1.0]).set_requires_grad(true);
    /// let max = x.max();
    /// assert_eq!(max.item(), 2.0);
    /// max.backward()?;
    /// assert_eq!(x.grad(), Some(array![0.5, 0.5, 0.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn max(&self) -> Tensor0<T> {
        SharedExtremum::apply(self, Axes::all(), Extremum::Max)
    }

    /// Returns the index of the first maximal element of each lane along `axis`.
    ///
    /// # Panics
    /// If the axis is out of range, or it has length 0.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::{Axis, array}};
    ///
    /// let x = Tensor::from(array![[1.0, 2.0], [3.0, 0.0]]);
    /// assert_eq!(x.argmax_axis(Axis(1)), array![1, 0]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn argmax_axis(&self, axis: Axis) -> Array<usize, D::Smaller> {
        indices_along(self, axis, Extremum::Max, "argmax")
    }

    /// Returns the index of the first maximal element, in row-major order.
    ///
    /// # Panics
    /// If there are no elements.
    #[must_use]
    #[track_caller]
    pub fn argmax(&self) -> usize {
        index(self, Extremum::Max, "argmax")
    }

    /// Returns the minimum of all elements: NaN if an element is NaN. Several minimal elements share the gradient
    /// evenly.
    ///
    /// # Panics
    /// If there are no elements.
    #[must_use]
    #[track_caller]
    pub fn min(&self) -> Tensor0<T> {
        SharedExtremum::apply(self, Axes::all(), Extremum::Min)
    }

    /// Returns the index of the first minimal element of each lane along `axis`.
    ///
    /// # Panics
    /// If the axis is out of range, or it has length 0.
    #[must_use]
    #[track_caller]
    pub fn argmin_axis(&self, axis: Axis) -> Array<usize, D::Smaller> {
        indices_along(self, axis, Extremum::Min, "argmin")
    }

    /// Returns the index of the first minimal element, in row-major order.
    ///
    /// # Panics
    /// If there are no elements.
    #[must_use]
    #[track_caller]
    pub fn argmin(&self) -> usize {
        index(self, Extremum::Min, "argmin")
    }
}
