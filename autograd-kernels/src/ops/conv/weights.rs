//! The gradient of a convolution for its weights: sums of products over all pixels.
//!
//! A tile of several weights stays in registers while it walks over the pixels of some lines. It reads the images from
//! the same copies as the convolution. The lanes of a register are outputs: the gradients of the outputs are transposed
//! into panels, whose rows have those of one pixel. Where there are too few outputs to fill half of the largest
//! register, the lanes are pixels, and are added up at the end.

use std::marker::PhantomData;
use std::ops::Range;

use super::along::{Along, COPY};
use super::geometry::Geometry;
use super::image::Start;
use super::planes::Planes;
use crate::element::{Any, Element, Family};
use crate::memory;
use crate::parallel::{split, worth};
use crate::registers::{Kernel, Lanes, Register, in_memory, widest};

/// The tasks that the sums are cut into: some channels and outputs of a group, over some of the images.
pub(super) struct Weights<'a> {
    shape: &'a Geometry,
    planes: Planes,
    /// The number of channels and of outputs of a task.
    channels: usize,
    outputs: usize,
    lanes: LanesAre,
    /// What the weights of a task are multiplied with for the first pixel, in the copies.
    offsets: Vec<usize>,
    /// The number of parts that the images are cut into.
    chunks: usize,
}

/// What the lanes of a register are.
#[derive(Clone, Copy)]
enum LanesAre {
    /// The pixels of one output.
    Pixels,
    /// The outputs of a panel.
    Outputs,
}

/// The arguments of [`Weights::run`].
struct Call<'a, T> {
    x: &'a [T],
    grad: &'a [T],
    parts: &'a [Start<T>],
}

struct Calls<'a>(PhantomData<&'a ()>);

impl<'a> Family for Calls<'a> {
    type Of<T: Element> = Call<'a, T>;
}

/// The weights of an output in a task.
const SUMMANDS: usize = 512;

/// The bytes of the sums of a task, and of its copies of images.
const BLOCK: usize = 1 << 18;

/// Returns how many lanes sums have on any processor: those of the largest register.
const fn lanes<T>() -> usize {
    64 / size_of::<T>()
}

/// The pixels of a panel, which then remains in the first cache.
const PIXELS: usize = 192;

/// The least number of tasks, if there are so many images. It does not depend on the number of threads, as the sums
/// would.
const TASKS: usize = 4;

impl<'a> Weights<'a> {
    pub(super) fn new<T>(shape: &'a Geometry) -> Self {
        let [rows, columns] = [0, 1].map(|axis| Along::images(shape, axis));
        let blocks = shape.summands().div_ceil(SUMMANDS).max(1);
        let channels = shape.channels.div_ceil(blocks).max(1);
        let summands = channels * shape.kernel_pixels();
        let room = BLOCK / size_of::<T>();
        let outputs = room / summands / lanes::<T>() * lanes::<T>();
        let outputs = outputs.max(2 * lanes::<T>()).min(shape.outputs.max(1));
        let across = columns.columns(0);
        let planes = Planes {
            size: shape.input,
            images: 1,
            rows: rows.rows(room / (channels * across.size()).max(1), 1),
            columns: across,
        };
        let mut offsets = Vec::with_capacity(summands);
        for i in 0..shape.kernel[0] {
            offsets.extend((0..shape.kernel[1]).map(|j| planes.offset([i, j])));
        }
        let distance = planes.channel::<T>();
        for summand in offsets.len()..summands {
            offsets.push(offsets[summand - shape.kernel_pixels()] + distance);
        }
        let of_channels = shape.channels.div_ceil(channels);
        let tasks = shape.groups * of_channels * shape.outputs.div_ceil(outputs);
        let steps = shape.batch * shape.output[0].div_ceil(planes.rows.pixels);
        Self {
            shape,
            planes,
            channels,
            outputs,
            lanes: if shape.outputs <= lanes::<T>() / 2 {
                LanesAre::Pixels
            } else {
                LanesAre::Outputs
            },
            offsets,
            chunks: TASKS.div_ceil(tasks.max(1)).min(steps),
        }
    }

    /// Returns the number of parts of the sums, which have to be added; 0 if there is nothing to sum.
    pub(super) fn chunks(&self) -> usize {
        self.chunks
    }

    /// Writes the sums of each part.
    ///
    /// # Safety
    /// There must be room for the parts, which no other code reads or writes.
    pub(super) unsafe fn run<T: Element>(&self, x: &[T], grad: &[T], parts: &[Start<T>]) {
        let call = Call { x, grad, parts };
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
        let shape = self.shape;
        let of_channels = shape.channels.div_ceil(self.channels);
        let of_outputs = shape.outputs.div_ceil(self.outputs);
        let lines = self.planes.rows.pixels;
        let steps = shape.batch * shape.output[0].div_ceil(lines);
        let work = self.offsets.len() * self.outputs * lines * shape.output[1];
        let work = work + self.channels * self.planes.channel::<T>() * COPY;
        let work = work.saturating_mul(steps / self.chunks.max(1));
        let tasks = self.chunks * shape.groups * of_channels * of_outputs;
        split(tasks, worth::CONV.div_ceil(work.max(1)), |tasks| {
            let mut memory = memory::take(self.planes.room::<T>(self.channels));
            let mut sums = memory::take(self.sums::<T>(self.outputs));
            for task in tasks {
                let (task, chunk) = (task / self.chunks, task % self.chunks);
                let (task, output) = (task / of_outputs, task % of_outputs * self.outputs);
                let (group, channel) = (task / of_channels, task % of_channels * self.channels);
                let block = Block {
                    group,
                    channels: channel..shape.channels.min(channel + self.channels),
                    outputs: output..shape.outputs.min(output + self.outputs),
                };
                sums.clear();
                sums.resize(self.sums::<T>(block.outputs.len()), T::zero());
                for step in steps * chunk / self.chunks..steps * (chunk + 1) / self.chunks {
                    self.step(&block, step, call, &mut memory, &mut sums);
                }
                // SAFETY: the weights of a task in one part.
                unsafe { self.put(&block, &sums, &call.parts[chunk]) };
            }
            memory::give_back(memory);
            memory::give_back(sums);
        });
    }

    /// Returns the number of elements that the sums of some outputs have.
    fn sums<T>(&self, outputs: usize) -> usize {
        self.offsets.len()
            * match self.lanes {
                LanesAre::Pixels => outputs * lanes::<T>(),
                LanesAre::Outputs => outputs.next_multiple_of(lanes::<T>()),
            }
    }

    /// Adds the products of some lines of an image to the sums.
    fn step<T: Lanes>(
        &self,
        block: &Block,
        step: usize,
        call: &Call<'_, T>,
        memory: &mut Vec<T>,
        sums: &mut [T],
    ) {
        let shape = self.shape;
        let most = self.planes.rows.pixels;
        let blocks = shape.output[0].div_ceil(most);
        let (image, line) = (
            step / blocks * shape.groups + block.group,
            step % blocks * most,
        );
        let size = shape.input[0] * shape.input[1];
        let x = &call.x[(image * shape.channels + block.channels.start) * size..];
        let output = (image * shape.outputs + block.outputs.start) * shape.output_pixels();
        let tiles = Tiles {
            x: self
                .planes
                .copy(x, [1, 0], block.channels.len(), line, memory),
            offsets: &self.offsets[..block.channels.len() * shape.kernel_pixels()],
            pitch: self.planes.pitch(),
            grad: &call.grad[output + line * shape.output[1]..],
            output: shape.output_pixels(),
            outputs: block.outputs.len(),
            lines: most.min(shape.output[0] - line),
            width: shape.output[1],
            lanes: self.lanes,
            sums,
        };
        // SAFETY: the copies have what each weight sees under all pixels of the lines, for which there are gradients
        // of all outputs.
        unsafe { widest(tiles) };
    }

    /// Writes the sums of a task.
    unsafe fn put<T: Lanes>(&self, block: &Block, sums: &[T], to: &Start<T>) {
        let lanes = lanes::<T>();
        let summands = block.channels.len() * self.shape.kernel_pixels();
        let first = block.channels.start * self.shape.kernel_pixels();
        for (index, output) in block.outputs.clone().enumerate() {
            let output = block.group * self.shape.outputs + output;
            let to = to.0.wrapping_add(output * self.shape.summands() + first);
            for summand in 0..summands {
                let sum = match self.lanes {
                    LanesAre::Pixels => sums[(index * summands + summand) * lanes..][..lanes]
                        .iter()
                        .copied()
                        .sum(),
                    LanesAre::Outputs => {
                        sums[(index / lanes * summands + summand) * lanes + index % lanes]
                    }
                };
                // SAFETY: a weight of the task.
                unsafe { to.add(summand).write(sum) };
            }
        }
    }
}

/// The weights of a task.
struct Block {
    group: usize,
    channels: Range<usize>,
    outputs: Range<usize>,
}

/// The products of some lines of an image.
struct Tiles<'a, T> {
    x: &'a [T],
    offsets: &'a [usize],
    /// The distance of lines in the copies.
    pitch: usize,
    /// The gradients of the first output, and the distance of the next.
    grad: &'a [T],
    output: usize,
    outputs: usize,
    lines: usize,
    width: usize,
    lanes: LanesAre,
    /// For each panel, or each output, a row of lanes for each weight.
    sums: &'a mut [T],
}

/// The weights of a tile.
const ROWS: usize = 9;

/// The outputs and pixels that are transposed at once, in registers.
const SQUARE: usize = 4;

impl<T: Lanes> Kernel<T> for Tiles<'_, T> {
    #[cfg_attr(optimized, inline(always))]
    unsafe fn run<R: Register<Element = T>>(mut self) {
        // SAFETY: passed on.
        unsafe {
            match self.lanes {
                LanesAre::Pixels => self.with_pixels::<R>(),
                LanesAre::Outputs => self.with_outputs::<R>(),
            }
        }
    }
}

impl<T: Lanes> Tiles<'_, T> {
    #[cfg_attr(optimized, inline(always))]
    unsafe fn with_pixels<R: Register<Element = T>>(&mut self) {
        let lanes = lanes::<T>();
        let panel = self.offsets.len() * lanes;
        for row in (0..self.offsets.len()).step_by(ROWS) {
            for lane in (0..lanes).step_by(R::LANES) {
                let mut first = 0;
                while first < self.outputs {
                    let grad = self.grad[first * self.output..].as_ptr();
                    let to = first * panel + row * lanes + lane;
                    // SAFETY: passed on.
                    unsafe {
                        if R::COUNT >= 32 && self.outputs - first >= 2 {
                            let sums = self.pixels::<R, 2>(row, lane, grad);
                            self.add(&sums, row, to, [lanes, panel]);
                            first += 2;
                        } else {
                            let sums = self.pixels::<R, 1>(row, lane, grad);
                            self.add(&sums, row, to, [lanes, panel]);
                            first += 1;
                        }
                    }
                }
            }
        }
    }

    #[cfg_attr(optimized, inline(always))]
    unsafe fn with_outputs<R: Register<Element = T>>(&mut self) {
        let lanes = lanes::<T>();
        let most = (PIXELS / self.width.max(1)).clamp(1, self.lines.max(1));
        let mut grads = memory::take(most * self.width * lanes);
        grads.resize(most * self.width * lanes, T::zero());
        for line in (0..self.lines).step_by(most) {
            let lines = line..self.lines.min(line + most);
            for first in (0..self.outputs).step_by(lanes) {
                self.transpose(lines.clone(), first, &mut grads);
                for row in (0..self.offsets.len()).step_by(ROWS) {
                    for lane in (0..lanes).step_by(R::LANES) {
                        let to = first * self.offsets.len() + row * lanes + lane;
                        // SAFETY: passed on.
                        unsafe {
                            let sums = self.pixel::<R>(lines.clone(), row, &grads[lane..]);
                            self.add(&sums, row, to, [lanes, 0]);
                        }
                    }
                }
            }
        }
        memory::give_back(grads);
    }

    /// Writes the gradients of some outputs for the pixels of some lines to a panel.
    #[cfg_attr(optimized, inline(always))]
    fn transpose(&self, lines: Range<usize>, first: usize, to: &mut [T]) {
        let lanes = lanes::<T>();
        let pixels = lines.len() * self.width;
        let outputs = lanes.min(self.outputs - first);
        if outputs < lanes {
            to.fill(T::zero());
        }
        for output in (0..outputs).step_by(SQUARE) {
            let rows = SQUARE.min(outputs - output);
            let start = (first + output) * self.output + lines.start * self.width;
            let whole = if rows == SQUARE {
                pixels - pixels % SQUARE
            } else {
                0
            };
            let grad = &self.grad[start..][..(rows - 1) * self.output + pixels];
            let to = &mut to[output..][..(pixels - 1) * lanes + rows];
            for pixel in (0..whole).step_by(SQUARE) {
                let square: [[T; SQUARE]; SQUARE] = std::array::from_fn(|row| {
                    // INVARIANT: each row has all pixels.
                    *grad[row * self.output + pixel..]
                        .first_chunk()
                        .expect("so many")
                });
                for column in 0..SQUARE {
                    to[(pixel + column) * lanes..][..SQUARE]
                        .copy_from_slice(&square.map(|row| row[column]));
                }
            }
            for row in 0..rows {
                for pixel in whole..pixels {
                    to[pixel * lanes + row] = grad[row * self.output + pixel];
                }
            }
        }
    }

    /// Returns where a tile of weights begins in the copies. Rows beyond the last are the last.
    #[cfg_attr(optimized, inline(always))]
    fn rows(&self, row: usize) -> [*const T; ROWS] {
        std::array::from_fn(|n| {
            let offset = self.offsets[self.offsets.len().min(row + n + 1) - 1];
            self.x.as_ptr().wrapping_add(offset)
        })
    }

    /// Returns the sums of some weights, for a register of outputs.
    #[cfg_attr(optimized, inline(always))]
    unsafe fn pixel<R: Register<Element = T>>(
        &self,
        lines: Range<usize>,
        row: usize,
        grads: &[T],
    ) -> [[R; 1]; ROWS] {
        let rows = self.rows(row);
        // SAFETY: the copies have all pixels of the lines, and so has the panel.
        unsafe {
            let mut sums = [[R::zeros()]; ROWS];
            let mut grad = grads.as_ptr();
            for line in lines {
                for pixel in line * self.pitch..line * self.pitch + self.width {
                    let outputs = R::load(grad);
                    for ([sum], x) in sums.iter_mut().zip(rows) {
                        *sum = sum.plus(R::all(*x.add(pixel)), outputs);
                    }
                    grad = grad.wrapping_add(lanes::<T>());
                }
            }
            sums
        }
    }

    /// Returns the sums of some weights for lanes from `lane` on, of several outputs.
    #[cfg_attr(optimized, inline(always))]
    unsafe fn pixels<R: Register<Element = T>, const C: usize>(
        &self,
        row: usize,
        lane: usize,
        grad: *const T,
    ) -> [[R; C]; ROWS] {
        let lanes = lanes::<T>();
        let whole = self.width - self.width % lanes;
        // The lanes of the pixels after these.
        let rest = self.width - whole;
        let rest = 0..rest.saturating_sub(lane).min(R::LANES);
        let rows = self.rows(row);
        // SAFETY: the copies and the gradients have all pixels of the lines.
        unsafe {
            let mut sums = [[R::zeros(); C]; ROWS];
            for line in 0..self.lines {
                let grad = grad.add(line * self.width);
                let start = line * self.pitch;
                for pixel in (lane..whole).step_by(lanes) {
                    let grads: [R; C] =
                        std::array::from_fn(|c| R::load(grad.add(c * self.output + pixel)));
                    for (sums, x) in sums.iter_mut().zip(rows) {
                        let x = R::load(x.add(start + pixel));
                        for (sum, &grad) in sums.iter_mut().zip(&grads) {
                            *sum = sum.plus(x, grad);
                        }
                    }
                }
                if whole < self.width {
                    let pixel = whole + lane;
                    let grads: [R; C] = std::array::from_fn(|c| {
                        R::load_lanes(grad.wrapping_add(c * self.output + pixel), rest.clone())
                    });
                    for (sums, x) in sums.iter_mut().zip(rows) {
                        let x = R::load_lanes(x.wrapping_add(start + pixel), rest.clone());
                        for (sum, &grad) in sums.iter_mut().zip(&grads) {
                            *sum = sum.plus(x, grad);
                        }
                    }
                }
            }
            sums
        }
    }

    /// Adds the sums of a tile. The first is at `to`; the others have distances for rows and for registers.
    #[cfg_attr(optimized, inline(always))]
    unsafe fn add<R: Register<Element = T>, const C: usize>(
        &mut self,
        sums: &[[R; C]; ROWS],
        row: usize,
        to: usize,
        [of_row, of_register]: [usize; 2],
    ) {
        let sums = in_memory(sums);
        let count = ROWS.min(self.offsets.len() - row);
        for (n, sums) in sums[..count].iter().enumerate() {
            for (c, &sum) in sums.iter().enumerate() {
                let to = to + n * of_row + c * of_register;
                let to = self.sums[to..][..R::LANES].as_mut_ptr();
                // SAFETY: as many elements as lanes.
                unsafe { sum.add(R::load(to)).store(to) };
            }
        }
    }
}
