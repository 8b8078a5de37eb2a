//! Pooling of images: the maximum of each window, or the mean.

use std::ops::Range;

use ndarray::{Array4, ArrayView4};

use super::conv::output_length;
use crate::element::Element;
use crate::loops::movement::full;
use crate::parallel::{split_mut, worth};

/// The windows of a pooling: their size, their distance, and the padding of the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool2dOptions {
    /// The height and width of a window.
    pub kernel: [usize; 2],
    /// The distance from one window to the next.
    pub stride: [usize; 2],
    /// The number of elements that are added on either side of an image.
    pub padding: [usize; 2],
}

impl Pool2dOptions {
    /// Returns the number of windows down and across images of a shape, which has four lengths; `None` if the images
    /// are empty or too small, a kernel or stride is 0, or a padding is more than half of the kernel.
    ///
    /// ```
    /// use pullback::kernels::Pool2dOptions;
    ///
    /// let windows = Pool2dOptions { kernel: [3, 3], stride: [2, 2], padding: [1, 1] };
    /// assert_eq!(windows.count(&[1, 3, 8, 6]), Some([4, 3]));
    /// assert_eq!(Pool2dOptions { padding: [2, 2], ..windows }.count(&[1, 3, 8, 6]), None);
    /// ```
    pub fn count(&self, shape: &[usize]) -> Option<[usize; 2]> {
        let mut count = [0; 2];
        for (axis, count) in count.iter_mut().enumerate() {
            let (kernel, padding) = (self.kernel[axis], self.padding[axis]);
            let length = *shape.get(axis + 2)?;
            if length == 0 || padding > kernel / 2 {
                return None;
            }
            *count = output_length(length, kernel, self.stride[axis], padding, 1)?;
        }
        Some(count)
    }

    #[track_caller]
    fn counted(&self, name: &str, shape: &[usize]) -> [usize; 2] {
        let Some(count) = self.count(shape) else {
            let Self {
                kernel,
                stride,
                padding,
            } = self;
            panic!(
                "{name} of a tensor of shape {shape:?} with a kernel of {kernel:?}, a stride of {stride:?} and a \
                 padding of {padding:?}: they do not fit"
            )
        };
        count
    }

    /// Returns the elements, of `length` along an axis, that the window number `index` covers.
    fn seen(&self, axis: usize, index: usize, length: usize) -> Range<usize> {
        let start = index * self.stride[axis];
        let end = (start + self.kernel[axis]).saturating_sub(self.padding[axis]);
        start.saturating_sub(self.padding[axis])..end.min(length)
    }

    /// Returns the pixels of the window in a row and a column, by their index in the image.
    fn pixels(
        &self,
        [row, column]: [usize; 2],
        [height, width]: [usize; 2],
    ) -> impl Iterator<Item = usize> {
        let columns = self.seen(1, column, width);
        let rows = self.seen(0, row, height);
        rows.flat_map(move |row| columns.clone().map(move |column| row * width + column))
    }

    /// Returns 1 over the number of elements of a window.
    fn weight<T: Element>(&self) -> T {
        // In floats: a window may be larger than any image.
        let [height, width] = self.kernel.map(|length| length as f64);
        T::one() / T::from_f64(height * width)
    }
}

/// Returns the index of the maximum of each window, in its channel's row-major order: the first of several, or
/// the first that is NaN.
///
/// # Panics
/// If the windows do not fit.
#[track_caller]
pub fn max_pool2d_indices<T: Element>(
    x: &ArrayView4<'_, T>,
    windows: &Pool2dOptions,
) -> Array4<usize> {
    let [down, across] = windows.counted("max_pool2d", x.shape());
    let (batch, channels, height, width) = x.dim();
    let x = x.as_standard_layout();
    // INVARIANT: it was given the standard layout, here and below.
    let x = x.as_slice().expect("one piece");
    let mut indices = Array4::zeros((batch, channels, down, across));
    each(&mut indices, |channel, pixels| {
        let x = &x[channel * height * width..][..height * width];
        for (index, argmax) in pixels.iter_mut().enumerate() {
            let window = [index / across, index % across];
            let mut seen = windows.pixels(window, [height, width]);
            *argmax = seen.next().unwrap_or(0);
            for pixel in seen {
                if x[pixel] > x[*argmax] || (x[pixel].is_nan() && !x[*argmax].is_nan()) {
                    *argmax = pixel;
                }
            }
        }
    });
    indices
}

/// Returns the elements at `indices` of each channel.
///
/// # Panics
/// If the batch or the channels of `indices` are different, or an index is out of range.
#[track_caller]
pub fn gather2d<T: Element>(x: &ArrayView4<'_, T>, indices: &Array4<usize>) -> Array4<T> {
    let size: usize = x.shape()[2..].iter().product();
    check_indices("gather2d", x.shape(), indices, size);
    let pixels: usize = indices.shape()[2..].iter().product();
    let mut elements = full(indices.shape(), T::zero());
    let (x, indices) = (x.as_standard_layout(), indices.as_standard_layout());
    let x = x.as_slice().expect("one piece");
    let indices = indices.as_slice().expect("one piece");
    each(&mut elements, |channel, elements| {
        let x = &x[channel * size..][..size];
        let indices = &indices[channel * pixels..][..pixels];
        for (element, &index) in elements.iter_mut().zip(indices) {
            *element = x[index];
        }
    });
    elements
}

/// Returns images of height and width `size`, of zeros to which each element is added at its index: the reverse of
/// [`gather2d`].
///
/// # Panics
/// If the shapes differ, or an index is out of range.
#[track_caller]
pub fn max_unpool2d<T: Element>(
    elements: &ArrayView4<'_, T>,
    indices: &Array4<usize>,
    size: [usize; 2],
) -> Array4<T> {
    let (batch, channels, ..) = indices.dim();
    let mut image = full(&[batch, channels, size[0], size[1]], T::zero());
    assert!(
        elements.shape() == indices.shape(),
        "max_unpool2d of elements of shape {:?} with indices of shape {:?}",
        elements.shape(),
        indices.shape()
    );
    check_indices("max_unpool2d", image.shape(), indices, size[0] * size[1]);
    let pixels: usize = indices.shape()[2..].iter().product();
    let (elements, indices) = (elements.as_standard_layout(), indices.as_standard_layout());
    let elements = elements.as_slice().expect("one piece");
    let indices = indices.as_slice().expect("one piece");
    each(&mut image, |channel, image| {
        let range = channel * pixels..(channel + 1) * pixels;
        for (&element, &index) in elements[range.clone()].iter().zip(&indices[range]) {
            image[index] += element;
        }
    });
    image
}

/// Returns the mean of each window; the padding counts as zeros.
///
/// # Panics
/// If the windows do not fit.
#[track_caller]
pub fn avg_pool2d<T: Element>(x: &ArrayView4<'_, T>, windows: &Pool2dOptions) -> Array4<T> {
    let [down, across] = windows.counted("avg_pool2d", x.shape());
    let (batch, channels, height, width) = x.dim();
    let x = x.as_standard_layout();
    let x = x.as_slice().expect("one piece");
    let mut elements = full(&[batch, channels, down, across], T::zero());
    each(&mut elements, |channel, pixels| {
        let x = &x[channel * height * width..][..height * width];
        for (index, mean) in pixels.iter_mut().enumerate() {
            let window = [index / across, index % across];
            let seen = windows.pixels(window, [height, width]);
            *mean = seen.map(|pixel| x[pixel]).sum::<T>() * windows.weight();
        }
    });
    elements
}

/// Returns images of height and width `size`, the gradient of the input of [`avg_pool2d`]: each element, divided by
/// the size of a window, is added to the pixels of its window.
///
/// # Panics
/// If the windows do not fit, or their number is not that of the elements.
#[track_caller]
pub fn avg_pool2d_backward<T: Element>(
    elements: &ArrayView4<'_, T>,
    windows: &Pool2dOptions,
    size: [usize; 2],
) -> Array4<T> {
    let (batch, channels, down, across) = elements.dim();
    let shape = [batch, channels, size[0], size[1]];
    let counted = windows.counted("avg_pool2d_backward", &shape);
    assert!(
        counted == [down, across],
        "avg_pool2d_backward of a tensor of shape {:?} for {counted:?} windows",
        elements.shape()
    );
    let elements = elements.as_standard_layout();
    let elements = elements.as_slice().expect("one piece");
    let mut image = full(&shape, T::zero());
    each(&mut image, |channel, image| {
        let pixels = &elements[channel * down * across..][..down * across];
        for (index, &element) in pixels.iter().enumerate() {
            for pixel in windows.pixels([index / across, index % across], size) {
                image[pixel] += element * windows.weight();
            }
        }
    });
    image
}

/// Checks that `indices` are in channels of images of a shape, each of `size` pixels.
#[track_caller]
fn check_indices(name: &str, images: &[usize], indices: &Array4<usize>, size: usize) {
    assert!(
        images[..2] == indices.shape()[..2],
        "{name} of images of shape {images:?} with indices of shape {:?}",
        indices.shape()
    );
    if let Some(index) = indices.iter().find(|index| **index >= size) {
        panic!("{name} of images of shape {images:?}: the index {index} is out of range");
    }
}

/// Calls `work` with each channel and its number.
fn each<T: Send>(images: &mut Array4<T>, work: impl Fn(usize, &mut [T]) + Sync) {
    let channel: usize = images.shape()[2..].iter().product();
    let at_least = worth::POOLING.div_ceil(channel.max(1));
    // INVARIANT: callers have just made it.
    let elements = images.as_slice_mut().expect("a new array is one piece");
    split_mut(elements, channel, at_least, |first, channels| {
        for (index, pixels) in channels.chunks_exact_mut(channel.max(1)).enumerate() {
            work(first + index, pixels);
        }
    });
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    #[should_panic(
        expected = "gather2d of images of shape [1, 1, 1, 4]: the index 4 is out of range"
    )]
    fn an_index_out_of_range_is_refused_by_gather2d() {
        gather2d(
            &Array4::<f64>::ones((1, 1, 1, 4)).view(),
            &array![[[[0, 4]]]],
        );
    }

    #[test]
    #[should_panic(
        expected = "max_unpool2d of images of shape [1, 1, 1, 3]: the index 3 is out of range"
    )]
    fn an_index_out_of_range_is_refused_by_max_unpool2d() {
        max_unpool2d(
            &Array4::<f64>::ones((1, 1, 1, 2)).view(),
            &array![[[[0, 3]]]],
            [1, 3],
        );
    }

    #[test]
    fn a_window_of_more_elements_than_can_be_counted_has_a_mean() {
        let windows = Pool2dOptions {
            kernel: [(1 << 33) + 1; 2],
            stride: [1, 1],
            padding: [1 << 32; 2],
        };
        let mean = avg_pool2d(&Array4::<f64>::ones((1, 1, 1, 1)).view(), &windows);
        let side = 8_589_934_593.0;
        assert_eq!(mean, array![[[[1.0 / (side * side)]]]]);
    }
}
