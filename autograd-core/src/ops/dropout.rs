//! Dropout: elements set to 0 at random.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use crate::{Element, custom_function, kernels, tensor::Tensor};

/// Dropout: sets elements to 0 at random. The backward pass chooses the same elements, from the seed: no mask is
/// saved.
#[derive(Debug)]
pub struct Dropout<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [3, 4], p = 0.4, seed = 5))]
impl<T: Element, D: Dimension> Dropout<T, D> {
    /// Multiplies each element by 0 with probability `p`, and by 1 / (1 − p) otherwise.
    #[doc = crate::math!(
        r"\begin{cases}"
        r"    0 & \text{with probability } p \\"
        r"    \dfrac{x}{1 - p} & \text{with probability } 1 - p"
        r"\end{cases}"
    )]
    /// # Panics
    /// If `p` is not between 0 and 1.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, p: f64, seed: u64) -> Array<T, D> {
        kernels::dropout(&x, p, seed)
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor<T, D>, p: f64, seed: u64) -> Tensor<T, D> {
        Self::apply(grad_output, p, seed)
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, p: f64, seed: u64) -> Tensor<T, D> {
        Self::apply(tangent_x, p, seed)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Multiplies each element, independently, by 0 with probability `p`, and by 1 / (1 − p) otherwise, so that the
    /// mean does not change. The choice depends only on `seed`: there is no hidden state, and a second call, such as in
    /// [`checkpoint`](crate::checkpoint), chooses the same elements. Each call in a training step needs a different
    /// seed.
    ///
    /// [`Dropout`](crate::ops::Dropout) has the formula.
    ///
    /// # Panics
    /// If `p` is not between 0 and 1.
    ///
    /// ```
    /// use pullback::{Tensor, Tensor1, ndarray::Array1};
    ///
    /// let x: Tensor1<f64> = Tensor::from(Array1::ones(1000)).set_requires_grad(true);
    /// let y = x.dropout(0.25, 42);
    /// let dropped = y.view().iter().filter(|&&y| y == 0.0).count();
    /// assert!((200..300).contains(&dropped));
    /// y.sum().backward()?;
    /// assert_eq!(x.grad(), Some(y.to_array()));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn dropout(&self, p: f64, seed: u64) -> Self {
        Dropout::apply(self, p, seed)
    }
}
