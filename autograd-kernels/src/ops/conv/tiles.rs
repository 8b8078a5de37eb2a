//! Tiles of sums: several outputs times some registers of neighboring pixels, which stay in registers from the first
//! summand to the last.

#![allow(
    clippy::needless_range_loop,
    reason = "a closure or an iterator is a function for each register, number of them and processor"
)]

use std::ops::Range;

use crate::registers::{Kernel, Lanes, Register, in_memory};

/// The indices of a weight of the first output, and of what it is multiplied with for the first pixel.
#[derive(Clone, Copy)]
pub(super) struct Summand {
    pub(super) x: usize,
    pub(super) weight: usize,
}

/// Sums for some lines of pixels. They are computed from what follows each other in the copies, also beyond the end
/// of a line, and written where there are pixels.
pub(super) struct Tiles<'a, T> {
    /// What the first summand of the first pixel is counted from, in the copies and in the weights.
    pub(super) x: *const T,
    pub(super) weights: *const T,
    /// The summands of a channel.
    pub(super) summands: &'a [Summand],
    pub(super) channels: usize,
    /// The distances of channels, in the copies and in the weights.
    pub(super) of_channels: [usize; 2],
    /// The distance of outputs in the weights.
    pub(super) weight: usize,
    pub(super) outputs: usize,
    pub(super) lines: usize,
    /// The number of pixels of a line, and the distance of lines in the copies.
    pub(super) width: usize,
    pub(super) pitch: usize,
    pub(super) bias: Option<&'a [T]>,
    /// Whether the sums are added to those of other channels.
    pub(super) adds: bool,
    /// The first pixel of the first output, and the distances of outputs, lines and pixels.
    pub(super) result: *mut T,
    pub(super) output: usize,
    pub(super) line: usize,
    pub(super) step: usize,
}

impl<T: Lanes> Kernel<T> for Tiles<'_, T> {
    #[cfg_attr(optimized, inline(always))]
    unsafe fn run<R: Register<Element = T>>(self) {
        let length = (self.lines - 1) * self.pitch + self.width;
        let mut first = 0;
        while first < length {
            let rest = length - first;
            // SAFETY: passed on.
            first += unsafe {
                match rest.div_ceil(R::LANES) {
                    // Sums of one output follow each other too slowly if they are few.
                    6.. if self.outputs == 1 => {
                        self.tile::<R, 1, 6>(0, first, rest);
                        6 * R::LANES
                    }
                    1 => self.columns::<R, 1>(first, rest),
                    2 => self.columns::<R, 2>(first, rest),
                    _ if const { R::COUNT < 32 } => self.columns::<R, 2>(first, rest),
                    _ => self.columns::<R, 3>(first, rest),
                }
            };
        }
    }
}

impl<T: Lanes> Tiles<'_, T> {
    /// Computes pixels of all outputs, from `first` on. Returns the number of pixels of a tile.
    #[cfg_attr(optimized, inline(always))]
    unsafe fn columns<R: Register<Element = T>, const C: usize>(
        &self,
        first: usize,
        rest: usize,
    ) -> usize {
        let mut row = 0;
        while row < self.outputs {
            // SAFETY: passed on.
            row += unsafe {
                match self.outputs - row {
                    8.. if const { R::COUNT >= 32 } => self.tile::<R, 8, C>(row, first, rest),
                    6.. if const { R::COUNT < 32 } => self.tile::<R, 6, C>(row, first, rest),
                    4.. => self.tile::<R, 4, C>(row, first, rest),
                    2.. => self.tile::<R, 2, C>(row, first, rest),
                    _ => self.tile::<R, 1, C>(row, first, rest),
                }
            };
        }
        C * R::LANES
    }

    /// Computes a tile of the pixels from `first` on, as many as there are. Returns the number of outputs.
    #[cfg_attr(optimized, inline(always))]
    unsafe fn tile<R: Register<Element = T>, const N: usize, const C: usize>(
        &self,
        row: usize,
        first: usize,
        rest: usize,
    ) -> usize {
        let count = rest.min(C * R::LANES);
        // SAFETY: the copies have a register's elements after the last; `N` outputs have weights.
        unsafe {
            let mut sums = [[R::zeros(); C]; N];
            let mut x = self.x.add(first);
            let mut weights = self.weights.add(row * self.weight);
            for _ in 0..self.channels {
                for summand in self.summands {
                    let x = x.add(summand.x);
                    let mut pixels = [R::zeros(); C];
                    for c in 0..C {
                        pixels[c] = R::load(x.add(c * R::LANES));
                    }
                    let weight = weights.add(summand.weight);
                    for n in 0..N {
                        let factor = R::all(*weight.add(n * self.weight));
                        for c in 0..C {
                            sums[n][c] = sums[n][c].plus(factor, pixels[c]);
                        }
                    }
                }
                x = x.wrapping_add(self.of_channels[0]);
                weights = weights.wrapping_add(self.of_channels[1]);
            }
            let sums = in_memory(&sums);
            // There are `N` outputs. That the compiler does not know it keeps the code of a tile small.
            let rows = N.min(self.outputs - row);
            let (mut line, mut pixel) = (first / self.pitch, first % self.pitch);
            let mut lane = 0;
            while lane < count {
                // The pixels of a tile that are on one line.
                let end = count.min(lane + self.pitch - pixel);
                let seen = end.min((lane + self.width).saturating_sub(pixel));
                // A large stride has one pixel, at the start: where nothing is seen, the product may be too large.
                let line_start = line.wrapping_mul(self.line);
                let start = line_start.wrapping_add(pixel.wrapping_mul(self.step));
                let to = start.wrapping_add(row * self.output);
                for (n, sums) in sums[..rows].iter().enumerate() {
                    let bias = self.bias.map_or(T::zero(), |bias| bias[row + n]);
                    let sums = sums.as_ptr().cast();
                    self.put::<R>(sums, lane..seen, bias, to.wrapping_add(n * self.output));
                }
                (lane, line, pixel) = (end, line + 1, 0);
            }
        }
        N
    }

    /// Writes some of the sums of an output.
    #[cfg_attr(optimized, inline(always))]
    unsafe fn put<R: Register<Element = T>>(
        &self,
        sums: *const T,
        range: Range<usize>,
        bias: T,
        to: usize,
    ) {
        // SAFETY: the pixels are in the result, and are initialized if sums are added to them.
        unsafe {
            let to = self.result.wrapping_add(to);
            if self.step > 1 {
                for (index, lane) in range.enumerate() {
                    let to = to.add(index * self.step);
                    *to = *sums.add(lane) + if self.adds { *to } else { bias };
                }
                return;
            }
            let bias = R::all(bias);
            let mut first = range.start;
            while first < range.end {
                let lanes = 0..R::LANES.min(range.end - first);
                let to = to.add(first - range.start);
                let sum = R::load_lanes(sums.add(first), lanes.clone());
                let before = if self.adds {
                    R::load_lanes(to, lanes.clone())
                } else {
                    bias
                };
                sum.add(before).store_lanes(to, lanes);
                first += R::LANES;
            }
        }
    }
}
