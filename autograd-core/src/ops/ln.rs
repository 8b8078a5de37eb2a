//! ln x

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use crate::{Element, custom_function, kernels, tensor::Tensor};

/// ln x of each element.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::Ln};
///
/// let x = Tensor::from(array![2.0, 4.0]).set_requires_grad(true);
/// Ln::apply(&x).sum().backward()?;
/// assert_eq!(x.grad(), Some(array![0.5, 0.25]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Ln<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Ln<T, D> {
    /// Returns ln x of each element.
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(&x, kernels::ln)
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        grad_output / x
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        tangent_x / x
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns ln x of each element.
    #[must_use]
    #[track_caller]
    pub fn ln(&self) -> Self {
        Ln::apply(self)
    }
}
