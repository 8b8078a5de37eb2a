//! Pooling of images: the maximum of each window, or the mean.

#![allow(
    clippy::inline_always,
    reason = "a loop is compiled for an instruction set if it is inlined into a function that is"
)]

use std::hint::select_unpredictable;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use ndarray::{Array4, ArrayView4};

use super::conv::output_length;
use crate::element::Element;
use crate::loops::movement::filled;
use crate::loops::wide::{Loop, compiled, set};
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

    /// Returns, for each element of a row of a window that is on an image of some width, the windows of a line for
    /// which it is, and the column that the first of them covers with it.
    fn elements(&self, width: usize, across: usize) -> impl Iterator<Item = (Range<usize>, usize)> {
        let (kernel, stride, padding) = (self.kernel[1], self.stride[1], self.padding[1]);
        let first = padding.saturating_sub((across - 1) * stride);
        let mut windows = 0..across;
        let elements = (first..kernel.min(padding + width)).map(move |element| {
            // No divisions, which would take most of the time of a short line.
            while windows.start * stride + element < padding {
                windows.start += 1;
            }
            while windows.start > 0 && (windows.start - 1) * stride + element >= padding {
                windows.start -= 1;
            }
            while (windows.end - 1) * stride + element >= padding + width {
                windows.end -= 1;
            }
            let column = windows.start * stride + element - padding;
            (windows.clone(), column)
        });
        elements.filter(|(windows, _)| !windows.is_empty())
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
    let shape = [batch, channels, down, across];
    images(&shape, 2 * across, |channel, indices, line| {
        compiled(Maxima {
            windows,
            x: &x[channel * height * width..][..height * width],
            width,
            indices,
            across,
            line,
        });
    })
}

/// The maxima of the windows of a channel: the elements of a window one after the other, for all windows of a line.
struct Maxima<'a, T> {
    windows: &'a Pool2dOptions,
    x: &'a [T],
    width: usize,
    indices: &'a mut [usize],
    across: usize,
    line: &'a mut [T],
}

impl<T: Element> Loop for Maxima<'_, T> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        let (height, width) = (self.x.len() / self.width, self.width);
        let (stride, padding) = (self.windows.stride[1], self.windows.padding[1]);
        let (largest, others) = self.line.split_at_mut(self.across);
        for (line, indices) in self.indices.chunks_exact_mut(self.across).enumerate() {
            let rows = self.windows.seen(0, line, height);
            largest.fill(T::neg_infinity());
            for (window, index) in indices.iter_mut().enumerate() {
                *index = rows.start * width + (window * stride).saturating_sub(padding);
            }
            for row in rows {
                for (windows, column) in self.windows.elements(width, self.across) {
                    let first = row * width + column;
                    let mut others_are = &self.x[first..];
                    if stride > 1 {
                        // Neighbors can be compared in registers.
                        for (window, other) in others[..windows.len()].iter_mut().enumerate() {
                            *other = self.x[first + window * stride];
                        }
                        others_are = others;
                    }
                    let (largest, indices) = (&mut largest[windows.clone()], &mut indices[windows]);
                    let others = others_are.iter().zip((first..).step_by(stride));
                    for ((largest, index), (&x, at)) in largest.iter_mut().zip(indices).zip(others)
                    {
                        // NaN is larger than all numbers.
                        let is_larger = (x > *largest) | (x.is_nan() & !largest.is_nan());
                        *largest = select_unpredictable(is_larger, x, *largest);
                        *index = select_unpredictable(is_larger, at, *index);
                    }
                }
            }
        }
    }
}

/// Returns the elements at `indices` of each channel.
///
/// # Panics
/// If the batch or the channels of `indices` are different, or an index is out of range.
#[track_caller]
pub fn gather2d<T: Element>(x: &ArrayView4<'_, T>, indices: &Array4<usize>) -> Array4<T> {
    same_channels("gather2d", x.shape(), indices);
    let shape = x.shape();
    let [size, pixels] = [shape, indices.shape()].map(|shape| shape[2..].iter().product::<usize>());
    let (x, indices) = (x.as_standard_layout(), indices.as_standard_layout());
    let x = x.as_slice().expect("one piece");
    let all = indices.as_slice().expect("one piece");
    let outside = Outside::default();
    let elements = images(indices.shape(), 0, |channel, elements, _: &mut [T]| {
        let x = &x[channel * size..][..size];
        let indices = &all[channel * pixels..][..pixels];
        for (element, &index) in elements.iter_mut().zip(indices) {
            match x.get(index) {
                Some(&x) => *element = x,
                None => outside.note(index),
            }
        }
    });
    outside.refuse("gather2d", shape);
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
    let shape = [batch, channels, size[0], size[1]];
    assert!(
        elements.shape() == indices.shape(),
        "max_unpool2d of elements of shape {:?} with indices of shape {:?}",
        elements.shape(),
        indices.shape()
    );
    let pixels: usize = indices.shape()[2..].iter().product();
    let (elements, indices) = (elements.as_standard_layout(), indices.as_standard_layout());
    let elements = elements.as_slice().expect("one piece");
    let indices = indices.as_slice().expect("one piece");
    let outside = Outside::default();
    let image = images(&shape, 0, |channel, image, _: &mut [T]| {
        let range = channel * pixels..(channel + 1) * pixels;
        for (&element, &index) in elements[range.clone()].iter().zip(&indices[range]) {
            match image.get_mut(index) {
                Some(pixel) => *pixel += element,
                None => outside.note(index),
            }
        }
    });
    // Without pixels, no channel was looked at.
    if let (true, Some(&index)) = (image.is_empty(), indices.first()) {
        outside.note(index);
    }
    outside.refuse("max_unpool2d", &shape);
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
    let shape = [batch, channels, down, across];
    images(&shape, width, |channel, means, columns| {
        compiled(Means {
            windows,
            x: &x[channel * height * width..][..height * width],
            out: means,
            across,
            columns,
        });
    })
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
    images(&shape, size[1], |channel, image, columns| {
        compiled(Shares {
            windows,
            grads: &elements[channel * down * across..][..down * across],
            across,
            image,
            columns,
        });
    })
}

/// The means of the windows of a channel: the sums of the columns on the rows of a line of windows, then the sums of
/// the columns of each window.
struct Means<'a, T> {
    windows: &'a Pool2dOptions,
    x: &'a [T],
    /// Zeros.
    out: &'a mut [T],
    across: usize,
    columns: &'a mut [T],
}

impl<T: Element> Loop for Means<'_, T> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        let width = self.columns.len();
        for (line, means) in self.out.chunks_exact_mut(self.across).enumerate() {
            self.columns.fill(T::zero());
            for row in self.windows.seen(0, line, self.x.len() / width) {
                add(&mut *self.columns, self.x[row * width..].iter());
            }
            for (windows, column) in self.windows.elements(width, self.across) {
                let (means, columns) = (&mut means[windows], self.columns[column..].iter());
                match self.windows.stride[1] {
                    1 => add(means, columns),
                    stride => add(means, columns.step_by(stride)),
                }
            }
            for mean in means {
                *mean *= self.windows.weight();
            }
        }
    }
}

/// The gradient of [`Means`].
struct Shares<'a, T> {
    windows: &'a Pool2dOptions,
    grads: &'a [T],
    across: usize,
    /// Zeros.
    image: &'a mut [T],
    columns: &'a mut [T],
}

impl<T: Element> Loop for Shares<'_, T> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        let width = self.columns.len();
        let height = self.image.len() / width;
        for (line, grads) in self.grads.chunks_exact(self.across).enumerate() {
            self.columns.fill(T::zero());
            for (windows, column) in self.windows.elements(width, self.across) {
                let columns = &mut self.columns[column..];
                let grads = grads[windows].iter();
                match self.windows.stride[1] {
                    1 => add(columns, grads),
                    stride => add(columns.iter_mut().step_by(stride), grads),
                }
            }
            for column in &mut *self.columns {
                *column *= self.windows.weight();
            }
            for row in self.windows.seen(0, line, height) {
                add(&mut self.image[row * width..][..width], self.columns.iter());
            }
        }
    }
}

/// Adds numbers to others.
#[cfg_attr(optimized, inline(always))]
fn add<'a, T: Element>(
    to: impl IntoIterator<Item = &'a mut T>,
    numbers: impl Iterator<Item = &'a T>,
) {
    for (to, &number) in to.into_iter().zip(numbers) {
        *to += number;
    }
}

#[track_caller]
fn same_channels(name: &str, images: &[usize], indices: &Array4<usize>) {
    assert!(
        images[..2] == indices.shape()[..2],
        "{name} of images of shape {images:?} with indices of shape {:?}",
        indices.shape()
    );
}

/// An index that was out of range, on any thread.
#[derive(Default)]
struct Outside(Mutex<Option<usize>>);

impl Outside {
    #[cold]
    fn note(&self, index: usize) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(index);
    }

    #[track_caller]
    fn refuse(self, name: &str, images: &[usize]) {
        if let Some(index) = self.0.into_inner().unwrap_or_else(PoisonError::into_inner) {
            panic!("{name} of images of shape {images:?}: the index {index} is out of range");
        }
    }
}

/// The elements of a line that are not worth an allocation.
const FEW: usize = 32;

/// Returns images of a shape: `work` is called with each channel, its number, its elements, which are zeros, and room for
/// so many elements.
#[track_caller]
fn images<T: Copy + Default + Send, U: Element>(
    shape: &[usize],
    room: usize,
    work: impl Fn(usize, &mut [T], &mut [U]) + Sync,
) -> Array4<T> {
    filled(shape, |images| {
        if images.is_empty() {
            return;
        }
        let channel: usize = shape[2..].iter().product();
        let at_least = worth::POOLING.div_ceil(channel);
        split_mut(images, channel, at_least, |first, channels| {
            let (mut few, mut many) = ([U::zero(); FEW], Vec::new());
            let line = if room <= FEW {
                &mut few[..room]
            } else {
                many.resize(room, U::zero());
                &mut many[..]
            };
            for (index, pixels) in channels.chunks_exact_mut(channel).enumerate() {
                work(first + index, set(T::default(), pixels), line);
            }
        });
    })
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::testing::{Lengths, numbers};

    /// Geometries of all kinds, with equal elements and NaN.
    #[test]
    fn random_pools_are_those_of_each_window() {
        let mut lengths = Lengths::new(3);
        for seed in 0..300 {
            let kernel = [1, 1].map(|least| least + lengths.choose(4));
            let windows = Pool2dOptions {
                kernel,
                stride: [1, 1].map(|least| least + lengths.choose(3)),
                padding: kernel.map(|kernel| lengths.choose(kernel / 2 + 1)),
            };
            let size = [1 + lengths.choose(9), lengths.pick(&[1, 2, 5, 17, 40])];
            let shape = [2, lengths.choose(3), size[0], size[1]];
            let Some([down, across]) = windows.count(&shape) else {
                continue;
            };
            let x = numbers(shape, f64::from(seed)).mapv(|x| match (x * 9.0).round() {
                4.0 => f64::NAN,
                x => x,
            });
            let seen = |line: usize, window: usize| {
                let pixels = ndarray::indices((kernel[0], kernel[1])).into_iter();
                pixels.filter_map(move |(i, j)| {
                    let row = (line * windows.stride[0] + i).checked_sub(windows.padding[0])?;
                    let column =
                        (window * windows.stride[1] + j).checked_sub(windows.padding[1])?;
                    (row < size[0] && column < size[1]).then_some((row, column))
                })
            };
            let shape = (shape[0], shape[1], down, across);
            let argmax = Array4::from_shape_fn(shape, |(n, c, line, window)| {
                let larger = |a: (usize, usize), b: (usize, usize)| {
                    let [x, y] = [a, b].map(|(row, column)| x[[n, c, row, column]]);
                    if y > x || (y.is_nan() && !x.is_nan()) {
                        b
                    } else {
                        a
                    }
                };
                let (row, column) = seen(line, window).reduce(larger).unwrap();
                row * size[1] + column
            });
            assert_eq!(
                max_pool2d_indices(&x.view(), &windows),
                argmax,
                "{windows:?}"
            );

            let x = x.mapv(|x| if x.is_nan() { 0.5 } else { x });
            let area = (kernel[0] * kernel[1]) as f64;
            let mean = Array4::from_shape_fn(shape, |(n, c, line, window)| {
                let sum: f64 = seen(line, window)
                    .map(|(row, column)| x[[n, c, row, column]])
                    .sum();
                sum / area
            });
            let found = avg_pool2d(&x.view(), &windows);
            assert!(
                (&found - &mean).iter().all(|off| off.abs() < 1e-12),
                "{windows:?}"
            );

            let grad = numbers(shape, 0.3);
            let mut image = Array4::<f64>::zeros(x.raw_dim());
            for ((n, c, line, window), grad) in grad.indexed_iter() {
                for (row, column) in seen(line, window) {
                    image[[n, c, row, column]] += grad / area;
                }
            }
            let found = avg_pool2d_backward(&grad.view(), &windows, size);
            assert!(
                (&found - &image).iter().all(|off| off.abs() < 1e-12),
                "{windows:?}"
            );
        }
    }

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
    #[should_panic(
        expected = "max_unpool2d of images of shape [1, 1, 0, 3]: the index 4 is out of range"
    )]
    fn an_index_for_images_without_pixels_is_refused_by_max_unpool2d() {
        max_unpool2d(
            &Array4::<f64>::ones((1, 1, 1, 1)).view(),
            &array![[[[4]]]],
            [0, 3],
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
