//! x − y

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::add_tangents;
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// x − y, element by element, of tensors of one shape; the operator broadcasts.
///
/// ```
/// use pullback::{Tensor, ndarray::array};
///
/// let x = Tensor::from(array![1.0, 2.0]);
/// assert_eq!((&x - Tensor::from(array![0.5])).to_array(), array![0.5, 1.5]);
/// ```
#[derive(Debug)]
pub struct Sub<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], y = [2, 3]))]
impl<T: Element, D: Dimension> Sub<T, D> {
    /// Returns x − y, element by element.
    ///
    /// # Panics
    /// If the shapes differ.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, y: ArrayView<T, D>) -> Array<T, D> {
        kernels::zip(&x, &y, |x, y| x - y)
    }

    #[backward(x)]
    fn grad_x(grad_output: Tensor<T, D>) -> Tensor<T, D> {
        grad_output
    }

    #[backward(y)]
    fn grad_y(grad_output: Tensor<T, D>) -> Tensor<T, D> {
        -grad_output
    }

    #[jvp]
    fn jvp(
        tangent_x: Option<&Tensor<T, D>>,
        tangent_y: Option<&Tensor<T, D>>,
    ) -> Option<Tensor<T, D>> {
        let along_x = tangent_x.cloned();
        let along_y = tangent_y.map(|tangent| -tangent);
        add_tangents(along_x, along_y)
    }
}
