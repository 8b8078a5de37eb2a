//! Convolutions of images, computed in registers.
//!
//! No matrix of windows is built. [`planes`] copies some lines of some channels, with the padding around them, so that
//! what neighboring outputs see under an element of the kernel is contiguous, whatever the stride ([`along`]). From
//! these copies [`correlation`] computes images in [`tiles`] of several outputs and registers of pixels: `conv2d`, and
//! `conv_transpose2d`, its transpose. [`weights`] computes `conv2d_weight`. Each of the three is linear in the others,
//! and they are each other's gradients.
//!
//! # The order of sums
//!
//! Tasks, threads and registers share out the results, never the summands of one sum, whose order depends on the shapes
//! alone; and each product is added in one rounding. So results have the same bits on every processor and any number of
//! threads. A pixel sums blocks of channels: the sum of each begins with 0 and follows channels, then rows and columns
//! of the kernel. The first is added to the bias, and the others to it. A weight sums parts of the batch, and each part
//! blocks of lines, which follow the pixels from left to right: one after the other, or, where there are few outputs,
//! every 16th of `f32` and every 8th of `f64` in a sum of its own.

#![allow(unsafe_code, reason = "each block has its argument")]
#![allow(
    clippy::inline_always,
    reason = "a kernel is compiled for a processor's instructions if it is inlined into a function that is"
)]

mod along;
mod correlation;
mod geometry;
mod image;
mod planes;
mod tiles;
mod weights;

use ndarray::{Array4, ArrayView1, ArrayView4, CowArray, Ix4};

use crate::element::Element;
use crate::loops::wide::zip_in_place;
use crate::memory;
use along::Along;
use correlation::Correlation;
pub use geometry::ConvOptions;
use geometry::Geometry;
pub(super) use geometry::output_length;
use image::{Image, Start};
use weights::Weights;

/// Returns the convolution of images of shape `[batch, channels, height, width]` with weights of shape `[outputs,
/// channels / groups, height, width]`, plus a bias for each output.
///
/// # Panics
/// If shapes and options do not fit, or the result has too many elements.
#[track_caller]
pub fn conv2d<T: Element>(
    x: &ArrayView4<'_, T>,
    weight: &ArrayView4<'_, T>,
    bias: Option<&ArrayView1<'_, T>>,
    options: &ConvOptions<2>,
) -> Array4<T> {
    let shape = Geometry::of_input(x.shape(), weight.shape(), options);
    let mut output = Image::new(shape.output_shape());
    let bias = output.channels(bias);
    let (x, weight) = (x.as_standard_layout(), weight.as_standard_layout());
    let sums = Correlation::of_images::<T>(&shape);
    // SAFETY: there is room for the output, all of which is written.
    unsafe {
        sums.run(slice(&x), slice(&weight), bias.as_deref(), &output.start());
        output.finish()
    }
}

/// Returns the gradient of the images of [`conv2d`], of height and width `size`, where `grad` is the gradient of its
/// outputs, plus a bias for each channel.
///
/// # Panics
/// If shapes and options do not fit, or the outputs of `conv2d` of images of `size` do not have the shape of `grad`.
#[track_caller]
pub fn conv_transpose2d<T: Element>(
    grad: &ArrayView4<'_, T>,
    weight: &ArrayView4<'_, T>,
    bias: Option<&ArrayView1<'_, T>>,
    options: &ConvOptions<2>,
    size: [usize; 2],
) -> Array4<T> {
    let shape = Geometry::of_output(grad.shape(), weight.shape(), options, size);
    let mut image = Image::new(shape.input_shape());
    let bias = image.channels(bias);
    let (grad, weight) = (grad.as_standard_layout(), weight.as_standard_layout());
    let (grad, weight) = (slice(&grad), slice(&weight));
    let is_finite = |finite, weight: &T| finite & weight.is_finite();
    if !weight.iter().fold(true, is_finite) {
        image.fill(bias.as_deref());
        add_to_windows(&shape, grad, weight, &mut image.elements);
        // SAFETY: it was filled.
        return unsafe { image.finish() };
    }
    let sums = Correlation::of_outputs::<T>(&shape);
    if !sums.covers_all() {
        image.fill(bias.as_deref());
    }
    // SAFETY: there is room for the image, of which all is written that was not filled.
    unsafe {
        sums.run(grad, weight, bias.as_deref(), &image.start());
        image.finish()
    }
}

/// Adds the weights times each gradient to its window. [`Correlation`] also adds products with zeros around the
/// gradients, which are NaN if a weight is not finite.
fn add_to_windows<T: Element>(shape: &Geometry, grad: &[T], weight: &[T], image: &mut [T]) {
    let [rows, columns] = [0, 1].map(|axis| Along::images(shape, axis));
    let [height, width] = shape.input;
    let planes = grad.chunks_exact(shape.output_pixels());
    for (index, grad) in planes.enumerate() {
        let (task, output) = (index / shape.outputs, index % shape.outputs);
        let output = task % shape.groups * shape.outputs + output;
        let weight = &weight[output * shape.summands()..][..shape.summands()];
        for (summand, &weight) in weight.iter().enumerate() {
            let (channel, element) = (
                summand / shape.kernel_pixels(),
                summand % shape.kernel_pixels(),
            );
            let [i, j] = [element / shape.kernel[1], element % shape.kernel[1]];
            let image = &mut image[(task * shape.channels + channel) * height * width..];
            for (line, y) in rows.seen(i, height) {
                for (pixel, x) in columns.seen(j, width) {
                    image[y * width + x] += weight * grad[line * shape.output[1] + pixel];
                }
            }
        }
    }
}

/// Returns the gradient of the weights of [`conv2d`], of height and width `size`.
///
/// # Panics
/// If shapes and options do not fit, or the outputs of `conv2d` of `x` do not have the shape of `grad`.
#[track_caller]
pub fn conv2d_weight<T: Element>(
    x: &ArrayView4<'_, T>,
    grad: &ArrayView4<'_, T>,
    options: &ConvOptions<2>,
    size: [usize; 2],
) -> Array4<T> {
    let shape = Geometry::of_weight(x.shape(), grad.shape(), options, size);
    let mut weight = Image::new(shape.weight_shape());
    let (x, grad) = (x.as_standard_layout(), grad.as_standard_layout());
    let sums = Weights::new::<T>(&shape);
    if sums.chunks() == 0 {
        weight.fill(None);
    }
    let size = weight.size;
    let mut others: Vec<T> = memory::take(size * sums.chunks().saturating_sub(1));
    let mut parts = vec![weight.start()];
    parts.extend(
        (1..sums.chunks()).map(|part| Start(others.as_mut_ptr().wrapping_add((part - 1) * size))),
    );
    // SAFETY: there is room for all parts, each of which is written as a whole.
    unsafe {
        sums.run(slice(&x), slice(&grad), &parts);
        others.set_len(size * sums.chunks().saturating_sub(1));
    }
    // SAFETY: it was filled or written.
    let mut weight = unsafe { weight.finish() };
    if let Some(weight) = weight.as_slice_mut() {
        for other in others.chunks_exact(size.max(1)) {
            zip_in_place(weight, other, |weight, other| weight + other);
        }
    }
    memory::give_back(others);
    weight
}

fn slice<'a, T: Element>(image: &'a CowArray<'_, T, Ix4>) -> &'a [T] {
    // INVARIANT: it was given the standard layout.
    image.as_slice().expect("one piece")
}

#[cfg(test)]
mod tests;
