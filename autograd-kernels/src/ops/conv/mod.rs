//! Convolutions of images, as products of matrices.
//!
//! The window of each output pixel becomes a column of a matrix; the outputs are the weights times the columns. Only
//! some rows of the output are computed at a time, as many as have columns that fit into the cache. `conv_transpose2d`
//! and `conv2d_weight` use the same columns: each of the three is linear in the others, and they are each other's
//! gradients.

#![allow(unsafe_code, reason = "each block has its argument")]

mod columns;
mod geometry;

use ndarray::{Array4, ArrayView1, ArrayView4, CowArray, Ix4};

use crate::checks::size;
use crate::element::Element;
use crate::matrix::gemm::{Operand, Product};
use crate::memory;
use crate::parallel::{split, worth};
pub use geometry::ConvOptions;
use geometry::Geometry;
pub(super) use geometry::output_length;

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
    let mut output = Image::new(shape.output_shape(), bias);
    let (x, weight) = (x.as_standard_layout(), weight.as_standard_layout());
    let beta = if bias.is_some() { T::one() } else { T::zero() };
    let (rows, blocks) = shape.blocks();
    let tasks = shape.batch * shape.groups * blocks;
    let to = &output.start();
    split(tasks, at_least(&shape, rows), |tasks| {
        let mut memory = Vec::new();
        for task in tasks {
            let (image, block) = (task / blocks, task % blocks);
            let group = image % shape.groups;
            let first = block * rows;
            let lines = first..shape.output[0].min(first + rows);
            let pixels = lines.len() * shape.output[1];
            let channels = 0..shape.channels;
            let columns = columns::gather(&shape, slice(&x), image, channels, lines, &mut memory);
            let product = Product {
                lengths: [shape.outputs, shape.summands(), pixels],
                alpha: T::one(),
                a: shape.weights(slice(&weight), group),
                b: columns,
                beta,
                c: shape.in_output(to.0, image, first),
                c_strides: [shape.output_pixels().cast_signed(), 1],
            };
            // SAFETY: the weights of a group, columns for its channels, and lines of its outputs, which no
            // other task writes to; they are initialized if there is a bias.
            unsafe { product.run() };
        }
    });
    // SAFETY: the tasks cover the output, and each wrote all of its part.
    unsafe { output.finish() }
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
    let mut image = Image::new(shape.input_shape(), bias);
    if bias.is_none() && !shape.is_plain() {
        image.fill(T::zero());
    }
    let (grad, weight) = (grad.as_standard_layout(), weight.as_standard_layout());
    let (rows, blocks) = shape.blocks();
    let to = &image.start();
    split(
        shape.batch * shape.groups,
        at_least(&shape, shape.output[0]),
        |tasks| {
            let mut memory: Vec<T> = Vec::new();
            for task in tasks {
                let channels = shape.in_input(to.0, task);
                for block in 0..blocks {
                    let first = block * rows;
                    let lines = first..shape.output[0].min(first + rows);
                    let pixels = lines.len() * shape.output[1];
                    memory.clear();
                    memory.reserve(shape.summands() * pixels);
                    let (c, stride) = if shape.is_plain() {
                        (shape.in_plain_input(channels, first), shape.output_pixels())
                    } else {
                        (memory.as_mut_ptr(), pixels)
                    };
                    let product = Product {
                        lengths: [shape.summands(), shape.outputs, pixels],
                        alpha: T::one(),
                        a: shape
                            .weights(slice(&weight), task % shape.groups)
                            .transposed(),
                        b: Operand {
                            start: shape.in_output(slice(&grad).as_ptr().cast_mut(), task, first),
                            strides: [shape.output_pixels().cast_signed(), 1],
                        },
                        beta: if shape.is_plain() && bias.is_some() {
                            T::one()
                        } else {
                            T::zero()
                        },
                        c,
                        c_strides: [stride.cast_signed(), 1],
                    };
                    // SAFETY: the weights and outputs of a group, and either room for all columns or, where
                    // columns are the image itself, lines of its channels, which are initialized if there is a
                    // bias; the channels of this image and group are written to by this task alone.
                    unsafe {
                        product.run();
                        if !shape.is_plain() {
                            memory.set_len(shape.summands() * pixels);
                            let channels =
                                std::slice::from_raw_parts_mut(channels, shape.input_len());
                            columns::add(&shape, &memory, lines, channels);
                        }
                    }
                }
            }
        },
    );
    // SAFETY: the tasks cover the image, which was filled where they do not write all of it.
    unsafe { image.finish() }
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
    let mut weight = Image::new(shape.weight_shape(), None);
    if shape.batch == 0 || shape.output_pixels() == 0 {
        weight.fill(T::zero());
    }
    let (x, grad) = (x.as_standard_layout(), grad.as_standard_layout());
    let (rows, blocks) = shape.blocks();
    let to = &weight.start();
    // Each task computes the weights of some channels of a group over all images.
    let work = shape.batch * shape.outputs * shape.output_pixels() * shape.kernel_pixels();
    split(
        shape.groups * shape.channels,
        worth::CONV.div_ceil(work.max(1)),
        |tasks| {
            let mut memory = Vec::new();
            let mut next = tasks.start;
            while next < tasks.end {
                let (group, first) = (next / shape.channels, next % shape.channels);
                let channels = first..shape.channels.min(first + tasks.end - next);
                next += channels.len();
                let from = first * shape.kernel_pixels();
                for step in 0..shape.batch * blocks {
                    let (image, block) = (step / blocks * shape.groups + group, step % blocks);
                    let lines = block * rows..shape.output[0].min((block + 1) * rows);
                    let pixels = lines.len() * shape.output[1];
                    let grad =
                        shape.in_output(slice(&grad).as_ptr().cast_mut(), image, lines.start);
                    let columns = columns::gather(
                        &shape,
                        slice(&x),
                        image,
                        channels.clone(),
                        lines,
                        &mut memory,
                    );
                    let product = Product {
                        lengths: [
                            shape.outputs,
                            pixels,
                            channels.len() * shape.kernel_pixels(),
                        ],
                        alpha: T::one(),
                        a: Operand {
                            start: grad,
                            strides: [shape.output_pixels().cast_signed(), 1],
                        },
                        b: columns.transposed(),
                        beta: if step > 0 { T::one() } else { T::zero() },
                        c: shape.in_weights(to.0, group, from),
                        c_strides: [shape.summands().cast_signed(), 1],
                    };
                    // SAFETY: lines of the gradients of a group and columns for the same pixels; the weights of
                    // these channels are written to by this task alone, first without being read.
                    unsafe { product.run() };
                }
            }
        },
    );
    // SAFETY: the tasks cover the weights, and each wrote all of its own unless it had nothing to sum, for
    // which the weights were filled.
    unsafe { weight.finish() }
}

/// Returns how many tasks of `rows` rows are worth a thread.
fn at_least(shape: &Geometry, rows: usize) -> usize {
    let work = shape.outputs * shape.summands() * rows.max(1) * shape.output[1];
    worth::CONV.div_ceil(work.max(1))
}

fn slice<'a, T: Element>(image: &'a CowArray<'_, T, Ix4>) -> &'a [T] {
    // INVARIANT: it was given the standard layout.
    image.as_slice().expect("one piece")
}

/// An array of which the elements are still to be written.
struct Image<T> {
    shape: [usize; 4],
    size: usize,
    elements: Vec<T>,
}

/// A pointer to where several tasks write, each to its own elements.
struct Start<T>(*mut T);

// SAFETY: no two tasks write to one element, and none reads another's.
unsafe impl<T: Send> Sync for Start<T> {}

impl<T: Element> Image<T> {
    /// Returns an image filled with a number for each channel, or not filled.
    #[track_caller]
    fn new(shape: [usize; 4], channels: Option<&ArrayView1<'_, T>>) -> Self {
        let Some(size) = size(&shape) else {
            panic!("conv2d to shape {shape:?}: too many elements")
        };
        let mut elements = memory::take(size);
        if let Some(channels) = channels {
            assert!(
                channels.len() == shape[1],
                "conv2d to shape {shape:?} with a bias of shape {:?}: the channels differ",
                channels.shape()
            );
            for _ in 0..shape[0] {
                for &channel in channels {
                    elements.resize(elements.len() + shape[2] * shape[3], channel);
                }
            }
        }
        Self {
            shape,
            size,
            elements,
        }
    }

    fn fill(&mut self, element: T) {
        self.elements.clear();
        self.elements.resize(self.size, element);
    }

    fn start(&mut self) -> Start<T> {
        Start(self.elements.as_mut_ptr())
    }

    /// Returns the array.
    ///
    /// # Safety
    /// All elements must have been written.
    unsafe fn finish(mut self) -> Array4<T> {
        // SAFETY: there was room for all elements, and the caller has written them.
        unsafe {
            self.elements.set_len(self.size);
            Array4::from_shape_vec_unchecked(self.shape, self.elements)
        }
    }
}

#[cfg(test)]
mod tests;
