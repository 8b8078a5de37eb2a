//! −x

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use crate::{Element, custom_function, kernels, tensor::Tensor};

/// −x of each element.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::Neg};
///
/// let x = Tensor::from(array![2.0]).set_requires_grad(true);
/// Neg::apply(&x).sum().backward()?;
/// assert_eq!(x.grad(), Some(array![-1.0]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Neg<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> Neg<T, D> {
    /// Returns −x of each element.
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(&x, |x| -x)
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
