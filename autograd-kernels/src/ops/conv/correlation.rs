//! Sums of weights times shifted images: what `conv2d` computes, and its transpose.
//!
//! A task computes some lines of an image from [`Planes`] of it, in which neighboring pixels are contiguous whatever
//! stride, dilation and padding are, so that [`Tiles`] can be computed with registers of pixels.

use std::marker::PhantomData;
use std::ops::Range;

use super::along::{Along, COPY, images_at_once};
use super::geometry::Geometry;
use super::image::Start;
use super::planes::{LINE, Planes};
use super::tiles::{Summand, Tiles};
use crate::element::{Any, Element, Family};
use crate::memory;
use crate::parallel::{split, threads, worth};
use crate::registers::{Lanes, widest};

/// What is computed of each image and group.
pub(super) struct Correlation<'a> {
    shape: &'a Geometry,
    channels: usize,
    outputs: usize,
    /// The distances of outputs and of channels in the weights.
    weights: [usize; 2],
    /// The height and width of the result, and the distances there of lines and pixels.
    size: [usize; 2],
    steps: [usize; 2],
    /// The images and lines that a task has.
    planes: Planes,
    /// The number of channels whose products are summed at once, and of the outputs of a task.
    channels_at_once: usize,
    outputs_at_once: usize,
    lines: usize,
    parts: Vec<Part>,
}

/// Pixels whose sums have the same summands.
struct Part {
    lines: Range<usize>,
    pixels: Range<usize>,
    /// The index in the result of the first pixel.
    start: usize,
    /// The summands of the first channel.
    summands: Vec<Summand>,
}

/// What a thread computes at once.
struct Task {
    images: Range<usize>,
    group: usize,
    lines: Range<usize>,
    outputs: Range<usize>,
}

/// The arguments of [`Correlation::run`].
struct Call<'a, T> {
    x: &'a [T],
    weight: &'a [T],
    bias: Option<&'a [T]>,
    to: &'a Start<T>,
}

struct Calls<'a>(PhantomData<&'a ()>);

impl<'a> Family for Calls<'a> {
    type Of<T: Element> = Call<'a, T>;
}

/// The bytes of the copies of a task: a quarter of what a usual second cache holds.
const BLOCK: usize = 1 << 18;

/// The products that are summed before sums are written: sums of more are added up in the result.
const SUMMANDS: usize = 320;

/// The outputs that are worth copies of their own.
const OUTPUTS: usize = 32;

impl<'a> Correlation<'a> {
    /// Returns what `conv2d` computes.
    pub(super) fn of_images<T>(shape: &'a Geometry) -> Self {
        Self::new::<T>(
            shape,
            [shape.channels, shape.outputs],
            [shape.input, shape.output],
            [shape.summands(), shape.kernel_pixels()],
            [0, 1].map(|axis| Along::images(shape, axis)),
        )
    }

    /// Returns what the gradient of `conv2d` for the images is.
    pub(super) fn of_outputs<T>(shape: &'a Geometry) -> Self {
        Self::new::<T>(
            shape,
            [shape.outputs, shape.channels],
            [shape.output, shape.input],
            [shape.kernel_pixels(), shape.summands()],
            [0, 1].map(|axis| Along::outputs(shape, axis)),
        )
    }

    fn new<T>(
        shape: &'a Geometry,
        [channels, outputs]: [usize; 2],
        [from, size]: [[usize; 2]; 2],
        weights: [usize; 2],
        [rows, columns]: [Along; 2],
    ) -> Self {
        let (batch, kernel) = (shape.batch.max(1), shape.kernel_pixels());
        let times = (channels * kernel).div_ceil(SUMMANDS).max(1);
        let channels_at_once = channels.div_ceil(times);
        let room = BLOCK / size_of::<T>() / channels_at_once.max(1);
        let lanes = LINE / size_of::<T>();
        let images = images_at_once([rows, columns], outputs, lanes, room);
        let images = batch.div_ceil(batch.div_ceil(images));
        // The tasks that an image should have, if there are too few images for all threads.
        let tasks = if threads() > 1 { 2 * threads() } else { 1 };
        let tasks = tasks.div_ceil((batch.div_ceil(images) * shape.groups).max(1));
        let output_blocks = tasks.min(outputs / OUTPUTS).max(1);
        let (down, across) = if images > 1 {
            (rows.separate(rows.pixels), columns.separate(columns.pixels))
        } else {
            let across = columns.columns(kernel * outputs);
            let room = room / across.size().max(1);
            (rows.rows(room, tasks.div_ceil(output_blocks)), across)
        };
        let planes = Planes {
            size: from,
            images,
            rows: down,
            columns: across,
        };
        let mut parts = Vec::with_capacity(1);
        for row in rows.classes() {
            for column in columns.classes() {
                let mut summands = Vec::with_capacity(kernel);
                for i in rows.elements(&row) {
                    summands.extend(columns.elements(&column).map(|j| Summand {
                        x: planes.offset([i, j]),
                        weight: i * shape.kernel[1] + j,
                    }));
                }
                parts.push(Part {
                    lines: row.pixels.clone(),
                    pixels: column.pixels,
                    start: row.start * size[1] + column.start,
                    summands,
                });
            }
        }
        Self {
            shape,
            channels,
            outputs,
            weights,
            size,
            steps: [rows.step, columns.step],
            planes,
            channels_at_once,
            outputs_at_once: outputs.div_ceil(output_blocks).next_multiple_of(8).max(1),
            lines: rows.pixels,
            parts,
        }
    }

    /// Returns whether each pixel of the result is in a part.
    pub(super) fn covers_all(&self) -> bool {
        let pixels = |part: &Part| part.lines.len() * part.pixels.len();
        self.parts.iter().map(pixels).sum::<usize>() == self.size[0] * self.size[1]
    }

    /// Writes the sums, plus a bias for each output, of all parts.
    ///
    /// # Safety
    /// There must be room for the result, which no other code reads or writes.
    pub(super) unsafe fn run<T: Element>(
        &self,
        x: &[T],
        weight: &[T],
        bias: Option<&[T]>,
        to: &Start<T>,
    ) {
        let call = Call {
            x,
            weight,
            bias,
            to,
        };
        // SAFETY: passed on.
        unsafe {
            match T::into_any::<Calls>(call) {
                Any::F32(call) => self.singles(&call),
                Any::F64(call) => self.doubles(&call),
            }
        }
    }

    /// Compiled here, not in each crate that uses it. So is the next.
    unsafe fn singles(&self, call: &Call<'_, f32>) {
        // SAFETY: passed on.
        unsafe { self.call(call) }
    }

    unsafe fn doubles(&self, call: &Call<'_, f64>) {
        // SAFETY: passed on.
        unsafe { self.call(call) }
    }

    unsafe fn call<T: Lanes>(&self, call: &Call<'_, T>) {
        let images = self.planes.images;
        let lines = self.planes.rows.pixels;
        let line_blocks = self.lines.div_ceil(lines);
        let output_blocks = self.outputs.div_ceil(self.outputs_at_once);
        let products = |part: &Part| part.summands.len() * part.pixels.len();
        let products: usize = self.parts.iter().map(products).sum();
        let work = products * self.channels * images * lines;
        let work = work * self.outputs_at_once.min(self.outputs);
        let work = work + self.channels * self.planes.channel::<T>() * COPY;
        let image_blocks = self.shape.batch.div_ceil(images);
        let tasks = image_blocks * self.shape.groups * line_blocks * output_blocks;
        split(tasks, worth::CONV.div_ceil(work.max(1)), |tasks| {
            let mut memory = memory::take(self.planes.room::<T>(self.channels_at_once));
            for task in tasks {
                let (task, output) = (
                    task / output_blocks,
                    task % output_blocks * self.outputs_at_once,
                );
                let (task, line) = (task / line_blocks, task % line_blocks * lines);
                let (image, group) = (task / self.shape.groups * images, task % self.shape.groups);
                let task = Task {
                    images: image..self.shape.batch.min(image + images),
                    group,
                    lines: line..self.lines.min(line + lines),
                    outputs: output..self.outputs.min(output + self.outputs_at_once),
                };
                // SAFETY: passed on; a part of the result that no other task writes to.
                unsafe { self.task(&task, call, &mut memory) };
            }
            memory::give_back(memory);
        });
    }

    /// Computes a task.
    ///
    /// # Safety
    /// There must be room for the result, in which no other code reads or writes the pixels of the task.
    unsafe fn task<T: Lanes>(&self, task: &Task, call: &Call<'_, T>, memory: &mut Vec<T>) {
        let groups = self.shape.groups;
        let size = self.planes.size[0] * self.planes.size[1];
        let first = (task.images.start * groups + task.group) * self.channels;
        let output = task.group * self.outputs + task.outputs.start;
        let bias = call.bias.map(|bias| &bias[output..][..task.outputs.len()]);
        let output =
            (task.images.start * groups * self.outputs + output) * self.size[0] * self.size[1];
        let weight = task.group * self.shape.outputs * self.shape.summands()
            + task.outputs.start * self.weights[0];
        // Not used if there is one line, as with a stride that is larger than an image.
        let line = self.size[1].wrapping_mul(self.steps[0]);
        let pitch = self.planes.pitch();
        let mut channel = 0;
        loop {
            let channels = self.channels_at_once.min(self.channels - channel);
            let x = &call.x[(first + channel) * size..];
            let images = [task.images.len(), groups * self.channels * size];
            let copies = self
                .planes
                .copy(x, images, channels, task.lines.start, memory);
            for part in &self.parts {
                let lines =
                    task.lines.start.max(part.lines.start)..task.lines.end.min(part.lines.end);
                if lines.is_empty() {
                    continue;
                }
                let from = (lines.start - task.lines.start) * pitch + part.pixels.start;
                let start = part.start + (lines.start - part.lines.start) * line;
                let mut tiles = Tiles {
                    x: copies[from..].as_ptr(),
                    weights: call
                        .weight
                        .as_ptr()
                        .wrapping_add(weight + channel * self.weights[1]),
                    summands: &part.summands,
                    channels,
                    of_channels: [self.planes.channel::<T>(), self.weights[1]],
                    weight: self.weights[0],
                    outputs: task.outputs.len(),
                    lines: lines.len(),
                    width: part.pixels.len(),
                    pitch,
                    bias: bias.filter(|_| channel == 0),
                    adds: channel > 0,
                    result: call.to.0.wrapping_add(output + start),
                    output: self.size[0] * self.size[1],
                    line,
                    step: self.steps[1],
                };
                if tiles.width == pitch && line == pitch && tiles.step == 1 {
                    // The lines of an image are one.
                    tiles.width = pitch * lines.len();
                    tiles.pitch = tiles.width;
                    tiles.lines = task.images.len();
                    tiles.line = groups * self.outputs * tiles.output;
                }
                // SAFETY: there are copies for all pixels of the lines, weights for all outputs and channels, and the
                // pixels are the caller's, who guarantees room for them; sums are added only to what the first channels
                // wrote.
                unsafe { widest(tiles) };
            }
            channel += channels;
            if channel == self.channels {
                return;
            }
        }
    }
}
