//! eˣ − 1

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::unary_backward;
use crate::{Element, custom_function, kernels, tensor::Tensor};

/// eˣ − 1 of each element, also exact near 0.
///
/// ```
/// use pullback::{ndarray::array, ops::{Exp, ExpM1}};
///
/// let x = array![1e-20_f64];
/// assert_eq!(ExpM1::forward(x.view()), array![1e-20]);
/// assert_eq!(Exp::forward(x.view()) - 1.0, array![0.0]);
/// ```
#[derive(Debug)]
pub struct ExpM1<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, D: Dimension> ExpM1<T, D> {
    /// Returns eˣ − 1 of each element, also exact near 0.
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        kernels::map(
            &x,
            #[inline(always)]
            |x| kernels::exp_m1(x),
        )
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
        unary_backward(
            grad_output,
            output,
            |grad, y| grad * (y + T::one()),
            |output| output + T::one(),
        )
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
        Self::backward(tangent_x.clone(), output)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns eˣ − 1 of each element, also exact near 0.
    #[must_use]
    #[track_caller]
    pub fn exp_m1(&self) -> Self {
        ExpM1::apply(self)
    }
}
