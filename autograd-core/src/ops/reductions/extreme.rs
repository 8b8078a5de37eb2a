//! The largest and the smallest element, and where they are.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Axis, Dimension};

use super::{methods, one, pick, put};
use crate::kernels::Axes;
use crate::{Element, Shape, Tensor, Tensor0, custom_function, kernels};

/// Which element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extremum {
    /// The largest.
    Max,
    /// The smallest.
    Min,
}

impl Extremum {
    fn name(self) -> &'static str {
        match self {
            Self::Max => "max",
            Self::Min => "min",
        }
    }

    fn of<T: Element>(self, x: &[T]) -> T {
        match self {
            Self::Max => kernels::max(x),
            Self::Min => kernels::min(x),
        }
    }

    fn place<T: Element>(self, x: &[T]) -> Option<usize> {
        match self {
            Self::Max => kernels::argmax(x),
            Self::Min => kernels::argmin(x),
        }
    }

    /// That there is an element wherever a result is wanted.
    #[track_caller]
    fn check(self, name: &str, shape: &[usize], axes: Axes) {
        let _ = axes.shape(name, shape);
        assert!(
            axes.count(shape) > 0,
            "{name} of shape {shape:?}: nothing has no {} element",
            if self == Self::Max {
                "largest"
            } else {
                "smallest"
            }
        );
    }
}

/// The largest or smallest element over some axes. If several are, they share the gradient evenly. What is
/// not a number is both.
#[derive(Debug)]
pub struct SharedExtremum<T, D, E>(PhantomData<(T, D, E)>);

#[custom_function(gradcheck(
    x = [2, 3], axes = Axes::one(Axis(1)), extremum = Extremum::Min, E = ndarray::Ix1
))]
impl<T: Element, D: Dimension, E: Dimension> SharedExtremum<T, D, E> {
    /// The largest or smallest element over some axes.
    ///
    /// # Panics
    /// If there are not all of the axes, or no elements, or the result has another rank than `E`.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, axes: Axes, extremum: Extremum) -> Array<T, E> {
        extremum.check(extremum.name(), x.shape(), axes);
        kernels::reduce(&x, axes, |lane| extremum.of(lane))
    }

    #[backward(x)]
    fn backward(
        grad_output: &Tensor<T, E>,
        x: &Tensor<T, D>,
        output: &Tensor<T, E>,
        axes: Axes,
    ) -> Tensor<T, D> {
        shares(x, output, axes) * grad_output.expand::<D>(axes, x.shape())
    }

    #[jvp]
    fn jvp(
        tangent_x: &Tensor<T, D>,
        x: &Tensor<T, D>,
        output: &Tensor<T, E>,
        axes: Axes,
    ) -> Tensor<T, E> {
        (shares(x, output, axes) * tangent_x).sum_to_axes(axes)
    }
}

/// For each element, one part in as many as there are extremes, if it is one. It is constant but for jumps:
/// its derivative is 0 where there is one.
fn shares<T: Element, D: Dimension, E: Dimension>(
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

/// The first of the largest or smallest elements along one axis, and its place there, of each lane in
/// row-major order. It alone has the gradient. What is not a number is both largest and smallest.
#[derive(Debug)]
pub struct FirstExtremum<T, D, E>(PhantomData<(T, D, E)>);

#[custom_function(gradcheck(
    x = [2, 3], axes = Axes::one(Axis(1)).keepdim(), extremum = Extremum::Max, E = ndarray::Ix2
))]
impl<T: Element, D: Dimension, E: Dimension> FirstExtremum<T, D, E> {
    /// The first of the largest or smallest elements along an axis, and its place there.
    ///
    /// # Panics
    /// If `over` is not of one axis, if there is no such axis, or nothing along it, or the result has another
    /// rank than `E`.
    #[forward(outputs(output, places), saves(shape))]
    #[track_caller]
    pub fn forward(
        x: ArrayView<T, D>,
        axes: Axes,
        extremum: Extremum,
    ) -> (Array<T, E>, Vec<usize>, Shape) {
        extremum.check(extremum.name(), x.shape(), axes);
        let _ = one("the first extreme", axes);
        let mut places = Vec::new();
        let output = kernels::reduce(&x, axes, |lane| {
            let place = extremum.place(lane).unwrap_or_default();
            places.push(place);
            lane[place]
        });
        (output, places, Shape::from(x.shape()))
    }

    #[backward(x)]
    fn backward(
        grad_output: &Tensor<T, E>,
        places: &[usize],
        axes: Axes,
        shape: &Shape,
    ) -> Tensor<T, D> {
        put(grad_output, places, axes, shape)
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, places: &[usize], axes: Axes) -> Tensor<T, E> {
        pick(tangent_x, places, axes)
    }
}

#[track_caller]
fn first_max<T: Element, D: Dimension, E: Dimension>(x: &Tensor<T, D>, axes: Axes) -> Tensor<T, E> {
    FirstExtremum::apply(x, axes, Extremum::Max).0
}

#[track_caller]
fn shared_max<T: Element, D: Dimension, E: Dimension>(
    x: &Tensor<T, D>,
    axes: Axes,
) -> Tensor<T, E> {
    SharedExtremum::apply(x, axes, Extremum::Max)
}

methods!(
    first_max, shared_max, [max_axis, max_axes, max_keepdim], "maximum",
    single "The gradient goes to the first maximal element.", several "Several maximal elements share the gradient.",
    of "[[1.0, 2.0], [3.0, 6.0]]": rows "[2.0, 6.0]", whole "6.0"
);

#[track_caller]
fn first_min<T: Element, D: Dimension, E: Dimension>(x: &Tensor<T, D>, axes: Axes) -> Tensor<T, E> {
    FirstExtremum::apply(x, axes, Extremum::Min).0
}

#[track_caller]
fn shared_min<T: Element, D: Dimension, E: Dimension>(
    x: &Tensor<T, D>,
    axes: Axes,
) -> Tensor<T, E> {
    SharedExtremum::apply(x, axes, Extremum::Min)
}

methods!(
    first_min, shared_min, [min_axis, min_axes, min_keepdim], "minimum",
    single "The gradient goes to the first minimal element.", several "Several minimal elements share the gradient.",
    of "[[1.0, 2.0], [3.0, 6.0]]": rows "[1.0, 3.0]", whole "1.0"
);

/// The place of each extreme along an axis, of several the first.
#[track_caller]
fn places_along<T: Element, D: Dimension>(
    x: &Tensor<T, D>,
    axis: Axis,
    extremum: Extremum,
    name: &str,
) -> Array<usize, D::Smaller> {
    let axes = Axes::one(axis);
    extremum.check(name, x.shape(), axes);
    let place = |lane: &[T]| extremum.place(lane).unwrap_or_default();
    kernels::reduce(&x.view(), axes, place)
}

/// The place of the extreme in row-major order, of several the first.
#[track_caller]
fn place<T: Element, D: Dimension>(x: &Tensor<T, D>, extremum: Extremum, name: &str) -> usize {
    extremum.check(name, x.shape(), Axes::all());
    let view = x.view();
    let rows = view.as_standard_layout();
    // INVARIANT: it is row-major, and not empty.
    let place = extremum.place(rows.as_slice().expect("row-major"));
    place.expect("an element")
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// The largest of all elements. If several are, they share the gradient evenly; what is not a number is
    /// largest.
    ///
    /// # Panics
    /// If there are no elements.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    ///
    /// let x = Tensor::from(array![2.0, 2.0, 1.0]).set_requires_grad(true);
    /// let max = x.max();
    /// assert_eq!(max.item(), 2.0);
    /// max.backward()?;
    /// assert_eq!(x.grad(), Some(array![0.5, 0.5, 0.0]));
    /// # Ok::<(), autograd_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn max(&self) -> Tensor0<T> {
        SharedExtremum::apply(self, Axes::all(), Extremum::Max)
    }

    /// The places of the largest elements along one axis, of several the first.
    ///
    /// # Panics
    /// If there is no such axis, or nothing along it.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::{Axis, array};
    ///
    /// let x = Tensor::from(array![[1.0, 2.0], [3.0, 0.0]]);
    /// assert_eq!(x.argmax_axis(Axis(1)), array![1, 0]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn argmax_axis(&self, axis: Axis) -> Array<usize, D::Smaller> {
        places_along(self, axis, Extremum::Max, "argmax")
    }

    /// The place of the largest element in row-major order, of several the first.
    ///
    /// # Panics
    /// If there are no elements.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    ///
    /// assert_eq!(Tensor::from(array![[4.0, 2.0], [0.0, 4.0]]).argmax(), 0);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn argmax(&self) -> usize {
        place(self, Extremum::Max, "argmax")
    }

    /// The smallest of all elements. If several are, they share the gradient evenly; what is not a number is
    /// smallest.
    ///
    /// # Panics
    /// If there are no elements.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    ///
    /// let x = Tensor::from(array![2.0, 2.0, 1.0]).set_requires_grad(true);
    /// let min = x.min();
    /// assert_eq!(min.item(), 1.0);
    /// min.backward()?;
    /// assert_eq!(x.grad(), Some(array![0.0, 0.0, 1.0]));
    /// # Ok::<(), autograd_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn min(&self) -> Tensor0<T> {
        SharedExtremum::apply(self, Axes::all(), Extremum::Min)
    }

    /// The places of the smallest elements along one axis, of several the first.
    ///
    /// # Panics
    /// If there is no such axis, or nothing along it.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::{Axis, array};
    ///
    /// let x = Tensor::from(array![[1.0, 2.0], [3.0, 0.0]]);
    /// assert_eq!(x.argmin_axis(Axis(1)), array![0, 1]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn argmin_axis(&self, axis: Axis) -> Array<usize, D::Smaller> {
        places_along(self, axis, Extremum::Min, "argmin")
    }

    /// The place of the smallest element in row-major order, of several the first.
    ///
    /// # Panics
    /// If there are no elements.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    ///
    /// assert_eq!(Tensor::from(array![[4.0, 2.0], [0.0, 4.0]]).argmin(), 2);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn argmin(&self) -> usize {
        place(self, Extremum::Min, "argmin")
    }
}
