//! Σx and its mean.

use std::marker::PhantomData;

use ndarray::{Array0, ArrayView, Dimension};

use crate::{Element, Shape, Tensor, Tensor0, custom_function, kernels};

/// The sum of all elements, added pairwise.
///
/// ```
/// use autograd_core::{Tensor, ops::Sum};
/// use autograd_core::ndarray::array;
///
/// let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]).set_requires_grad(true);
/// let y = Sum::apply(&x);
/// assert_eq!(y.item(), 10.0);
/// y.backward()?;
/// assert_eq!(x.grad(), Some(array![[1.0, 1.0], [1.0, 1.0]]));
/// # Ok::<(), autograd_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Sum<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Sum<T, D> {
    /// Returns Σx of all elements.
    #[forward(outputs(output), saves(shape))]
    pub fn forward(x: ArrayView<T, D>) -> (Array0<T>, Shape) {
        (
            Array0::from_elem((), kernels::sum(&x)),
            Shape::from(x.shape()),
        )
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor0<T>, shape: &Shape) -> Tensor<T, D> {
        grad_output.broadcast_to(shape)
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>) -> Tensor0<T> {
        tangent_x.sum()
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns the sum of all elements, added pairwise; 0 if there are none.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    ///
    /// assert_eq!(Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]).sum().item(), 10.0);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn sum(&self) -> Tensor0<T> {
        Sum::apply(self)
    }

    /// Returns the mean of all elements; NaN if there are none.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    ///
    /// assert_eq!(Tensor::from(array![1.0, 2.0, 6.0]).mean().item(), 3.0);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn mean(&self) -> Tensor0<T> {
        self.sum() / T::from_f64(self.len() as f64)
    }
}
