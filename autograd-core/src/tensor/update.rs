//! Changes of values and gradients in place, for optimizers.
//!
//! A value that another tensor or a node holds is copied first, so a recorded graph keeps the former value.

use ndarray::{ArrayView, ArrayViewMut, Dimension, IxDyn};

use super::{Tensor, TensorD};
use crate::array::Buffer;
use crate::tape::{AnyGradient, Gradient};
use autograd_kernels::Element;

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Changes the value of a leaf or a constant in place; its gradient and hooks stay. Clones and recorded graphs keep
    /// the former value, so the gradients of a graph are those of the former value.
    ///
    /// # Panics
    /// If the tensor was computed from tensors that require grad, or has a tangent: its history would be wrong.
    ///
    /// ```
    /// use pullback::Tensor;
    /// use pullback::ndarray::array;
    ///
    /// let mut w = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// w.update(|mut w| w *= 10.0);
    /// assert_eq!(w.to_array(), array![10.0, 20.0]);
    /// assert!(w.is_leaf() && w.requires_grad());
    /// ```
    #[track_caller]
    pub fn update<R>(&mut self, change: impl FnOnce(ArrayViewMut<'_, T, D>) -> R) -> R {
        assert!(
            self.is_leaf() && self.raw.dual.is_none(),
            "update of a computed tensor of shape {:?}: only leaves and constants have a value of their own",
            self.shape()
        );
        change(own(&mut self.raw.buffer))
    }

    /// Changes the value of a leaf in place, with its gradient as the second argument of `change`. Without a gradient,
    /// returns `None` and does not call `change`.
    ///
    /// # Panics
    /// See [`update`](Self::update).
    ///
    /// ```
    /// use pullback::Tensor;
    /// use pullback::ndarray::array;
    ///
    /// let mut w = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// (&w * &w).sum().backward()?;
    /// w.update_by_grad(|mut w, grad| w.scaled_add(-0.1, &grad));
    /// assert_eq!(w.to_array(), array![0.8, 1.6]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[track_caller]
    pub fn update_by_grad<R>(
        &mut self,
        change: impl FnOnce(ArrayViewMut<'_, T, D>, ArrayView<'_, T, D>) -> R,
    ) -> Option<R> {
        let grad = self.grad_buffer()?;
        Some(self.update(|value| change(value, grad.view())))
    }

    /// Calls `look` with the accumulated gradient of a leaf, which is not copied; `None` without a gradient.
    pub fn with_grad<R>(&self, look: impl FnOnce(ArrayView<'_, T, D>) -> R) -> Option<R> {
        Some(look(self.grad_buffer()?.view()))
    }

    /// Changes the accumulated gradient of a leaf in place, and drops its history. Without a gradient, returns `None`
    /// and does not call `change`. A gradient that a pass on another thread adds meanwhile is added to the changed one;
    /// if `change` panics, the gradient is removed.
    pub fn update_grad<R>(&self, change: impl FnOnce(ArrayViewMut<'_, T, D>) -> R) -> Option<R> {
        let leaf = self.leaf()?;
        // Taken out, so that no lock is held while user code runs.
        let mut buffer = leaf.replace(None)?.recover::<T>()?.into_buffer();
        let result = change(own(&mut buffer));
        leaf.give_back(AnyGradient::erase(Gradient::Owned(buffer)));
        Some(result)
    }

    /// Borrows the tensor as one of any rank.
    #[inline]
    pub fn as_dyn(&self) -> &TensorD<T> {
        Tensor::<T, IxDyn>::from_field(&self.raw)
    }

    /// Returns a handle on the memory of the accumulated gradient.
    fn grad_buffer(&self) -> Option<Buffer<T>> {
        Some(self.leaf()?.get()?.recover::<T>()?.into_buffer())
    }
}

/// Returns the buffer's elements for writing, in memory that no other handle holds.
fn own<T: Element, D: Dimension>(buffer: &mut Buffer<T>) -> ArrayViewMut<'_, T, D> {
    if !buffer.is_own() {
        *buffer = Buffer::compact(buffer.copied::<IxDyn>());
    }
    // INVARIANT: no other handle holds the memory, and the buffer has the rank of its tensor.
    buffer.own_view_mut().expect("memory of its own")
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, array, s};

    use super::*;

    #[test]
    fn a_graph_keeps_the_value_that_it_recorded() -> Result<(), crate::Error> {
        let mut x = Tensor::from(array![1.0, 2.0, 3.0]).set_requires_grad(true);
        let before = x.clone();
        let y = (&x * &x).sum();
        x.update(|mut x| x.fill(100.0));
        y.backward()?;
        assert_eq!(x.grad(), Some(array![2.0, 4.0, 6.0]));
        assert_eq!(before.grad(), x.grad());
        assert_eq!(before.to_array(), array![1.0, 2.0, 3.0]);
        assert_eq!(x.to_array(), Array1::from_elem(3, 100.0));
        Ok(())
    }

    #[test]
    fn memory_of_its_own_is_updated_in_place() {
        let mut x = Tensor::from(Array1::<f32>::zeros(9)).set_requires_grad(true);
        let address = x.view().as_ptr();
        x.set_grad(Array1::ones(9));
        let gradient = x.with_grad(|grad| grad.as_ptr());
        let done = x.update_by_grad(|mut x, grad| x.scaled_add(-2.0, &grad));
        x.update_grad(|mut grad| grad *= 3.0);
        assert_eq!(done, Some(()));
        assert_eq!(x.view().as_ptr(), address);
        assert_eq!(x.with_grad(|grad| grad.as_ptr()), gradient);
        assert_eq!(x.to_array(), Array1::from_elem(9, -2.0));
        assert_eq!(x.grad(), Some(Array1::from_elem(9, 3.0)));
    }

    #[test]
    fn a_view_of_another_tensor_is_copied() {
        let whole = Tensor::from(array![1.0, 2.0, 3.0, 4.0]);
        let mut part = whole.slice(s![1..3]);
        part.update(|mut part| part.fill(0.0));
        assert_eq!(whole.to_array(), array![1.0, 2.0, 3.0, 4.0]);
        assert_eq!(part.to_array(), array![0.0, 0.0]);
    }

    #[test]
    fn a_gradient_of_a_pass_meanwhile_is_added() -> Result<(), crate::Error> {
        let x = Tensor::from(array![1.0]).set_requires_grad(true);
        x.set_grad(array![10.0]);
        let pass = x.update_grad(|mut grad| {
            grad.fill(20.0);
            (&x * 3.0).sum().backward()
        });
        pass.expect("a gradient")?;
        assert_eq!(x.grad(), Some(array![23.0]));
        Ok(())
    }

    #[test]
    #[should_panic(expected = "update of a computed tensor of shape [1]")]
    fn a_computed_tensor_keeps_its_value() {
        let x = Tensor::from(array![1.0]).set_requires_grad(true);
        (x * 2.0).update(|_| ());
    }
}
