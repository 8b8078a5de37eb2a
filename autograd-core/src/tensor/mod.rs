//! Tensors: a value, and the edge to the node that computed it.
//!
//! This file has the value; `grad` has gradients; `list` has what a list of tensors is made of; `update` changes values and gradients in place; `reuse` computes in
//! the memory of an operand.

mod grad;
mod list;
mod reuse;
mod update;

pub use list::ListElement;

use std::fmt;
use std::marker::PhantomData;

use ndarray::{Array, ArrayView, ArrayViewD, Dimension, Ix0, Ix1, Ix2, Ix3, Ix4, Ix5, Ix6, IxDyn};

use crate::array::{Buffer, marked};
use crate::tape::{Gradient, Gradients, RawTensor};
use autograd_kernels::Element;
use autograd_kernels::Shape;

marked! {
    /// An array with its history: the functions that computed it.
    ///
    /// `T` is `f32` or `f64`, `D` an ndarray dimension: the rank is part of the type, as it is of
    /// [`ndarray::Array`]; a [`TensorD`] has any rank. Cloning is cheap and shares value, history and
    /// accumulated gradient. Tensors can be sent to and shared between threads.
    ///
    /// A tensor made from an array is a constant. [`set_requires_grad`](Self::set_requires_grad) makes it
    /// a *leaf*, for which [`backward`](Self::backward) accumulates a gradient.
    ///
    /// ```
    /// use pullback::Tensor;
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]);
    /// let w = Tensor::from(array![[0.5, 0.5]]).set_requires_grad(true);
    /// let loss = (&x * &w + 1.0).sum();
    /// loss.backward()?;
    /// assert_eq!(w.grad(), Some(array![[4.0, 6.0]]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub struct Tensor<T, D = IxDyn> {
        pub(crate) raw: RawTensor<T>,
        /// The buffer has the rank of `D`; nothing of type `D` is stored.
        rank,
    }
}

/// A tensor of rank 0: a number.
pub type Tensor0<T> = Tensor<T, Ix0>;
/// A tensor of rank 1: a vector.
pub type Tensor1<T> = Tensor<T, Ix1>;
/// A tensor of rank 2: a matrix.
pub type Tensor2<T> = Tensor<T, Ix2>;
/// A tensor of rank 3.
pub type Tensor3<T> = Tensor<T, Ix3>;
/// A tensor of rank 4.
pub type Tensor4<T> = Tensor<T, Ix4>;
/// A tensor of rank 5.
pub type Tensor5<T> = Tensor<T, Ix5>;
/// A tensor of rank 6.
pub type Tensor6<T> = Tensor<T, Ix6>;
/// A tensor of any rank, known at run time.
pub type TensorD<T> = Tensor<T, IxDyn>;

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Wraps a raw tensor, whose buffer must have the rank of `D`.
    #[inline]
    pub(crate) fn from_raw(raw: RawTensor<T>) -> Self {
        debug_assert!(D::NDIM.is_none_or(|rank| rank == raw.buffer.shape().len()));
        Self {
            raw,
            rank: PhantomData,
        }
    }

    /// Makes a constant.
    #[inline]
    pub(crate) fn constant(buffer: Buffer<T>) -> Self {
        Self::from_raw(RawTensor::new(buffer, None))
    }

    /// Makes a constant of the elements of `owner`, in row-major order, without a copy. The owner is dropped with the
    /// last tensor or node that uses the memory. The memory is never written to, except that of a `Vec`, which the
    /// tensor takes over.
    ///
    /// # Panics
    /// If `D` has another rank, or the owner does not have as many elements as the shape, at this call or later.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pullback::Tensor2;
    ///
    /// let shared: Arc<[f64]> = Arc::from([1.0, 2.0, 3.0, 4.0]);
    /// let x = Tensor2::from_owner(&[2, 2], Arc::clone(&shared));
    /// assert_eq!(x.view()[[1, 0]], 3.0);
    /// assert_eq!(x.view().as_ptr(), shared.as_ptr());
    /// ```
    #[track_caller]
    pub fn from_owner(shape: &[usize], owner: impl AsRef<[T]> + Send + Sync + 'static) -> Self {
        assert!(
            D::NDIM.is_none_or(|rank| rank == shape.len()),
            "from_owner of shape {shape:?} as a tensor of rank {}",
            D::NDIM.unwrap_or_default()
        );
        Self::constant(Buffer::foreign(Shape::from(shape), owner))
    }

    /// Returns the shape.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        self.raw.buffer.shape()
    }

    /// Returns the number of axes.
    pub fn ndim(&self) -> usize {
        self.shape().len()
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.raw.buffer.shape().size()
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a view of the value.
    #[inline]
    pub fn view(&self) -> ArrayView<'_, T, D> {
        self.raw.buffer.view()
    }

    /// Returns a copy of the value.
    pub fn to_array(&self) -> Array<T, D> {
        self.raw.buffer.copied()
    }

    /// Returns the value, without a copy if no other tensor and no node holds the memory.
    #[inline]
    pub fn into_array(self) -> Array<T, D> {
        self.raw.buffer.into_array()
    }

    /// Returns the elements in row-major order, without a copy if the memory has that order and no other tensor and no
    /// node holds it.
    pub fn into_elements(self) -> Vec<T> {
        self.raw.buffer.into_elements()
    }

    /// Returns the one element of a tensor.
    ///
    /// # Panics
    /// If the tensor does not have exactly one element.
    #[track_caller]
    pub fn item(&self) -> T {
        assert!(
            self.len() == 1,
            "item of a tensor of shape {:?}: it has no single element",
            self.shape()
        );
        // INVARIANT: there is one element.
        *self
            .raw
            .buffer
            .view::<IxDyn>()
            .first()
            .expect("one element")
    }

    /// Converts to a tensor of any rank, with the same value, history and gradient.
    pub fn into_dyn(self) -> TensorD<T> {
        Tensor::from_raw(self.raw)
    }

    /// Converts to a tensor of another dimension type; `None` if its rank is not that of `E`.
    pub fn into_dimensionality<E: Dimension>(self) -> Option<Tensor<T, E>> {
        let fits = E::NDIM.is_none_or(|rank| rank == self.ndim());
        fits.then(|| Tensor::from_raw(self.raw))
    }

    /// Borrows the tensor with another dimension type; `None` if its rank is not that of `E`.
    #[inline]
    pub(crate) fn as_dimensionality<E: Dimension>(&self) -> Option<&Tensor<T, E>> {
        let fits = E::NDIM.is_none_or(|rank| rank == self.ndim());
        fits.then(|| Tensor::from_field(&self.raw))
    }

    /// Returns the value as a constant that shares the memory, if its element type is `U`.
    pub(crate) fn as_elements<U: Element>(&self) -> Option<Tensor<U, D>> {
        let value = Gradient::Constant(self.raw.buffer.clone());
        let same = U::from_any::<Gradients>(T::into_any::<Gradients>(value))?;
        Some(Tensor::constant(same.into_buffer()))
    }

    /// Returns a view of the value with another shape or other strides, as a constant that shares the memory.
    pub(crate) fn part<E: Dimension>(
        &self,
        look: impl for<'a> FnOnce(&'a ArrayViewD<'a, T>) -> ArrayViewD<'a, T>,
    ) -> Tensor<T, E> {
        Tensor::constant(Buffer::part(&self.raw.buffer, look))
    }

    /// Returns whether both have the same shape.
    #[inline]
    pub(crate) fn has_shape_of<E>(&self, other: &Tensor<T, E>) -> bool {
        self.raw.buffer.shape() == other.raw.buffer.shape()
    }

    /// Returns a copy of the shape.
    pub(crate) fn to_shape(&self) -> Shape {
        self.raw.buffer.shape().clone()
    }
}

impl<T, D> Clone for Tensor<T, D> {
    fn clone(&self) -> Self {
        Self {
            raw: self.raw.clone(),
            rank: PhantomData,
        }
    }
}

impl<T: Element, D: Dimension> From<Array<T, D>> for Tensor<T, D> {
    #[inline]
    fn from(array: Array<T, D>) -> Self {
        Self::constant(Buffer::compact(array))
    }
}

impl<T: Element, D: Dimension> From<ArrayView<'_, T, D>> for Tensor<T, D> {
    fn from(view: ArrayView<'_, T, D>) -> Self {
        Self::from(view.to_owned())
    }
}

impl From<f32> for Tensor<f32, Ix0> {
    fn from(number: f32) -> Self {
        Self::from(ndarray::arr0(number))
    }
}

impl From<f64> for Tensor<f64, Ix0> {
    fn from(number: f64) -> Self {
        Self::from(ndarray::arr0(number))
    }
}

impl<T: Element, D: Dimension> AsRef<Self> for Tensor<T, D> {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl<T: Element, D: Dimension> fmt::Debug for Tensor<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Tensor");
        shown.field("value", &format_args!("{}", self.view()));
        match self.grad_fn() {
            Some(node) => shown.field("grad_fn", &node),
            None => shown.field("requires_grad", &self.requires_grad()),
        };
        shown.finish()
    }
}

impl<T: Element, D: Dimension> fmt::Display for Tensor<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_cross_threads_and_are_small() {
        fn crosses<X: Send + Sync + 'static>() {}
        crosses::<Tensor2<f32>>();
        crosses::<crate::Node>();
        assert_eq!(size_of::<Tensor2<f32>>(), 32);
    }
}
