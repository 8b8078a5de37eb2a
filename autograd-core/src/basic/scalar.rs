//! Arithmetic with one number for all elements, for the operators.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use crate::{Element, custom_function, kernels, tensor::Tensor};

/// x + c for a number c.
///
/// ```
/// use pullback::{Tensor, ndarray::array};
///
/// let x = Tensor::from(array![1.0_f64, 2.0]);
/// assert_eq!((&x + 1.0).to_array(), array![2.0, 3.0]);
/// assert_eq!((&x - 1.0).to_array(), array![0.0, 1.0]);
/// assert_eq!((1.0 - &x).to_array(), array![0.0, -1.0]);
/// assert_eq!((2.0 * &x).to_array(), array![2.0, 4.0]);
/// assert_eq!((&x / 4.0).to_array(), array![0.25, 0.5]);
/// assert_eq!((1.0 / &x).to_array(), array![1.0, 0.5]);
/// ```
#[derive(Debug)]
pub struct AddScalar<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], c = 1.5))]
impl<T: Element, D: Dimension> AddScalar<T, D> {
    /// Returns x + c of each element.
    #[forward]
    pub fn forward(x: ArrayView<T, D>, c: T) -> Array<T, D> {
        kernels::map(&x, move |x| x + c)
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>) -> Tensor<T, D> {
        grad_output
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>) -> Tensor<T, D> {
        tangent_x.clone()
    }
}

/// c − x for a number c.
#[derive(Debug)]
pub struct ScalarSub<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], c = 1.5))]
impl<T: Element, D: Dimension> ScalarSub<T, D> {
    /// Returns c − x of each element.
    #[forward]
    pub fn forward(c: T, x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(&x, move |x| c - x)
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>) -> Tensor<T, D> {
        -grad_output
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>) -> Tensor<T, D> {
        -tangent_x
    }
}

/// c · x for a number c.
#[derive(Debug)]
pub struct MulScalar<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], c = 1.5))]
impl<T: Element, D: Dimension> MulScalar<T, D> {
    /// Returns c · x of each element.
    #[forward]
    pub fn forward(x: ArrayView<T, D>, c: T) -> Array<T, D> {
        kernels::map(&x, move |x| x * c)
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, c: T) -> Tensor<T, D> {
        grad_output * c
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, c: T) -> Tensor<T, D> {
        tangent_x * c
    }
}

/// x / c for a number c. Not x · (1/c), which rounds twice.
#[derive(Debug)]
pub struct DivScalar<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], c = 1.5))]
impl<T: Element, D: Dimension> DivScalar<T, D> {
    /// Returns x / c of each element.
    #[forward]
    pub fn forward(x: ArrayView<T, D>, c: T) -> Array<T, D> {
        kernels::map(&x, move |x| x / c)
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, c: T) -> Tensor<T, D> {
        grad_output / c
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, c: T) -> Tensor<T, D> {
        tangent_x / c
    }
}

/// c / x for a number c.
#[derive(Debug)]
pub struct ScalarDiv<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], c = 1.5))]
impl<T: Element, D: Dimension> ScalarDiv<T, D> {
    /// Returns c / x of each element.
    #[forward]
    pub fn forward(c: T, x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(&x, move |x| c / x)
    }

    // d(c / x)/dx = −c / x² = −output / x
    #[backward(x)]
    fn backward(
        grad_output: Tensor<T, D>,
        x: &Tensor<T, D>,
        output: &Tensor<T, D>,
    ) -> Tensor<T, D> {
        -(grad_output * output / x)
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, x: &Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
        -(tangent_x * output / x)
    }
}
