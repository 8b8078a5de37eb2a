//! What is saved with a module and not trained.

use std::fmt;
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::ndarray::{Array, Dimension};
use crate::{AnyTensor, Element, Tensor};

/// A constant that belongs to a module's state: saved with it, never trained, such as the running mean of
/// batch normalization. It derefs to its [`Tensor`].
///
/// `forward` has the module by shared reference and may yet [`set`](Self::set) a buffer. Whoever derefs it
/// sees the value of that moment for as long as the reference lives; [`get`](Self::get) gives a handle.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::Buffer;
///
/// let mean = Buffer::new(array![0.0, 0.0]);
/// mean.set(mean.get() * 0.9 + 0.1);
/// assert_eq!(mean.to_array(), array![0.1, 0.1]);
/// assert!(!mean.requires_grad());
/// ```
pub struct Buffer<T, D> {
    oldest: Version<T, D>,
    /// What was set and nobody has dereferenced yet. A deref makes a version of it, which stays where it
    /// is until the buffer can be had for good: `set` and `get` alone never make one.
    set: Mutex<Option<Tensor<T, D>>>,
    persistent: bool,
}

/// A value that references may show, and the one that came after it.
struct Version<T, D> {
    value: Tensor<T, D>,
    next: OnceLock<Box<Version<T, D>>>,
}

impl<T, D> Version<T, D> {
    fn new(value: Tensor<T, D>) -> Self {
        let next = OnceLock::new();
        Self { value, next }
    }

    fn newest(&self) -> &Self {
        let mut version = self;
        while let Some(next) = version.next.get() {
            version = next;
        }
        version
    }
}

/// One after the other: a long chain would overflow the stack.
impl<T, D> Drop for Version<T, D> {
    fn drop(&mut self) {
        let mut next = self.next.take();
        while let Some(mut version) = next {
            next = version.next.take();
        }
    }
}

impl<T: Element, D: Dimension> Buffer<T, D> {
    /// A buffer with this value, which is saved with the state.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::Buffer;
    ///
    /// let mean = Buffer::new(array![0.0, 0.0]);
    /// assert!(mean.shape() == [2] && !mean.requires_grad());
    /// ```
    pub fn new(value: Array<T, D>) -> Self {
        Self::of(value.into())
    }

    fn of(value: Tensor<T, D>) -> Self {
        Self {
            oldest: Version::new(value),
            set: Mutex::new(None),
            persistent: true,
        }
    }

    /// Whether it is saved with the state, as it is unless this says otherwise.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::{Buffer, Stateful};
    ///
    /// let (mean, cache) = (Buffer::new(array![0.0]), Buffer::new(array![0.0]).persistent(false));
    /// let state = (mean, cache).state_dict();
    /// assert_eq!(state.names().collect::<Vec<_>>(), ["0"]);
    /// ```
    #[must_use]
    pub fn persistent(mut self, persistent: bool) -> Self {
        self.persistent = persistent;
        self
    }

    /// The value: a handle that keeps it.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::Buffer;
    ///
    /// let count = Buffer::new(array![1.0]);
    /// let before = count.get();
    /// count.set(before.clone() + 1.0);
    /// assert_eq!((before.item(), count.get().item()), (1.0, 2.0));
    /// ```
    pub fn get(&self) -> Tensor<T, D> {
        let set = self.lock();
        let newest = || &self.oldest.newest().value;
        set.as_ref().unwrap_or_else(newest).clone()
    }

    /// Sets the value, without its history.
    ///
    /// # Panics
    /// If the shape is another.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::Buffer;
    ///
    /// let mean = Buffer::new(array![1.0, 2.0]);
    /// mean.set(array![3.0, 4.0]);
    /// assert_eq!(mean.to_array(), array![3.0, 4.0]);
    /// ```
    #[track_caller]
    pub fn set(&self, value: impl Into<Tensor<T, D>>) {
        let value = value.into().detach();
        assert!(
            value.shape() == self.oldest.value.shape(),
            "a value of shape {:?} for a buffer of shape {:?}",
            value.shape(),
            self.oldest.value.shape()
        );
        let former = self.lock().replace(value);
        drop(former);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Tensor<T, D>>> {
        lock(&self.set)
    }
}

fn lock<T, D>(set: &Mutex<Option<Tensor<T, D>>>) -> MutexGuard<'_, Option<Tensor<T, D>>> {
    // What is done under the lock does not panic half-way.
    set.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T, D> Deref for Buffer<T, D> {
    type Target = Tensor<T, D>;

    fn deref(&self) -> &Tensor<T, D> {
        let mut set = lock(&self.set);
        let newest = self.oldest.newest();
        match set.take() {
            None => &newest.value,
            Some(value) => {
                &newest
                    .next
                    .get_or_init(|| Box::new(Version::new(value)))
                    .value
            }
        }
    }
}

impl<T: Element, D: Dimension> Clone for Buffer<T, D> {
    fn clone(&self) -> Self {
        Self::of(self.get()).persistent(self.persistent)
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
    /// The lengths of the axes.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::{AnyBuffer, Buffer};
    ///
    /// assert_eq!(AnyBuffer::shape(&Buffer::new(array![[0.0, 0.0]])), [1, 2]);
    /// ```
    fn shape(&self) -> &[usize];

    /// A handle on the value.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::{AnyBuffer, Buffer};
    ///
    /// let any = Buffer::new(array![0.5_f32]).to_any();
    /// assert!(any.to_tensor::<f32>().is_some() && any.to_tensor::<f64>().is_none());
    /// ```
    fn to_any(&self) -> AnyTensor;

    /// Sets the value; false, and nothing is done, if element type or shape differ.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::{AnyBuffer, Buffer};
    ///
    /// let mean = Buffer::new(array![0.0_f32]);
    /// assert!(mean.set_any(&array![2.0_f32].into()));
    /// assert!(!mean.set_any(&array![3.0_f64].into()));
    /// assert_eq!(mean.to_array(), array![2.0]);
    /// ```
    #[must_use = "whether it fits"]
    fn set_any(&self, value: &AnyTensor) -> bool;

    /// Whether it is saved with the state.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::{AnyBuffer, Buffer};
    ///
    /// let cache = Buffer::new(array![0.0]).persistent(false);
    /// assert!(!cache.is_persistent());
    /// ```
    fn is_persistent(&self) -> bool;

    /// Lets go of former values, which references from before can no longer show.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::{AnyBuffer, Buffer};
    ///
    /// let mut mean = Buffer::new(array![1.0]);
    /// mean.set(array![2.0]);
    /// mean.settle();
    /// assert_eq!(mean.to_array(), array![2.0]);
    /// ```
    fn settle(&mut self);
}

mod sealed {
    pub trait Sealed {}
    impl<T, D> Sealed for super::Buffer<T, D> {}
}

impl<T: Element, D: Dimension + 'static> AnyBuffer for Buffer<T, D> {
    fn shape(&self) -> &[usize] {
        self.oldest.value.shape()
    }

    fn to_any(&self) -> AnyTensor {
        self.get().into()
    }

    fn set_any(&self, value: &AnyTensor) -> bool {
        let value = value
            .to_tensor::<T>()
            .and_then(Tensor::into_dimensionality::<D>);
        match value {
            Some(value) if value.shape() == self.oldest.value.shape() => self.set(value),
            _ => return false,
        }
        true
    }

    fn is_persistent(&self) -> bool {
        self.persistent
    }

    fn settle(&mut self) {
        self.oldest = Version::new(self.get());
        *self.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ndarray::{Array1, array};

    #[test]
    fn references_show_the_value_of_their_time() {
        let buffer = Buffer::new(array![1.0]);
        let first: &Tensor<f64, _> = &buffer;
        buffer.set(array![2.0]);
        let second: &Tensor<f64, _> = &buffer;
        buffer.set(array![3.0]);
        assert_eq!(
            [first.item(), second.item(), buffer.item()],
            [1.0, 2.0, 3.0]
        );
        assert_eq!(buffer.get().item(), 3.0);
    }

    #[test]
    fn values_that_nobody_looked_at_are_not_kept() {
        let mut buffer = Buffer::new(array![0.0]);
        for _ in 0..10 {
            buffer.set(buffer.get() + 1.0);
        }
        assert!(buffer.oldest.next.get().is_none());
        assert_eq!(buffer.item(), 10.0);
        assert!(buffer.oldest.next.get().is_some());
        buffer.settle();
        assert!(buffer.oldest.next.get().is_none());
        assert_eq!(buffer.item(), 10.0);
    }

    #[test]
    fn a_long_chain_of_versions_drops_on_a_small_stack() {
        let deep = || {
            let buffer = Buffer::new(array![0.0]);
            for _ in 0..1000 {
                buffer.set(&*buffer + 1.0);
            }
            let mut chain = Version::new(Tensor::from(array![0.0]));
            for _ in 0..200_000 {
                let below = std::mem::replace(&mut chain, Version::new(Tensor::from(array![0.0])));
                chain.next.get_or_init(|| Box::new(below));
            }
            drop(chain);
            buffer.item()
        };
        let thread = std::thread::Builder::new()
            .stack_size(256 << 10)
            .spawn(deep);
        assert_eq!(thread.unwrap().join().unwrap(), 1000.0);
    }

    #[test]
    fn other_threads_may_set_it() {
        let buffer = Buffer::new(Array1::zeros(100));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let buffer = &buffer;
                scope.spawn(move || {
                    for _ in 0..100 {
                        buffer.set(Array1::from_elem(100, f64::from(thread)));
                        let seen = buffer.view()[0];
                        assert!(buffer.get().view().iter().all(|x| (0.0..4.0).contains(x)));
                        assert!((0.0..4.0).contains(&seen));
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
