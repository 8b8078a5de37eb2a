//! The results of convolutions, while they are computed.

use ndarray::{Array4, ArrayView1};

use crate::checks::size;
use crate::element::Element;
use crate::memory;

/// An array of which the elements are still to be written: a vector without elements, so that after a panic only its
/// memory is dropped.
pub(super) struct Image<T> {
    shape: [usize; 4],
    pub(super) size: usize,
    pub(super) elements: Vec<T>,
}

/// A pointer to where several tasks write, each to its own elements.
pub(super) struct Start<T>(pub(super) *mut T);

// SAFETY: no two tasks write to one element, and none reads another's. The array is neither returned nor dropped before
// all tasks have ended, also if one panics: `split` waits for them.
unsafe impl<T: Send> Sync for Start<T> {}

impl<T: Element> Image<T> {
    #[track_caller]
    pub(super) fn new(shape: [usize; 4]) -> Self {
        let Some(size) = size(&shape) else {
            panic!("conv2d to shape {shape:?}: too many elements")
        };
        Self {
            shape,
            size,
            elements: memory::take(size),
        }
    }

    /// Returns a number for each channel as a slice.
    #[track_caller]
    pub(super) fn channels(&self, numbers: Option<&ArrayView1<'_, T>>) -> Option<Vec<T>> {
        let numbers = numbers?;
        assert!(
            numbers.len() == self.shape[1],
            "conv2d to shape {:?} with a bias of shape {:?}: the channels differ",
            self.shape,
            numbers.shape()
        );
        Some(numbers.to_vec())
    }

    /// Writes a number for each channel, or zeros, to all elements.
    pub(super) fn fill(&mut self, channels: Option<&[T]>) {
        self.elements.clear();
        let Some(channels) = channels else {
            return self.elements.resize(self.size, T::zero());
        };
        let [images, _, height, width] = self.shape;
        for channel in std::iter::repeat_n(channels, images).flatten() {
            self.elements
                .resize(self.elements.len() + height * width, *channel);
        }
    }

    pub(super) fn start(&mut self) -> Start<T> {
        Start(self.elements.as_mut_ptr())
    }

    /// Returns the array.
    ///
    /// # Safety
    /// All elements must have been written.
    pub(super) unsafe fn finish(mut self) -> Array4<T> {
        // SAFETY: there was room for all elements, and the caller has written them.
        unsafe {
            self.elements.set_len(self.size);
            Array4::from_shape_vec_unchecked(self.shape, self.elements)
        }
    }
}
