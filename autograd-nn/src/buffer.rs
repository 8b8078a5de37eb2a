//! Buffers: tensors that are saved with a module and not trained.

use std::fmt;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use autograd_core::__private::HoldsTensor;
use autograd_core::ndarray::{Array, Dimension, IxDyn};
use autograd_core::{AnyTensor, Element, Tensor};

/// A constant that is saved with its module and not trained, such as the running mean of batch normalization.
///
/// [`set`](Self::set) takes `&self`, so that `forward` can set a buffer. [`get`](Self::get) returns the value at the
/// time of the call.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::Buffer;
///
/// let mean = Buffer::new(array![0.0, 0.0]);
/// mean.set(mean.get() * 0.9 + 0.1);
/// assert_eq!(mean.get().to_array(), array![0.1, 0.1]);
/// assert!(!mean.get().requires_grad());
/// ```
pub struct Buffer<T, D = IxDyn> {
    value: Mutex<Tensor<T, D>>,
    shape: D,
    persistent: bool,
}

impl<T: Element, D: Dimension> Buffer<T, D> {
    /// Creates a persistent buffer with this value.
    pub fn new(value: Array<T, D>) -> Self {
        Self {
            shape: value.raw_dim(),
            value: Mutex::new(value.into()),
            persistent: true,
        }
    }

    /// Returns the shape.
    pub fn shape(&self) -> &[usize] {
        self.shape.slice()
    }

    /// Sets whether the buffer is saved with the state; `true` by default.
    #[must_use]
    pub fn persistent(mut self, persistent: bool) -> Self {
        self.persistent = persistent;
        self
    }

    /// Returns the value.
    pub fn get(&self) -> Tensor<T, D> {
        self.lock().clone()
    }

    /// Sets the value, detached from its history.
    ///
    /// # Panics
    /// If the value does not have the buffer's shape.
    #[track_caller]
    pub fn set(&self, value: impl Into<Tensor<T, D>>) {
        let value = value.into().detach();
        assert!(
            value.shape() == self.shape(),
            "a value of shape {:?} for a buffer of shape {:?}",
            value.shape(),
            self.shape()
        );
        let former = mem::replace(&mut *self.lock(), value);
        drop(former);
    }

    fn lock(&self) -> MutexGuard<'_, Tensor<T, D>> {
        // A poisoned value is whole: nothing panics between taking and storing it.
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T, D> HoldsTensor for Buffer<T, D> {
    const AS_SKIPPED: bool = true;
}

impl<T: Element, D: Dimension> Clone for Buffer<T, D> {
    fn clone(&self) -> Self {
        Self {
            value: Mutex::new(self.get()),
            shape: self.shape.clone(),
            persistent: self.persistent,
        }
    }
}

impl<T: Element, D: Dimension> From<Array<T, D>> for Buffer<T, D> {
    fn from(value: Array<T, D>) -> Self {
        Self::new(value)
    }
}

impl<T: Element, D: Dimension> fmt::Debug for Buffer<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Buffer").field(&self.get()).finish()
    }
}

/// A buffer of any element type and rank.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::{AnyBuffer, Buffer};
///
/// let (mean, steps) = (Buffer::new(array![0.5_f32, 1.5]), Buffer::new(array![[7.0_f64]]));
/// let buffers: [&dyn AnyBuffer; 2] = [&mean, &steps];
/// assert_eq!(buffers.map(|buffer| buffer.shape().len()), [1, 2]);
/// ```
pub trait AnyBuffer: Send + Sync + sealed::Sealed {
    /// Returns the shape.
    fn shape(&self) -> &[usize];

    /// Returns the value.
    fn to_any(&self) -> AnyTensor;

    /// Sets the value. Returns false, and does nothing, if the element type or the shape differs.
    #[must_use = "whether it fits"]
    fn set_any(&self, value: &AnyTensor) -> bool;

    /// Returns whether the buffer is saved with the state.
    fn is_persistent(&self) -> bool;
}

mod sealed {
    pub trait Sealed {}
    impl<T, D> Sealed for super::Buffer<T, D> {}
}

impl<T: Element, D: Dimension + 'static> AnyBuffer for Buffer<T, D> {
    fn shape(&self) -> &[usize] {
        self.shape.slice()
    }

    fn to_any(&self) -> AnyTensor {
        self.get().into()
    }

    fn set_any(&self, value: &AnyTensor) -> bool {
        let value = value
            .to_tensor::<T>()
            .and_then(Tensor::into_dimensionality::<D>);
        match value {
            Some(value) if value.shape() == self.shape.slice() => self.set(value),
            _ => return false,
        }
        true
    }

    fn is_persistent(&self) -> bool {
        self.persistent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use autograd_core::ndarray::{Array1, array};

    #[test]
    fn other_threads_may_set_it() {
        let buffer = Buffer::new(Array1::zeros(100));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let buffer = &buffer;
                scope.spawn(move || {
                    for _ in 0..100 {
                        buffer.set(Array1::from_elem(100, f64::from(thread)));
                        assert!(buffer.get().view().iter().all(|x| (0.0..4.0).contains(x)));
                    }
                });
            }
        });
    }

    #[test]
    #[should_panic(expected = "a value of shape [2] for a buffer of shape [1]")]
    fn a_value_of_another_shape_is_refused() {
        Buffer::new(array![0.0]).set(array![1.0, 2.0]);
    }
}
