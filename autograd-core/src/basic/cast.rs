//! Elements of the other type.

use std::marker::PhantomData;

use ndarray::Dimension;

use crate::{Element, custom_function, kernels, tensor::Tensor};

/// The elements of a tensor in another type, rounded to the nearest where it has fewer digits.
///
/// ```
/// use pullback::{Tensor, ndarray::array};
///
/// let x = Tensor::from(array![0.1_f32]).set_requires_grad(true);
/// let y = x.cast::<f64>().square().sum();
/// y.backward()?;
/// assert_eq!(x.grad(), Some(array![0.2_f32]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Cast<T, U, D>(PhantomData<(T, U, D)>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<T: Element, U: Element, D: Dimension> Cast<T, U, D> {
    /// Returns the elements in the type `U`; in the memory of `x` if that is its type.
    #[forward]
    #[track_caller]
    pub fn forward(x: &Tensor<T, D>) -> Tensor<U, D> {
        x.as_elements()
            .unwrap_or_else(|| kernels::map(&x.view(), |x| U::from_f64(x.as_f64())).into())
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor<U, D>) -> Tensor<T, D> {
        grad_output.cast()
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>) -> Tensor<U, D> {
        tangent_x.cast()
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns the elements in the type `U`, rounded to the nearest if it has fewer digits. The gradient has this
    /// tensor's type again: a function that is written for `f64` is one for `f32` too, with a cast before and after it.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let x = Tensor::from(array![0.5_f32, 0.1]);
    /// let y = x.cast::<f64>();
    /// assert_eq!(y.to_array(), array![0.5, 0.1_f32.into()]);
    /// assert_eq!(y.cast::<f32>().to_array(), x.to_array());
    /// ```
    #[must_use]
    #[track_caller]
    pub fn cast<U: Element>(&self) -> Tensor<U, D> {
        Cast::apply(self)
    }
}
