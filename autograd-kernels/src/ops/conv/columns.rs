//! The windows of output pixels as columns of a matrix, and back.

use std::ops::Range;

use super::geometry::Geometry;
use crate::element::Element;
use crate::matrix::gemm::Operand;

/// Returns the columns for some lines of the output: a row for each element of the kernel in each of `channels`, a
/// column for each pixel.
pub(super) fn gather<T: Element>(
    shape: &Geometry,
    x: &[T],
    image: usize,
    channels: Range<usize>,
    lines: Range<usize>,
    memory: &mut Vec<T>,
) -> Operand<T> {
    let size = shape.input[0] * shape.input[1];
    let x = &x[image * shape.input_len()..][..shape.input_len()];
    if shape.is_plain() {
        let start = channels.start * size + lines.start * shape.input[1];
        return Operand {
            start: x[start..].as_ptr(),
            strides: [size.cast_signed(), 1],
        };
    }
    let pixels = lines.len() * shape.output[1];
    memory.clear();
    memory.reserve(channels.len() * shape.kernel_pixels() * pixels);
    for channel in channels {
        let x = &x[channel * size..][..size];
        for (i, j) in kernel(shape) {
            let (seen, first) = seen_columns(shape, j);
            for line in lines.clone() {
                let Some(y) = seen_line(shape, i, line) else {
                    memory.resize(memory.len() + shape.output[1], T::zero());
                    continue;
                };
                let row = &x[y * shape.input[1]..][..shape.input[1]];
                memory.resize(memory.len() + seen.start, T::zero());
                match shape.options.stride[1] {
                    1 => memory.extend_from_slice(&row[first..first + seen.len()]),
                    stride => {
                        let elements = row[first..].iter().step_by(stride);
                        memory.extend(elements.take(seen.len()));
                    }
                }
                memory.resize(memory.len() + shape.output[1] - seen.end, T::zero());
            }
        }
    }
    Operand {
        start: memory.as_ptr(),
        strides: [pixels.cast_signed(), 1],
    }
}

/// Adds each element of the columns for some lines to its pixel.
pub(super) fn add<T: Element>(
    shape: &Geometry,
    columns: &[T],
    lines: Range<usize>,
    channels: &mut [T],
) {
    let size = shape.input[0] * shape.input[1];
    let width = shape.output[1];
    let mut rows = columns.chunks_exact(width.max(1));
    for x in channels.chunks_exact_mut(size.max(1)) {
        for (i, j) in kernel(shape) {
            let (seen, first) = seen_columns(shape, j);
            for line in lines.clone() {
                let Some(row) = rows.next() else { return };
                let Some(y) = seen_line(shape, i, line) else {
                    continue;
                };
                let to = &mut x[y * shape.input[1]..][..shape.input[1]];
                let to = to.iter_mut().skip(first).step_by(shape.options.stride[1]);
                for (to, &element) in to.zip(&row[seen.clone()]) {
                    *to += element;
                }
            }
        }
    }
}

/// Returns the indices of the kernel's elements.
fn kernel(shape: &Geometry) -> impl Iterator<Item = (usize, usize)> {
    let [height, width] = shape.kernel;
    (0..height).flat_map(move |i| (0..width).map(move |j| (i, j)))
}

/// Returns the line of the image under line `i` of the kernel for a line of the output; `None` if it is padding.
fn seen_line(shape: &Geometry, i: usize, line: usize) -> Option<usize> {
    let options = &shape.options;
    let y = line * options.stride[0] + i * options.dilation[0];
    let y = y.checked_sub(options.padding[0])?;
    (y < shape.input[0]).then_some(y)
}

/// Returns for which pixels of a line column `j` of the kernel is on the image, and the first column of the image
/// under it.
fn seen_columns(shape: &Geometry, j: usize) -> (Range<usize>, usize) {
    let options = &shape.options;
    let (stride, padding) = (options.stride[1], options.padding[1]);
    let offset = j * options.dilation[1];
    let before = padding.saturating_sub(offset).div_ceil(stride);
    let after = (shape.input[1] + padding)
        .saturating_sub(offset)
        .div_ceil(stride);
    let end = after.min(shape.output[1]);
    let start = before.min(end);
    // Beyond the line if nothing of it is seen.
    let first = (start * stride + offset).saturating_sub(padding);
    (start..end, first.min(shape.input[1]))
}
