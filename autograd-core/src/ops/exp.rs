//! eˣ

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use crate::{Element, custom_function, kernels, tensor::Tensor};

/// eˣ of each element.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::Exp};
///
/// let x = Tensor::from(array![0.0, 1.0]).set_requires_grad(true);
/// let y = Exp::apply(&x);
/// y.sum().backward()?;
/// assert_eq!(x.grad(), Some(y.to_array())); // its own derivative
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Exp<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Exp<T, D> {
    /// Returns eˣ of each element.
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(
            &x,
            #[inline(always)]
            |x| kernels::exp(x),
        )
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
        grad_output * output
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
        tangent_x * output
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns eˣ of each element.
    #[must_use]
    #[track_caller]
    pub fn exp(&self) -> Self {
        Exp::apply(self)
    }
}
