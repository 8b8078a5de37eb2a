//! Πx

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Axis, Dimension};

use super::{SumAxes, methods, one};
use crate::kernels::{Along, Axes, Reduction};
use crate::tensor::{Tensor, Tensor0};
use crate::{Element, custom_function, kernels};

/// The product along one axis.
#[derive(Debug)]
pub struct Prod<T, D, E>(PhantomData<(T, D, E)>);

#[custom_function(gradcheck(x = [2, 3], axes = Axes::one(Axis(1)), E = ndarray::Ix1))]
impl<T: Element, D: Dimension, E: Dimension> Prod<T, D, E> {
    /// Returns Πx along one axis.
    #[doc = crate::math!(r"y = \prod_i x_i, \qquad \frac{\partial y}{\partial x_i} = \prod_{j \ne i} x_j")]
    /// # Panics
    /// If `axes` is not one axis, the axis is out of range, or the rank of the result is not that of `E`.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, axes: Axes) -> Array<T, E> {
        axes.check("prod", x.shape());
        let _ = one("Prod", axes);
        kernels::reduce_lanes(Reduction::Product, &x, axes)
    }

    #[backward(x)]
    fn backward(
        grad_output: &Tensor<T, E>,
        x: &Tensor<T, D>,
        output: &Tensor<T, E>,
        axes: Axes,
    ) -> Tensor<T, D> {
        others(x, output, axes) * grad_output.expand::<D>(axes, x.shape())
    }

    #[jvp]
    fn jvp(
        tangent_x: &Tensor<T, D>,
        x: &Tensor<T, D>,
        output: &Tensor<T, E>,
        axes: Axes,
    ) -> Tensor<T, E> {
        (others(x, output, axes) * tangent_x).sum_to_axes(axes)
    }
}

/// Returns the product of all other elements, for each element: the whole product divided by the element, unless
/// products are 0 or out of range.
#[track_caller]
fn others<T: Element, D: Dimension, E: Dimension>(
    x: &Tensor<T, D>,
    product: &Tensor<T, E>,
    axes: Axes,
) -> Tensor<T, D> {
    if product.view().iter().all(|product| product.is_normal()) {
        return product.expand::<D>(axes, x.shape()) / x;
    }
    let axis = one("Prod", axes);
    if x.raw.is_plain() {
        return kernels::along(Along::ProductOfOthers, &x.view(), None, axis).into();
    }
    // A window is the product of adjacent elements, cyclically. Windows of 1, 2, 4, … elements make up the window of
    // all others, which begins after each element.
    let (mut window, mut length) = (rolled(x, axis, 1), 1);
    let mut rest = x.shape()[axis.index()].saturating_sub(1);
    let (mut others, mut covered) = (None, 0);
    while rest > 0 {
        if rest % 2 == 1 {
            let next = rolled(&window, axis, covered);
            others = Some(match others {
                Some(others) => next * &others,
                None => next,
            });
            covered += length;
        }
        rest /= 2;
        if rest > 0 {
            window = &window * rolled(&window, axis, length);
            length *= 2;
        }
    }
    others.unwrap_or_else(|| Tensor::from(Array::ones(x.view().raw_dim())))
}

/// Shifts the elements along an axis toward its start, cyclically.
#[track_caller]
fn rolled<T: Element, D: Dimension>(x: &Tensor<T, D>, axis: Axis, by: usize) -> Tensor<T, D> {
    x.roll(axis, -by.cast_signed())
}

/// Returns the product over one axis, or over several one after the other.
#[track_caller]
fn prod_over<T: Element, D: Dimension, E: Dimension>(x: &Tensor<T, D>, axes: Axes) -> Tensor<T, E> {
    axes.check("prod", x.shape());
    if axes.single().is_some() {
        return Prod::apply(x, axes);
    }
    let mut product = x.clone();
    for axis in (0..x.ndim()).filter(|&axis| axes.contains(axis)) {
        product = Prod::apply(&product, Axes::one(Axis(axis)).keepdim());
    }
    // The sum of one element each, to remove the axes.
    SumAxes::apply(&product, axes)
}

methods!(
    prod_over, [prod_axis, prod_axes, prod_keepdim],
    "product", of "[[1.0, 2.0], [3.0, 6.0]]": rows "[2.0, 18.0]"
);

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns the product of all elements; 1 if there are none.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let x = Tensor::from(array![0.0, 2.0, 5.0]).set_requires_grad(true);
    /// let product = x.prod();
    /// assert_eq!(product.item(), 0.0);
    /// product.backward()?;
    /// assert_eq!(x.grad(), Some(array![10.0, 0.0, 0.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn prod(&self) -> Tensor0<T> {
        prod_over(self, Axes::all())
    }
}
